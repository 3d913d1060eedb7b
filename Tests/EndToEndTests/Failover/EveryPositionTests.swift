// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDWire
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

        @Test("Every picture's fault", arguments: Structure.allCases, kinds.indices)
        func everywhere(structure: Structure, index: Int) throws {
            let (faults, software) = Self.kinds[index]
            let faulty = try Faulty()
            for position in 2...Failover.count + 1 {
                try Self.check(faulty, faults, at: position, structure, software: software)
            }
        }

        /// Encodes while the first process fails at a picture, and the others at their second.
        private static func check(
            _ faulty: Faulty, _ faults: [String], at position: Int, _ structure: Structure,
            more: [PropertyKey: PropertyValue] = [:], software: Bool
        ) throws {
            let plan = faults.enumerated().map { "\($1) \($0 == 0 ? position : 2)" }
            var more = more
            if faults.contains("corrupt") { more[.verifyOutput] = .string("all") }
            let run = try faulty.encode(plan, structure, more: more)
            #expect(run.encoder.session.created.usingHardware != software)
            #expect(run.encoder.session.restartCount == faults.count)
            try run.check(
                "\(plan) \(structure) \(more.keys.map(\.rawValue).sorted())",
                hasOpenGroups: more[.allowOpenGOP] != nil)
        }

        /// Positions in streams of other kinds, and of other drivers.
        static let someOf = [2, 3, 4, 6, 9, 10, 17, 21, 33, 47, 60, 61]

        /// Properties under which the encoder works otherwise.
        static let settings: [(structure: Structure, properties: [PropertyKey: PropertyValue])] = [
            (.pyramid, [.baseLayerFrameRate: .double(7.5), .expectedFrameRate: .double(30)]),
            (.chain, [.realTime: .bool(true)]),
            (.pyramid, [.allowOpenGOP: .bool(true), .maxKeyFrameInterval: .int(16)]),
        ]

        // With RealTime wrong pictures are only reported, and leading pictures of open groups are not compared.
        @Test(
            "Temporal levels, RealTime and open GOPs", arguments: settings.indices, withoutCorruption)
        func otherSettings(setting: Int, index: Int) throws {
            let (faults, software) = Self.kinds[index]
            let (structure, properties) = Self.settings[setting]
            let faulty = try Faulty()
            for position in Self.someOf {
                try Self.check(faulty, faults, at: position, structure, more: properties, software: software)
            }
        }

        // Alpha's pictures are not compared, and while one layer's encoder hangs, the other's may take the next fault.
        @Test("Alpha", arguments: withoutCorruption.filter { kinds[$0].faults != ["hang", "hang"] })
        func alpha(index: Int) throws {
            let (faults, software) = Self.kinds[index]
            let faulty = try Faulty("full", .yuva)
            for position in Self.someOf {
                try Self.check(faulty, faults, at: position, .chain, software: software)
            }
        }

        @Test(
            "Other drivers", arguments: ["ihd-icl", "ihd-tgl", "radeonsi-22", "radeonsi-22-uvd", "radeonsi-25"],
            kinds.indices)
        func otherDrivers(personality: String, index: Int) throws {
            let (faults, software) = Self.kinds[index]
            let faulty = try Faulty(personality)
            for position in Self.someOf {
                try Self.check(faulty, faults, at: position, .pyramid, software: software)
            }
        }

        // MARK: - A thousand deaths

        /// kill -9 of so many processes of each kind, three to a session.
        static let kills = 334

        /// Positions of three deaths among a session's items, which differ from session to session.
        private static func positions(_ session: Int, of count: Int) -> [Int] {
            var generator = SplitMix(state: UInt64(session))
            var positions: Set<Int> = []
            while positions.count < 3 { positions.insert(Int(generator.next() % UInt64(count)) + 1) }
            return positions.sorted()
        }

        @Test("A decoder's deaths", arguments: ["open", "closed"])
        func decoders(structure: String) throws {
            let server = try TestDaemon()
            let stream = try Decoding.stream(structure, in: server.folder)
            let reference = try Decoding.reference(server.folder)
            for session in 0..<Self.kills / 6 + 1 {
                let positions = Self.positions(session, of: stream.units.count)
                let decoder = try Decoding.decode(server, stream, killingAt: positions)
                Decoding.check(decoder, reference, stream, "\(structure), killed at \(positions)")
            }
        }

        @Test("An encoder's deaths")
        func encoders() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(
                .nv12, width: Failover.width, height: Failover.height, count: Failover.count, in: server.folder)
            for session in 0..<Self.kills / 3 + 1 {
                let positions = Self.positions(session, of: Failover.count)
                let encoder = try Encoder(
                    server.daemon, .nv12, width: Failover.width, height: Failover.height,
                    properties: [.x265Preset: .string("ultrafast"), .quality: .double(0.7)])
                var deaths = 0
                for (index, frame) in raw.frames.enumerated() {
                    try encoder.encode(frame)
                    guard positions.contains(index + 1) else { continue }
                    // The client must have met the death before.
                    while encoder.session.restartCount < deaths { _ = try encoder.pump(seconds: 0.05) }
                    kill(try server.session(encoder.id).pid, SIGKILL)
                    deaths += 1
                }
                try encoder.finish()
                #expect(encoder.session.restartCount == positions.count)
                try EndToEnd.EncodedRun(encoder: encoder, raw: raw).check("killed at \(positions)")
            }
        }

        @Test("A converter's deaths")
        func converters() throws {
            let server = try TestDaemon()
            func convert(killingAt positions: [Int]) throws -> [[UInt8]] {
                let transferer = try Transferer(
                    server.daemon, .init(pixelFormat: "NV12"), .init(pixelFormat: "AB4H"), width: 64, height: 64)
                for index in 0..<30 {
                    try transferer.fill { UInt16(truncatingIfNeeded: ($0 &+ 1) &* 2311 &* (index + 1)) }
                    #expect(try transferer.convert().status == .ok)
                    if positions.contains(index + 1) {
                        kill(try server.session(transferer.session.created.session).pid, SIGKILL)
                    }
                }
                #expect(transferer.session.restartCount == positions.count { $0 < 30 })
                return transferer.results
            }
            let reference = try convert(killingAt: [])
            for session in 0..<Self.kills / 3 + 1 {
                let isSame = try convert(killingAt: Self.positions(session, of: 29)) == reference
                #expect(isSame)
            }
        }
    }

    /// A small generator of numbers (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
    private struct SplitMix: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = state
            value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return value ^ (value >> 31)
        }
    }
}
