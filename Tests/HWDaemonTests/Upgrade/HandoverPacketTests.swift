// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDModel
import HWDPolicy
import Testing

@testable import HWDaemon

@Suite("Packets between a daemon and the one that replaces it")
struct HandoverPacketTests {
    /// A session as every version of the packet has it, with all members.
    private static let whole = """
        {"id":"b","uid":1000,"kind":"compression","pid":7,"codec":"hevc","width":64,"height":48,"pixelFormat":"NV12",
        "created":5000000000,"codecID":"gpu","usingHardware":true,"fallbackReason":"none","pictureBytes":4608,
        "memory":1048576,"memoryUsed":4096,"past":[{"codecID":"gpu","isHardware":true,"reason":"killed","cause":"killed"}],
        "framesIn":9,"framesOut":8,"bytesOut":77,"frameRate":25.5,"expectedCodecID":"gpu","converts":true,
        "continues":"a","isRealTime":true,
        "end":{"status":-12913,"reason":"killed","cause":"killed","signal":9,"isAbandoned":false,"isContinued":true,
        "at":6000000000}}
        """

    @Test("A session has the members of the releases before, one by one")
    func members() throws {
        let session = try JSON.decode(HandedSession.self, from: Array(Self.whole.utf8))
        let again = try JSONSerialization.jsonObject(with: Data(try JSON.encode(session)))
        let before = try JSONSerialization.jsonObject(with: Data(Self.whole.utf8))
        #expect(again as? NSDictionary == before as? NSDictionary)
        #expect(session.running.facts.width == 64 && session.running.facts.converts)
        #expect(session.running.past.first?.failure.codecID == "gpu")
        #expect(session.result?.end.signal == 9 && session.result?.isContinued == true)
    }

    @Test("What earlier versions did not send has a default")
    func earlierVersions() throws {
        let text = """
            {"id":"b","uid":1000,"kind":"transfer","pid":7,"codec":"none","width":64,"height":48,"pixelFormat":"",
            "created":5,"pictureBytes":0,"memory":0,"memoryUsed":0,"past":[],"framesIn":0,"framesOut":0,"bytesOut":0}
            """
        let session = try JSON.decode(HandedSession.self, from: Array(text.utf8))
        #expect(!session.running.facts.converts && !session.running.isRealTime)
        #expect(session.running.facts.frameRate == SessionFacts(.transfer).frameRate)
        #expect(session.result == nil && session.running.codecID == nil)
    }
}
