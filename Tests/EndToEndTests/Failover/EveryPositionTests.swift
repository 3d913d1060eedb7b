// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import Testing

private typealias Failover = EndToEndFaults.Failover

extension EndToEndFaults.Failover {
    /// Every position, which takes up to an hour: `make check-failover`.
    @Suite struct EveryPosition {
        /// The faults of the processes of a session, and whether software serves it in the end.
        static let kinds: [(faults: [String], software: Bool)] = [
            (["crash"], false), (["fail"], false), (["hang"], false), (["corrupt"], false),
            (["crash", "crash"], true), (["fail", "fail"], true), (["hang", "hang"], true),
            (["corrupt", "corrupt"], true),
        ]

        /// The kinds without wrong pictures.
        static let withoutCorruption = kinds.indices.filter { !kinds[$0].faults.contains("corrupt") }

        /// Sessions of one kind of hardware and stream, and how their processes fail.
        struct Plan {
            var personality = "full"
            var usesCard = false
            var format = PixelFormat.nv12
            var structure = Structure.pyramid
            var properties: [PropertyKey: PropertyValue] = [:]
            var positions = EveryPosition.someOf
            var faults: [String]
            /// Whether software serves the sessions in the end.
            var software: Bool

            init(_ kind: (faults: [String], software: Bool)) { (faults, software) = kind }
        }

        /// Encodes once for each position: the first process fails there, and the others at their first frame.
        ///
        /// Several sessions run beside each other, each on a daemon of its own, because a driver's plan of faults is one file. Those
        /// that hang wait most of the time.
        private static func check(_ plan: Plan) throws {
            let lanes = plan.faults.contains("hang") ? 4 : 2
            let results = try concurrently(lanes) { lane in
                let faulty = try Faulty(
                    plan.personality, plan.format, hangs: plan.faults.contains("hang"), usesCard: plan.usesCard)
                for (index, position) in plan.positions.enumerated() where index % lanes == lane {
                    try Self.check(plan, at: position, faulty)
                }
            }
            for result in results { try result.get() }
        }

        private static func check(_ plan: Plan, at position: Int, _ faulty: Faulty) throws {
            // A VA-API encoder codes its first picture when it opens.
            let first = plan.usesCard ? 1 : 2
            let faults = plan.faults.enumerated().map { "\($1) \($0 == 0 ? position : first)" }
            var properties = plan.properties
            if plan.faults.contains("corrupt") { properties[.verifyOutput] = .string("all") }
            let name: Comment =
                "\(faults) \(plan.personality) \(plan.structure) \(properties.keys.map(\.rawValue).sorted())"
            let run = try faulty.encode(faults, plan.structure, more: properties)
            #expect(run.encoder.session.created.usingHardware != plan.software, name)
            #expect(run.encoder.session.restartCount == faults.count, name)
            try run.check(name, hasOpenGroups: properties[.allowOpenGOP] != nil)
        }

        @Test("Every picture's fault", arguments: Structure.allCases, kinds.indices)
        func everywhere(structure: Structure, index: Int) throws {
            var plan = Plan(Self.kinds[index])
            (plan.structure, plan.positions) = (structure, Array(2...Failover.count + 1))
            try Self.check(plan)
        }

        /// Positions in streams of other kinds, and of other drivers.
        static let someOf = [2, 3, 4, 6, 9, 10, 17, 21, 33, 47, 60, 61]

        /// Properties under which the encoder works otherwise.
        static let settings: [(structure: Structure, properties: [PropertyKey: PropertyValue])] = [
            (.pyramid, [.baseLayerFrameRate: .double(7.5), .expectedFrameRate: .double(30)]),
            (.pyramid, [.allowOpenGOP: .bool(true), .maxKeyFrameInterval: .int(16)]),
        ]

        @Test("Temporal levels and open groups", arguments: settings.indices, kinds.indices)
        func otherSettings(setting: Int, index: Int) throws {
            var plan = Plan(Self.kinds[index])
            (plan.structure, plan.properties) = Self.settings[setting]
            try Self.check(plan)
        }

        // With RealTime wrong pictures are only reported.
        @Test("RealTime", arguments: withoutCorruption)
        func realTime(index: Int) throws {
            var plan = Plan(Self.kinds[index])
            (plan.structure, plan.properties) = (.chain, [.realTime: .bool(true)])
            try Self.check(plan)
        }

        // Alpha's pictures are not verified, and while one layer's encoder hangs, the other's may take the next fault.
        @Test("Alpha", arguments: withoutCorruption.filter { kinds[$0].faults != ["hang", "hang"] })
        func alpha(index: Int) throws {
            var plan = Plan(Self.kinds[index])
            (plan.structure, plan.format) = (.chain, .yuva)
            try Self.check(plan)
        }

        @Test(
            "Other drivers", arguments: ["ihd-icl", "ihd-tgl", "radeonsi-22", "radeonsi-22-uvd", "radeonsi-25"],
            kinds.indices)
        func otherDrivers(personality: String, index: Int) throws {
            var plan = Plan(Self.kinds[index])
            plan.personality = personality
            try Self.check(plan)
        }

        @Test("NVIDIA's encoder", arguments: kinds.indices)
        func card(index: Int) throws {
            var plan = Plan(Self.kinds[index])
            (plan.usesCard, plan.positions) = (true, CardEncoding.positions)
            try Self.check(plan)
        }

        // MARK: - All of what `make test` samples

        @Test("Wrong pictures after the client waited for packets", arguments: Structure.allCases)
        func afterWaiting(_ structure: Structure) throws {
            try VerifyOutput.checkAfterWaiting(structure, [(24, 20), (40, 20), (60, 41)])
        }

        @Test("Healthy hardware")
        func healthy() throws { try VerifyOutput.checkHealthy(VerifyOutput.settings) }

        @Test("Requests whose packets were lost")
        func completion() throws { try Failover.checkCompletion([10, 11, 12, 13]) }

        @Test("Decoders whose hardware fails beside a key frame")
        func besideKeyFrames() throws { try Reset.checkBesideKeyFrames(Array(9...18) + [24, 25, 37]) }
    }
}
