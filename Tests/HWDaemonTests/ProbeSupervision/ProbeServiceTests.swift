// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Probe calls and questions about hardware")
struct ProbeServiceTests {
    private static func call(_ method: String, _ parameters: String = "{}") throws -> VarlinkCall {
        try VarlinkCall(decoding: Array("{\"method\":\"\(method)\",\"parameters\":\(parameters)}".utf8))
    }

    @Test("A round starts at once; calls that come soon after it wait, and are refused when the daemon stops")
    func rounds() throws {
        let parts = try BrokerParts { $0.devices = "" }
        let service = ProbeService(parts.context)
        let call = try Self.call(Probe.method, "{\"verify\":false}")
        try service.probe(call, try parts.connect())
        // No probe can be started, so that a round answers at once: also a call that comes later than planned.
        repeat { try service.probe(call, try parts.connect()) } while parts.clients.last?.isOpen == false
        service.stop()
        #expect(try parts.clients.last?.reply().error == "org.hwdaemon.VideoEncoderNotAvailableNow")
        parts.context.phase = .draining
        let connection = try parts.connect()
        #expect(throws: VarlinkError.self) { try service.probe(call, connection) }
    }

    @Test(
        "Faulty questions name their member",
        arguments: [
            ("{\"width\":0,\"height\":2}", "width"), ("{\"width\":2}", "height"), ("{\"tile\":3}", "tile"),
            ("{\"bit_depth\":40}", "bit_depth"),
        ])
    func faults(_ parameters: String, _ member: String) throws {
        let parts = try BrokerParts()
        let service = ProbeService(parts.context)
        let connection = try parts.connect()
        let error = #expect(throws: VarlinkError.self) {
            try service.isStillEncodeSupported(try Self.call(IsStillEncodeSupported.method, parameters), connection)
        }
        #expect(error?.parameters["parameter"] == .string(member))
        let device = try Self.call(Probe.method, "{\"device\":\"/etc/passwd\"}")
        #expect(throws: VarlinkError.self) { try service.probe(device, connection) }
    }
}
