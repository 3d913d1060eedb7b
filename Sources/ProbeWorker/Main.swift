// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Model
internal import Transport
internal import Wire

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
            let request = try JSON.decode(ProbeRequest.self, from: bytes)
            let catalogue = try Catalogue()
            let answer =
                switch request.subject {
                case .software: SoftwareProbe.answer(request, catalogue)
                case .node(let path): HardwareProbe.answer(request, path, catalogue)
                }
            try PacketSocket.send(try JSON.encode(answer), to: WorkerDescriptor.broker)
            // Libraries' own ends have been known to hang: the answer is given, and nothing is left to save.
            _exit(0)
        } catch {
            let text = "hwdaemon-probe: \(error)\n"
            _ = text.withCString { write(2, $0, strlen($0)) }
            exit(ExitStatus.software.rawValue)
        }
    }
}
