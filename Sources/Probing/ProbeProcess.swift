// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The one thing that a probe's process does: it answers one question of the broker's about this machine and ends.
public enum ProbeProcess {
    /// Answers and ends the process.
    ///
    /// - Parameter judge: who decodes what an encoder wrote; nil verifies nothing.
    public static func run(judge: (any StreamJudge)?) -> Never {
        guard fcntl(WorkerDescriptor.broker, F_GETFD) >= 0 else {
            fail(.usage, "is started by hwdaemon, one for each device it looks at; see hwdaemon(8)")
        }
        do {
            try ProcessControl.confine()
            let deadline = MonotonicTime.now + .seconds(5)
            guard
                case .bytes(let bytes) = try PacketSocket.receive(from: WorkerDescriptor.broker, deadline: deadline)
            else { fail(.software, "the broker asked nothing") }
            let request = try JSON.decode(ProbeRequest.self, from: bytes)
            let catalogue = try Catalogue()
            let answer =
                switch request.subject {
                case .software: SoftwareProbe.answer(request, catalogue, judge)
                case .node(let path): HardwareProbe.answer(request, path, catalogue, judge, report: report)
                case .vulkan: VulkanProbe.answer(request, report: report)
                }
            try PacketSocket.send(try JSON.encode(ProbeReport.answer(answer)), to: WorkerDescriptor.broker)
            // Without the libraries' own ends, which nothing needs any more.
            _exit(0)
        } catch {
            fail(.software, "\(error)")
        }
    }

    /// Tells the broker what is about to be tried, which a driver may not survive.
    private static func report(_ report: ProbeReport) {
        // Without it a crash would only count against more than what is tried.
        guard let bytes = try? JSON.encode(report) else { return }
        try? PacketSocket.send(bytes, to: WorkerDescriptor.broker)
    }

    private static func fail(_ status: ExitStatus, _ reason: String) -> Never {
        let text = "a probe of hwdaemon: \(reason)\n"
        _ = text.withCString { write(2, $0, strlen($0)) }
        _exit(status.rawValue)
    }
}
