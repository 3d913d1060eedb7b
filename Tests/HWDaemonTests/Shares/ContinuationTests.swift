// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDWire
import Testing

@Suite("The right to continue a session", .serialized)
struct ContinuationTests {
    @Test func aCallThatTheNewProcessRefusesTakesNothingAway() throws {
        let broker = try BrokerProcess()
        let session = try broker.connect()
        let id = try session.create()
        kill(try broker.encoderProcess(), SIGKILL)
        #expect(try broker.result(id).code == -12912)
        func resume(_ changes: String = "") throws -> TestClient.Reply {
            try broker.connect().ask(
                CreateCompressionSession.method, TestClient.parameters(",\"resumes\":\"\(id)\"\(changes)"),
                extra: ",\"upgrade\":true")
        }
        for changes in [
            ",\"properties\":{\"NoSuchProperty\":1}", ",\"properties\":{\"Quality\":7}",
            ",\"encoder_specification\":{\"EncoderID\":\"none\"}",
        ] {
            let reply = try resume(changes)
            #expect(reply.error != nil && reply["code"] != .int(-12903), "\(reply)")
        }
        let next = try broker.connect()
        _ = try next.create(",\"resumes\":\"\(id)\"")
        #expect(try resume()["code"] == .int(-12903))
    }
}
