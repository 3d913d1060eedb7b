// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire
import Testing

private typealias Failover = EndToEndFaults.Failover

// SIGKILL for 336 processes of each kind, three per session.
extension EndToEndFaults.Failover.EveryPosition {
    /// Sessions of each kind, half of them beside the others.
    private static let sessions = 112

    /// Runs sessions on two daemons at once; each is given its number.
    private static func onDaemons(
        _ count: Int, _ body: @escaping @Sendable (TestDaemon, Range<Int>) throws -> Void
    ) throws {
        let half = count / 2
        let results = try concurrently(2) { lane in
            try body(TestDaemon(), lane == 0 ? 0..<half : half..<count)
        }
        for result in results { try result.get() }
    }

    /// Positions of three deaths among a session's items, which differ from session to session.
    private static func positions(_ session: Int, of count: Int) -> [Int] {
        var generator = SplitMix(state: UInt64(session))
        var positions: Set<Int> = []
        while positions.count < 3 { positions.insert(Int(generator.next() % UInt64(count)) + 1) }
        return positions.sorted()
    }

    @Test("SIGKILL for decoders, three per session", arguments: ["open", "closed"])
    func decoders(structure: String) throws {
        try Self.onDaemons(Self.sessions / 2) { server, sessions in
            let stream = try Failover.Decoding.stream(structure, in: server.folder)
            let reference = try Failover.Decoding.reference(server.folder)
            for session in sessions {
                let positions = Self.positions(session, of: stream.units.count)
                let decoder = try Failover.Decoding.decode(server, stream, killingAt: positions)
                Failover.Decoding.check(decoder, reference, stream, "\(structure), killed at \(positions)")
            }
        }
    }

    @Test("SIGKILL for encoders, three per session")
    func encoders() throws {
        try Self.onDaemons(Self.sessions) { server, sessions in
            let raw = try RawFrames(
                .nv12, width: Failover.width, height: Failover.height, count: Failover.count, in: server.folder)
            for session in sessions {
                let positions = Self.positions(session, of: Failover.count)
                let encoder = try Encoder(
                    server.daemon, .nv12, width: Failover.width, height: Failover.height,
                    properties: [.x265Preset: .string("ultrafast"), .quality: .double(0.7)])
                var deaths = 0
                for (index, frame) in raw.frames.enumerated() {
                    try encoder.encode(frame)
                    guard positions.contains(index + 1) else { continue }
                    // The client must first have noticed the previous failure.
                    let isNoticed = try eventually {
                        if encoder.session.restartCount >= deaths { return true }
                        try encoder.pump(within: .milliseconds(50))
                        return false
                    }
                    try #require(isNoticed, "\(encoder.session.restartCount) restarts after \(deaths) deaths")
                    kill(try server.session(encoder.id).pid, SIGKILL)
                    deaths += 1
                }
                try encoder.finish()
                #expect(encoder.session.restartCount == positions.count)
                try EndToEnd.EncodedRun(encoder: encoder, raw: raw).check("killed at \(positions)")
            }
        }
    }

    @Test("SIGKILL for converters with frames in flight, three per session")
    func converters() throws {
        let count = 30
        try Self.onDaemons(Self.sessions) { server, sessions in
            let frames = try ConvertedFrames(count: count, in: server.folder)
            let reference = try frames.convert(on: server, killingAt: [])
            for session in sessions {
                let positions = Self.positions(session, of: count)
                let isSame = try frames.convert(on: server, killingAt: positions) == reference
                #expect(isSame, "killed at \(positions)")
            }
        }
    }
}

/// Frames that a pixel-transfer session converts, each in a slot of its own.
private struct ConvertedFrames {
    private let width = 64
    private let height = 48
    private let count: Int
    private let source: FramePool
    private let target: FramePool

    init(count: Int, in folder: Scratch) throws {
        self.count = count
        let raw = try RawFrames(.nv12, width: width, height: height, count: count, in: folder)
        source = try FramePool(slotSize: raw.frames[0].count, slotCount: count)
        target = try FramePool(
            slotSize: FrameLayout.packed(.rgba16f, width: width, height: height).size, slotCount: count)
        for (index, frame) in raw.frames.enumerated() {
            source.memory.mutableBytes?[(index * source.slotSize)...].copyBytes(from: frame)
        }
    }

    /// Converts all frames; a process that is to be killed is stopped before frame N (from 1) is sent, so that this frame
    /// and earlier unanswered ones are in flight.
    func convert(on server: TestDaemon, killingAt positions: [Int]) throws -> [UInt8] {
        target.memory.mutableBytes?.initializeMemory(as: UInt8.self, repeating: 0)
        let session = try TransferSession(
            server.daemon,
            CreateTransferSession.Parameters(
                width: width, height: height, source: .init(pixelFormat: PixelFormat.nv12.rawValue),
                target: .init(pixelFormat: PixelFormat.rgba16f.rawValue), device: "cpu"))
        defer { session.invalidate() }
        try session.addPool(source, id: 1)
        try session.addPool(target, id: 2)
        var answers: [UInt64] = []
        /// Takes answers until a condition holds.
        func wait(for condition: () -> Bool) throws {
            let deadline = MonotonicTime.now + hangLimit
            while !condition() {
                try #require(MonotonicTime.now < deadline, "\(answers.count) answers")
                guard case .frame(let answer)? = try session.nextEvent(timeout: .milliseconds(50)) else { continue }
                try #require(answer.status == .ok, "\(answer.reason)")
                answers.append(answer.frameID)
            }
        }
        var deaths = 0
        for index in 0..<count {
            try wait { session.framesInFlight < session.created.maxFramesInFlight }
            let dies = positions.contains(index + 1)
            if dies {
                // The client must first have noticed the previous failure.
                try wait { session.restartCount == deaths }
                kill(try server.session(session.created.session).pid, SIGSTOP)
            }
            try session.transfer(frame(index))
            guard dies else { continue }
            kill(try server.session(session.created.session).pid, SIGKILL)
            deaths += 1
        }
        try session.finishFrames()
        try wait { answers.count == count }
        #expect(answers == (0..<UInt64(count)).map { $0 }, "killed at \(positions)")
        #expect(session.restartCount == positions.count)
        return Array(target.memory.bytes)
    }

    private func frame(_ index: Int) -> TransferFrame {
        func place(_ pool: FramePool, _ id: UInt32, _ format: PixelFormat) -> TransferFrame.Place {
            TransferFrame.Place(
                poolID: id,
                layout: FrameLayout.packed(format, width: width, height: height, base: index * pool.slotSize).layout
            )
        }
        return TransferFrame(
            frameID: UInt64(index), source: place(source, 1, .nv12), target: place(target, 2, .rgba16f))
    }
}

/// A small generator of numbers (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
