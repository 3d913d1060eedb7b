// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import HWDWire

/// A probe's process: answers one request of the broker and exits.
public enum ProbeProcess {
    /// Answers the request and exits.
    ///
    /// - Parameter reference: decodes the output of encoders; without one, no codec is verified.
    public static func run(reference: (any ReferenceCodec)?) -> Never {
        guard fcntl(WorkerDescriptor.broker, F_GETFD) >= 0, fcntl(WorkerDescriptor.stats, F_GETFD) >= 0 else {
            fail(.usage, "is started by hwdaemon for each device that it probes; see hwdaemon(8)")
        }
        do {
            try ProcessControl.confine()
            try Sandbox.start(recordingIn: StatsPage(receiving: OwnedFD(WorkerDescriptor.stats)))
            let deadline = MonotonicTime.now + .seconds(5)
            let sandbox = try receive(SandboxRequest.self, deadline)
            let request = try receive(ProbeRequest.self, deadline)
            // Reads the administrator's files before the sandbox forbids it.
            let catalogue = try Catalogue()
            let answer: ProbeAnswer
            switch request.subject {
            case .software:
                try Sandbox.apply(sandbox)
                answer = SoftwareProbe.answer(request, catalogue, reference)
            case .node(let path):
                let node = DeviceNode(path)
                let drivers = try Sandbox.apply(sandbox)
                let probe = HardwareProbe(
                    request: request, catalogue: catalogue, drivers: drivers, reference: reference, report: report)
                answer = probe.answer(node)
            case .vulkan:
                answer = VulkanProbe.answer(request, try Sandbox.apply(sandbox), report: report)
            }
            try PacketSocket.send(try JSON.encode(ProbeReport.answer(answer)), to: WorkerDescriptor.broker)
            // Skips the libraries' exit handlers, which nothing needs.
            _exit(0)
        } catch {
            fail(.software, "\(error)")
        }
    }

    private static func receive<Packet: Decodable>(
        _ type: Packet.Type, _ deadline: MonotonicTime
    ) throws -> Packet {
        guard case .bytes(let bytes) = try PacketSocket.receive(from: WorkerDescriptor.broker, deadline: deadline)
        else { fail(.software, "the broker sent no request") }
        return try JSON.decode(type, from: bytes)
    }

    /// Reports what is about to be tried, which a driver may not survive.
    private static func report(_ report: ProbeReport) {
        // If it is lost, a crash counts against the whole subject instead of one path.
        guard let bytes = try? JSON.encode(report) else { return }
        try? PacketSocket.send(bytes, to: WorkerDescriptor.broker)
    }

    private static func fail(_ status: ExitStatus, _ reason: String) -> Never {
        let text = "\(Program.name): \(reason)\n"
        _ = text.withCString { write(2, $0, strlen($0)) }
        _exit(status.rawValue)
    }
}
