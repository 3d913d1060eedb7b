// SPDX-License-Identifier: MIT
import Foundation
import HWDModel
import HWDWire
import Testing

@Suite struct VarlinkTests {
    @Test func encodesCreateCallsAsTheInterfaceDefinesThem() throws {
        let parameters = CreateCompressionSession.Parameters(
            width: 1280, height: 720, pixelFormat: .nv12, timeBase: try #require(Rational(1, 12800)),
            encoderSpecification: [.requireHardware: .bool(true)], properties: [.quality: .double(0.5)])
        let text = try VarlinkCall.encode(
            method: CreateCompressionSession.method, parameters: parameters, upgrade: true)
        // An independent parser finds the names of org.hwdaemon.varlink.
        let outside = try #require(try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
        let inside = try #require(outside["parameters"] as? [String: Any])
        #expect(outside["method"] as? String == "org.hwdaemon.CreateCompressionSession")
        #expect(outside["upgrade"] as? Bool == true)
        #expect(inside["pixel_format"] as? String == "NV12")
        #expect((inside["time_base"] as? [String: Int])?["denominator"] == 12800)

        let call = try VarlinkCall(decoding: text)
        #expect(call.upgrade && !call.oneway && !call.more)
        let again = try call.checkedParameters(CreateCompressionSession.Parameters.self)
        #expect(again.width == 1280 && again.properties == ["Quality": .double(0.5)])
    }

    @Test(arguments: [
        "", "{", "[]", "\"x\"", "{\"method\": 3}", "{\"parameters\": {}}", "{\"method\": \"a\", \"more\": \"yes\"}",
        String(repeating: "[", count: 60000),
        "{\"method\":\"a\",\"parameters\":" + String(repeating: "{\"a\":", count: 9000) + "1",
    ])
    func refusesMalformedCalls(text: String) {
        #expect(throws: SessionError.self) { try VarlinkCall(decoding: Array(text.utf8)) }
    }

    @Test(arguments: [
        ("{\"method\":\"m\",\"parameters\":{\"codec\":\"hevc\"}}", "width"),
        ("{\"method\":\"m\",\"parameters\":{\"codec\":1}}", "codec"),
        ("{\"method\":\"m\"}", "codec"),
        (
            "{\"method\":\"m\",\"parameters\":{\"codec\":\"hevc\",\"width\":1,\"height\":1,\"pixel_format\":\"NV12\",\"time_base\":{\"numerator\":1,\"denominator\":0}}}",
            "denominator"
        ),
    ])
    func namesTheFaultyParameter(text: String, field: String) throws {
        let call = try VarlinkCall(decoding: Array(text.utf8))
        let error = #expect(throws: VarlinkError.self) {
            try call.checkedParameters(CreateCompressionSession.Parameters.self)
        }
        let named = error?.parameters["parameter"]?.description ?? ""
        #expect(named.contains(field), "\(named)")
    }

    @Test("A source of frames has its own members, and no others")
    func sources() throws {
        var parameters = CreateCompressionSession.Parameters(
            width: 64, height: 48, pixelFormat: .nv12, timeBase: try #require(Rational(1, 30)))
        #expect(parameters.frameSize == (64, 48))
        parameters.source = CreateCompressionSession.Source(
            width: 128, height: 96, cleanAperture: "128x72+0+12", scalingMode: "Letterbox")
        #expect(parameters.frameSize == (128, 96))
        let text = try VarlinkCall.encode(
            method: CreateCompressionSession.method, parameters: parameters, upgrade: true)
        let again = try VarlinkCall(decoding: text).checkedParameters(CreateCompressionSession.Parameters.self)
        #expect(again.source == parameters.source)
        let other = String(decoding: text, as: UTF8.self).replacingOccurrences(of: "scaling_mode", with: "mode")
        let error = #expect(throws: VarlinkError.self) {
            try VarlinkCall(decoding: Array(other.utf8)).checkedParameters(CreateCompressionSession.Parameters.self)
        }
        #expect("\(String(describing: error))".contains("source.mode"))
    }

    @Test func errorsCarryNumberAndReason() throws {
        let sent = SessionError(.videoEncoderNotAvailableNow, "64 sessions run; try later")
        let text = VarlinkReply.encode(VarlinkError(sent))
        let outside = try #require(try JSONSerialization.jsonObject(with: Data(text)) as? [String: Any])
        #expect(outside["error"] as? String == "org.hwdaemon.VideoEncoderNotAvailableNow")
        #expect((outside["parameters"] as? [String: Any])?["code"] as? Int == -12915)
        let got = #expect(throws: SessionError.self) {
            try VarlinkReply.decode(ListEncoders.Reply.self, from: text)
        }
        #expect(got == sent)
        #expect(VarlinkReply.isError(text))
    }

    @Test(
        "An invalid reply is not an error reply",
        arguments: [
            "", "garbage", "{", "[]", "{}", "null", #"{"parameters":5}"#, #"{"parameters":{"encoders":7}}"#,
            #"{"error":7}"#, #"{"error":null,"parameters":{}}"#, "{\"parameters\":\u{0}",
        ])
    func invalidReplies(_ text: String) {
        #expect(throws: SessionError.self, "\(text)") {
            try VarlinkReply.decode(ListEncoders.Reply.self, from: Array(text.utf8))
        }
        #expect(!VarlinkReply.isError(Array(text.utf8)), "\(text)")
    }

    /// The definition lists every method, every error of a session and every field of its types.
    @Test func definitionMatchesTheCode() throws {
        let text = Interface.definition
        for method in [
            Probe.method, ListEncoders.method, CreateCompressionSession.method, GetSessionResult.method,
            ListSessions.method, GetSupportedProperties.method, GetFeatures.method, ListEffects.method,
        ] {
            let name = try #require(method.split(separator: ".").last)
            #expect(text.contains("method \(name)("), "\(name)")
        }
        for status in [
            Status.propertyNotSupported, .propertyReadOnly, .parameter, .invalidSession, .allocationFailed,
            .couldNotCreateInstance, .couldNotFindVideoEncoder, .videoEncoderMalfunction,
            .videoEncoderNotAvailableNow,
        ] {
            #expect(
                text.contains("error \(status.name) (") || text.contains("error \(status.name)("), "\(status.name)")
        }
        var info = SessionInfo(session: "s", kind: .compression, pid: 1, uid: 1, codec: "hevc")
        (info.codecID, info.usingHardware, info.fallbackReason) = ("e", false, "r")
        (info.memoryBytes, info.grantedBytes) = (1, 1)
        let fields = try #require(
            try JSONSerialization.jsonObject(with: Data(try JSON.encode(info))) as? [String: Any])
        for field in fields.keys { #expect(text.contains("  \(field): "), "\(field)") }
    }

    @Test("Deeply nested documents are refused quickly; brackets in strings do not count")
    func nesting() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        #expect(throws: Never.self) { try JSON.decode(PropertyValue.self, from: nested(16)) }
        let error = #expect(throws: SessionError.self) { try JSON.decode(PropertyValue.self, from: nested(17)) }
        #expect(error?.status == .parameter && error?.reason.contains("levels") == true)

        // Without the check of the levels the decoder needs minutes for 60 arrays of 490 levels.
        let many = nested(490).map { String(UnicodeScalar($0)) }.joined()
        let document = "[" + Array(repeating: many, count: 60).joined(separator: ",") + "]"
        let refused = #expect(throws: SessionError.self) {
            try JSON.decode(PropertyValue.self, from: Array(document.utf8))
        }
        #expect(refused?.reason == error?.reason)

        let text = "\"" + String(repeating: "[{\\\"", count: 100) + "\""
        #expect(throws: Never.self) { try JSON.decode(PropertyValue.self, from: Array(text.utf8)) }
    }
}
