// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import HWDWire
import Testing

extension EndToEndFaults.Failover {
    /// Hardware that codes another picture than it was given: it is found before the app has the packet.
    @Suite struct VerifyOutput {
        private static func wrongOutputs(_ server: TestDaemon) throws -> Int {
            let metrics = try server.daemon.call(GetMetrics.self, Empty()).metrics
            let lines = metrics.split(separator: "\n").filter { $0.hasPrefix("hwdaemon_wrong_outputs_total") }
            return lines.compactMap { $0.split(separator: " ").last.flatMap { Int($0) } }.reduce(0, +)
        }

        @Test(
            "A wrong picture of a sample ends the process, and another one codes it", arguments: Structure.allCases)
        func sampled(_ structure: Structure) throws {
            let faulty = try Faulty()
            for position in [2, 4, 7] {
                let run = try faulty.encode(["corrupt \(position)"], structure)
                #expect(run.encoder.session.created.usingHardware && run.encoder.session.restartCount == 1)
                let notices = try run.encoder.session.copyProperties([.notices])[.notices]?.description ?? ""
                #expect(notices.contains("wrong pictures: a picture differs from its frame"), "\(notices)")
                try run.check("corrupt \(position), \(structure)")
            }
            let metrics = try faulty.server.daemon.call(GetMetrics.self, Empty()).metrics
            #expect(
                metrics.contains(#"hwdaemon_session_restarts_total{cause="wrong_pictures",to="same"} 3"#),
                "\(metrics)")
            #expect(try Self.wrongOutputs(faulty.server) == 3)
        }

        @Test("With VerifyOutput=all every picture is compared", arguments: Structure.allCases)
        func all(_ structure: Structure) throws {
            let faulty = try Faulty()
            for position in [2, 21, 40, 60] {
                let run = try faulty.encode(
                    ["corrupt \(position)"], structure, more: [.verifyOutput: .string("all")])
                #expect(run.encoder.session.restartCount == 1)
                try run.check("corrupt \(position), \(structure), all")
            }
            let twice = try faulty.encode(
                ["corrupt 5", "corrupt 3"], structure, more: [.verifyOutput: .string("all")])
            #expect(!twice.encoder.session.created.usingHardware && twice.encoder.session.restartCount == 2)
            #expect(twice.encoder.session.created.fallbackReason?.contains("wrong pictures") == true)
            try twice.check("corrupt 5, corrupt 3, \(structure)")
        }

        @Test("A wrong picture after the client waited for packets is found", arguments: Structure.allCases)
        func afterWaiting(_ structure: Structure) throws {
            let faulty = try Faulty()
            for (position, completed) in [(24, 20), (40, 20), (60, 41)] {
                let run = try faulty.encode(
                    ["corrupt \(position)"], structure, more: [.verifyOutput: .string("all")],
                    completingAfter: completed)
                #expect(run.encoder.session.restartCount == 1)
                try run.check("corrupt \(position) after \(completed), \(structure)")
            }
        }

        @Test("Healthy hardware gets no verdict, whatever it is asked for")
        func healthy() throws {
            let faulty = try Faulty()
            let settings: [[PropertyKey: PropertyValue]] = [
                [:], [.verifyOutput: .string("all")], [.verifyOutput: .string("off")], [.realTime: .bool(true)],
                [.quality: .double(0.1), .verifyOutput: .string("all")],
                [.maxKeyFrameInterval: .int(7), .verifyOutput: .string("all")],
                [.allowOpenGOP: .bool(true), .maxKeyFrameInterval: .int(16), .verifyOutput: .string("all")],
                [.profileLevel: .string("HEVC_Main10_AutoLevel"), .verifyOutput: .string("all")],
            ]
            for structure in Structure.allCases {
                // RealTime excludes reordering.
                for more in settings where structure == .chain || more[.realTime] == nil {
                    let run = try faulty.encode([], structure, more: more)
                    #expect(
                        run.encoder.session.created.usingHardware && run.encoder.session.restartCount == 0,
                        "\(more)")
                    #expect(run.encoder.coded.count == 60, "\(more)")
                    let waiting = try faulty.encode([], structure, more: more, completingAfter: 20)
                    #expect(waiting.encoder.session.restartCount == 0, "\(more), waiting")
                    #expect(waiting.encoder.coded.count == 60, "\(more), waiting")
                }
            }
            #expect(try Self.wrongOutputs(faulty.server) == 0)
        }

        @Test("With RealTime a wrong picture is only reported")
        func realTime() throws {
            let faulty = try Faulty()
            let run = try faulty.encode(["corrupt 3"], .chain, more: [.realTime: .bool(true)])
            #expect(run.encoder.session.restartCount == 0 && run.encoder.coded.count == 60)
            #expect(try eventually(within: 10) { try Self.wrongOutputs(faulty.server) == 1 })
            #expect(faulty.server.log.contains("the encoder's pictures are wrong"))
        }

        @Test("With VerifyOutput=off nothing is compared")
        func off() throws {
            let faulty = try Faulty()
            let run = try faulty.encode(["corrupt 3"], .chain, more: [.verifyOutput: .string("off")])
            #expect(run.encoder.session.restartCount == 0 && run.encoder.coded.count == 60)
            #expect(try Self.wrongOutputs(faulty.server) == 0)
        }
    }
}
