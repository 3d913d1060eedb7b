// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Create calls as the broker reads them")
struct CreateCallTests {
    private static func call(_ changes: String = "", upgrade: Bool = true) throws -> VarlinkCall {
        try VarlinkCall(
            decoding: Array(
                "{\"method\":\"\(CreateCompressionSession.method)\",\"parameters\":\(TestClient.parameters(changes)),\"upgrade\":\(upgrade)}"
                    .utf8))
    }

    @Test func readsTheFactsAndCleansTexts() throws {
        let call = try CreateCall(
            try Self.call(",\"properties\":{\"ExpectedFrameRate\":50},\"max_wait_ms\":1500"), creating: .compression
        )
        #expect(call.facts.kind == .compression && call.facts.codec == "hevc")
        #expect((call.facts.width, call.facts.height, call.facts.pixelFormat) == (64, 64, "NV12"))
        #expect(call.facts.frameRate == 50 && call.maxWait == .milliseconds(1500))
        #expect(call.facts.pictureBytes > 64 * 64)
    }

    @Test func namesTheFaultyMember() throws {
        for (call, member) in [
            (try Self.call(upgrade: false), "upgrade"), (try Self.call(",\"max_wait_ms\":-1"), "max_wait_ms"),
            (try Self.call(",\"propertys\":{}"), "propertys"), (try Self.call(",\"properties\":3"), "properties"),
        ] {
            let error = #expect(throws: VarlinkError.self) { try CreateCall(call, creating: .compression) }
            #expect(error?.parameters["parameter"] == .string(member))
        }
    }

    @Test("A worker gets the parameters as the client sent them")
    func parametersReachTheWorker() throws {
        let properties =
            #"{"A":null,"B":true,"C":1.0,"D":1e300,"E":9007199254740993,"F":"é\u0007","G":[1,{"H":-0.25}],"Quality":0.1}"#
        let call = try CreateCall(try Self.call(",\"properties\":\(properties)"), creating: .compression)
        let start = WorkerStart(
            session: "s", snapshot: ProbeSnapshot(encoders: [], nodes: []), limits: WorkerLimits())
        let assignment = try JSON.decode(
            SessionAssignment<CreateCompressionSession.Parameters>.self,
            from: try start.packet(with: call.parameters))
        #expect(assignment.start.session == "s")
        let sent = try JSON.decode([String: PropertyValue].self, from: Array(properties.utf8))
        #expect(assignment.parameters.properties == sent)
        #expect(assignment.parameters.width == 64 && assignment.parameters.pixelFormat == "NV12")
    }
}
