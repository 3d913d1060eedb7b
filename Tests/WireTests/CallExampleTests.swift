// SPDX-License-Identifier: MIT
import Foundation
import HWDModel
import HWDWire
import Testing

/// The examples of calls, replies and errors in docs/protocol.md against the types of Wire.
@Suite struct CallExampleTests {
    /// A JSON document as an independent parser reads it.
    private func object(_ bytes: some Sequence<UInt8>) throws -> NSDictionary {
        try #require(try JSONSerialization.jsonObject(with: Data(Array(bytes))) as? NSDictionary)
    }

    private func blocks(_ kind: String) throws -> [(words: [String], bytes: [UInt8])] {
        try ProtocolDocument().blocks.filter { $0.words.first == kind }.map {
            ($0.words, Array($0.lines.joined(separator: "\n").utf8))
        }
    }

    /// Checks that a method's types read and write its examples without loss.
    private func check<Method: ControlMethod>(_ method: Method.Type) throws {
        let calls = try blocks("call").filter { try VarlinkCall(decoding: $0.bytes).method == Method.method }
        #expect(!calls.isEmpty, "\(Method.method) has no example of a call")
        for call in calls {
            let decoded = try VarlinkCall(decoding: call.bytes)
            let parameters = try decoded.checkedParameters(Method.Parameters.self)
            let again = try VarlinkCall.encode(
                method: Method.method, parameters: parameters, upgrade: decoded.upgrade)
            #expect(try object(again) == object(call.bytes), "\(Method.method)")
            #expect(decoded.upgrade == Method.method.contains(".Create"), "\(Method.method)")
        }
        let replies = try blocks("answer").filter { $0.words == ["answer", Method.method] }
        #expect(!replies.isEmpty, "\(Method.method) has no example of a reply")
        for reply in replies {
            let again = try VarlinkReply.encode(try VarlinkReply.decode(Method.Reply.self, from: reply.bytes))
            #expect(try object(again) == object(reply.bytes), "\(Method.method)")
        }
    }

    @Test func examplesOfCallsAndRepliesHaveTheMembersOfTheTypes() throws {
        try check(Probe.self)
        try check(ListEncoders.self)
        try check(ListDecoders.self)
        try check(IsHardwareEncodeSupported.self)
        try check(IsHardwareDecodeSupported.self)
        try check(IsStillEncodeSupported.self)
        try check(GetSupportedProperties.self)
        try check(CreateCompressionSession.self)
        try check(CreateDecompressionSession.self)
        try check(CreateTransferSession.self)
        try check(GetSessionResult.self)
        try check(ListSessions.self)
        try check(GetFeatures.self)
        try check(ListEffects.self)
        try check(GetMetrics.self)
    }

    /// `org.hwdaemon.varlink` is the list of methods; varlink.org defines two more.
    @Test func everyMethodHasAnExample() throws {
        let defined = Interface.definition.matches(of: #/(?m)^method (\w+)\(/#).map { "org.hwdaemon.\($0.1)" }
        let service = ["GetInfo", "GetInterfaceDescription"].map { "org.varlink.service.\($0)" }
        let calls = try blocks("call").map { try VarlinkCall(decoding: $0.bytes).method }
        #expect(calls.sorted() == (defined + service).sorted())
        #expect(try blocks("answer").map { $0.words.last ?? "" }.sorted() == calls.sorted())
    }

    @Test func examplesOfErrorsAreThoseOfTheCode() throws {
        let errors = try blocks("error")
        #expect(errors.count == 2)
        for error in errors {
            let text = try object(error.bytes)
            let caught = #expect(throws: SessionError.self) {
                try VarlinkReply.decode(Empty.self, from: error.bytes)
            }
            let isOfSession = (text["error"] as? String)?.hasPrefix("org.hwdaemon.") == true
            let again =
                isOfSession
                ? VarlinkError(try #require(caught)) : VarlinkError.invalidParameter("time_base.denominator")
            #expect(try object(VarlinkReply.encode(again)) == text)
        }
    }
}
