// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDWire
import Testing

extension EndToEndFaults.Failover {
    /// Hardware that codes a wrong picture: the daemon notices it before the app has the packet.
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
            for position in [2, 7] {
                let run = try faulty.encode(["corrupt \(position)"], structure)
                #expect(run.encoder.session.created.usingHardware && run.encoder.session.restartCount == 1)
                let notices = try run.encoder.session.copyProperties([.notices])[.notices]?.description ?? ""
                #expect(notices.contains("wrong pictures: a picture differs from its frame"), "\(notices)")
                try run.check("corrupt \(position), \(structure)")
            }
            let metrics = try faulty.server.daemon.call(GetMetrics.self, Empty()).metrics
            #expect(
                metrics.contains(#"hwdaemon_session_restarts_total{cause="wrong_pictures",to="same"} 2"#),
                "\(metrics)")
            #expect(try Self.wrongOutputs(faulty.server) == 2)
        }

        @Test("Output that cannot be decoded ends the process", arguments: Structure.allCases)
        func garbage(_ structure: Structure) throws {
            let faulty = try Faulty()
            // libavcodec decodes something from earlier ones, and there is no median error yet to compare them with.
            for position in [5, 8] {
                let run = try faulty.encode(["garbage \(position)"], structure)
                #expect(run.encoder.session.created.usingHardware && run.encoder.session.restartCount == 1)
                let notices = try run.encoder.session.copyProperties([.notices])[.notices]?.description ?? ""
                #expect(notices.contains("wrong pictures: its output cannot be decoded"), "\(notices)")
                try run.check("garbage \(position), \(structure)")
            }
            #expect(try Self.wrongOutputs(faulty.server) == 2)
        }

        @Test("Hardware that takes a second for a picture, less than the stall timeout, continues")
        func slow() throws {
            let faulty = try Faulty()
            let run = try faulty.encode(["slow 5", "slow 40"], .pyramid)
            #expect(run.encoder.session.created.usingHardware && run.encoder.session.restartCount == 0)
            try run.check("slow")
            #expect(try Self.wrongOutputs(faulty.server) == 0)
        }

        @Test("With VerifyOutput=all every picture is compared", arguments: Structure.allCases)
        func all(_ structure: Structure) throws {
            let faulty = try Faulty()
            for position in [2, 40] {
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
            try Self.checkAfterWaiting(structure, [(24, 20), (60, 41)])
        }

        /// Encodes with a wrong picture after a request for the packets of the first frames.
        static func checkAfterWaiting(_ structure: Structure, _ faults: [(Int, Int)]) throws {
            let faulty = try Faulty()
            for (position, completed) in faults {
                let run = try faulty.encode(
                    ["corrupt \(position)"], structure, more: [.verifyOutput: .string("all")],
                    completingAfter: completed)
                #expect(run.encoder.session.restartCount == 1)
                try run.check("corrupt \(position) after \(completed), \(structure)")
            }
        }

        @Test("Healthy hardware gets no verdict, whatever it is asked for")
        func healthy() throws { try Self.checkHealthy([Self.settings[0], Self.settings[1]]) }

        static let settings: [[PropertyKey: PropertyValue]] = [
            [:], [.allowOpenGOP: .bool(true), .maxKeyFrameInterval: .int(16), .verifyOutput: .string("all")],
            [.verifyOutput: .string("all")], [.verifyOutput: .string("off")], [.realTime: .bool(true)],
            [.quality: .double(0.1), .verifyOutput: .string("all")],
            [.maxKeyFrameInterval: .int(7), .verifyOutput: .string("all")],
            [.profileLevel: .string("HEVC_Main10_AutoLevel"), .verifyOutput: .string("all")],
        ]

        /// Encodes without a fault, whether the client waits for packets or not.
        static func checkHealthy(_ settings: [[PropertyKey: PropertyValue]]) throws {
            let faulty = try Faulty()
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
                    let notices = try waiting.encoder.session.copyProperties([.notices])[.notices]?.description
                    // On a slow machine some pictures may be left unverified.
                    print("healthy hardware, \(structure) \(more): \(notices ?? "no notices")")
                }
            }
            #expect(try Self.wrongOutputs(faulty.server) == 0)
        }

        @Test("Notices say that all were not verified where the client waits for each packet")
        func waitingAlways() throws {
            let all: [PropertyKey: PropertyValue] = [.verifyOutput: .string("all")]
            let faulty = try Faulty()
            let run = try faulty.encode([], .chain, more: all) { encoder, index, frame in
                try encoder.encode(frame)
                try encoder.session.complete(until: Int64(index))
                while encoder.coded.count <= index { try #require(try encoder.pump()) }
            }
            #expect(run.encoder.coded.count == 60)
            let notices = try run.encoder.session.copyProperties([.notices])[.notices]?.description ?? ""
            #expect(notices.contains("not all pictures were verified"), "\(notices)")
            #expect(try Self.wrongOutputs(faulty.server) == 0)
        }

        @Test("With RealTime a wrong picture is only reported")
        func realTime() throws {
            let faulty = try Faulty()
            let run = try faulty.encode(["corrupt 3"], .chain, more: [.realTime: .bool(true)])
            #expect(run.encoder.session.restartCount == 0 && run.encoder.coded.count == 60)
            #expect(try eventually { try Self.wrongOutputs(faulty.server) == 1 })
            #expect(faulty.server.log.contains("the encoder's pictures are wrong"))
        }

        @Test("With RealTime and VerifyOutput=all the end of a process says that packets were not verified")
        func realTimeWithoutChecker() throws {
            let faulty = try Faulty()
            let more: [PropertyKey: PropertyValue] = [.realTime: .bool(true), .verifyOutput: .string("all")]
            func notices(_ encoder: Encoder) throws -> String {
                try encoder.session.copyProperties([.notices])[.notices]?.description ?? ""
            }
            var isKilled = false
            let run = try faulty.encode([], .chain, more: more) { encoder, index, frame in
                try encoder.encode(frame)
                if index == 20 {
                    let checkers = faulty.server.workers.filter { $0.name == "hwdaemon-verify" }
                    try #require(!checkers.isEmpty)
                    for checker in checkers { kill(checker.pid, SIGKILL) }
                }
                // The encoder learns that the checker has ended with a later sample, and says so after a request for packets.
                if index >= 40, !isKilled {
                    try encoder.session.complete(until: Int64(index))
                    while encoder.coded.count <= index { try #require(try encoder.pump()) }
                    if try notices(encoder).contains("no longer verified") {
                        isKilled = true
                        kill(try faulty.server.session(encoder.id).pid, SIGKILL)
                    }
                }
            }
            try #require(isKilled)
            #expect(run.encoder.session.restartCount == 1 && run.encoder.coded.count == 60)
            let later = try notices(run.encoder)
            #expect(later.contains("some packets that the process had sent were not verified"), "\(later)")
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
