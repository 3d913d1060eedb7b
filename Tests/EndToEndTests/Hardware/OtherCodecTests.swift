// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// Decoders of H.264, VP9 and AV1, which sessions do not use.
    @Suite("Other codecs") struct OtherCodecs {
        private static let ids = [
            "h264-high-decode", "vp9-profile0-decode", "vp9-profile2-decode", "av1-main-decode",
            "av1-main-10-bit-decode",
        ]

        private static func others(_ server: TestDaemon) throws -> [CodecPath] {
            try Hardware.probe(server).paths.filter { $0.device != nil && $0.codec != "hevc" }
        }

        @Test("Each decoder that a driver claims is verified by a picture, reported and listed")
        func verified() throws {
            let state = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon("full,other-codecs", state: state)
            let paths = try Self.others(server)
            #expect(paths.map(\.id) == Self.ids)
            #expect(paths.allSatisfy { $0.claimed && $0.verified && $0.reason == nil }, "\(paths)")
            let listed = try server.daemon.decoders().filter { $0.codec != "hevc" }
            #expect(listed.map(\.codec) == ["h264", "vp9", "vp9", "av1", "av1"])
            #expect(listed.map(\.bitDepths) == [[8], [8], [10], [8], [10]])
            #expect(listed.allSatisfy { $0.hardware && $0.verified && $0.device == "/dev/null" })
            let answer = try server.daemon.isHardwareDecodeSupported(
                HardwareQuestion(codec: "av1", bitDepth: 10, width: 1920, height: 1080))
            #expect(answer.supported && answer.decoderID == listed.first?.id)
            #expect(answer.reason?.contains("sessions decode hevc") == true)
            let deep = try server.daemon.isHardwareDecodeSupported(HardwareQuestion(codec: "h264", bitDepth: 10))
            #expect(!deep.supported && deep.reason?.contains("10-bit H.264") == true)
        }

        @Test("A driver that claims none has no line for them")
        func unclaimed() throws {
            #expect(try Self.others(try Hardware.daemon("8-bit-only")).isEmpty)
            let icl = try Self.others(try Hardware.daemon("ihd-icl"))
            #expect(icl.map(\.id) == Array(Self.ids.prefix(3)))
        }

        @Test(
            "A decoder that decodes wrongly or refuses what it claims is found out",
            arguments: [("wrong-samples", "differs from what software decodes"), ("refuses-codecs", "libavcodec")])
        func faulty(fault: String, words: String) throws {
            let state = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon("full,other-codecs,\(fault)", state: state)
            let paths = try Self.others(server)
            #expect(paths.map(\.id) == Self.ids && paths.allSatisfy { $0.claimed && !$0.verified })
            #expect(paths.allSatisfy { $0.reason?.contains(words) == true }, "\(paths.map(\.reason))")
            let listed = try server.daemon.decoders().filter { $0.codec != "hevc" }
            #expect(listed.count == 5 && listed.allSatisfy { !$0.verified && $0.reason?.contains(words) == true })
            let answer = try server.daemon.isHardwareDecodeSupported(HardwareQuestion(codec: "vp9"))
            #expect(!answer.supported && answer.reason?.contains(words) == true)
        }

        @Test(
            "A driver that crashes in every decoder keeps its encoders, and each path names the crash as its cause")
        func crashing() throws {
            let state = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon("full,other-codecs,decode-crash-at-1", state: state)
            let snapshot = try Hardware.probe(server)
            let paths = snapshot.paths.filter { $0.device != nil }
            #expect(paths.filter(\.verified).map(\.operation) == [.encode, .encode])
            let crashed = paths.filter { $0.operation == .decode }
            #expect(crashed.count == 7 && snapshot.nodes.map(\.state) == [.ready])
            #expect(crashed.allSatisfy { $0.cause == .driverCrashed && $0.reason?.contains("SIGSEGV") == true })
        }
    }
}
