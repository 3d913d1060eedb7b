// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Model
internal import Transport
internal import Wire
internal import X265

/// `hwdaemon-probe`: answers one question of the broker's about this machine and ends.
@main
struct ProbeWorkerMain {
    static func main() {
        guard fcntl(WorkerDescriptor.broker, F_GETFD) >= 0 else {
            let text = "hwdaemon-probe is started by hwdaemon, one for each device it looks at; see hwdaemon(8).\n"
            _ = text.withCString { write(2, $0, strlen($0)) }
            exit(ExitStatus.usage.rawValue)
        }
        do {
            ProcessControl.ignoreBrokenPipes()
            try ProcessControl.setNoNewPrivileges()
            try ProcessControl.setDumpable(false)
            try ProcessControl.limit(.coreSize, to: 0)
            let deadline = MonotonicTime.now + .seconds(5)
            guard
                case .bytes(let bytes) = try PacketSocket.receive(from: WorkerDescriptor.broker, deadline: deadline)
            else { exit(ExitStatus.software.rawValue) }
            let answer = answer(try JSON.decode(ProbeRequest.self, from: bytes))
            try PacketSocket.send(try JSON.encode(answer), to: WorkerDescriptor.broker)
        } catch {
            let text = "hwdaemon-probe: \(error)\n"
            _ = text.withCString { write(2, $0, strlen($0)) }
            exit(ExitStatus.software.rawValue)
        }
    }

    private static func answer(_ request: ProbeRequest) -> ProbeAnswer {
        switch request {
        case .software: .software(X265Library.description.map { [$0] } ?? [])
        case .node(let path): .node(DeviceNode.look(at: path), [])
        }
    }
}
