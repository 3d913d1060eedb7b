// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDColor
import HWDModel
import HWDTransport
import HWDWire
import Testing

/// Frames, which differ, on their way through a session whose effects change.
private final class ChangingRun {
    static let tables = [Array(Cubes.text(17, Cubes.look).utf8), Array(Cubes.text(19) { $0 * $0 }.utf8)]

    /// The effects of frame N.
    static func effects(_ number: Int) -> [String] {
        let step = number / 5
        return [
            "exposure:ev=\(Double(step % 3) - 1)", "lut:table=\(step % 2),space=pq",
            "vignette:intensity=0.\(step % 5)",
        ]
    }

    let session: TransferSession
    private let layout = FrameLayout.packed(.rgba16f, width: EffectFrames.width, height: EffectFrames.height)
    private let count: Int
    private let source: FramePool
    private let target: FramePool
    private var answers = 0

    init(_ daemon: Daemon, count: Int) throws {
        self.count = count
        source = try FramePool(slotSize: layout.size, slotCount: count)
        target = try FramePool(slotSize: layout.size, slotCount: count)
        var parameters = EffectFrames.parameters(Self.effects(0), added: nil)
        (parameters.width, parameters.height) = (EffectFrames.width, EffectFrames.height)
        session = try TransferSession(daemon, parameters, tables: Self.tables)
        try session.addPool(source, id: 1)
        try session.addPool(target, id: 2)
        let words = try #require(source.memory.mutableBytes)
        for number in 0..<count {
            for (index, value) in EffectFrames.pixels.enumerated() {
                let light = index % 4 == 3 ? value : value * Float16(number + 1) / 8
                words.storeBytes(
                    of: light.bitPattern, toByteOffset: number * source.slotSize + index * 2, as: UInt16.self)
            }
        }
    }

    deinit { session.invalidate() }

    /// Changes the effects for frame N and those after it.
    func change(at number: Int, earlier: Int64 = 0) throws {
        try session.changeEffects(Self.effects(number), from: Int64(number) * 100 - earlier)
    }

    func send(_ number: Int) throws {
        func place(_ pool: FramePool, _ id: UInt32) -> TransferFrame.Place {
            TransferFrame.Place(poolID: id, layout: layout.layout.moved(by: UInt64(number * pool.slotSize)))
        }
        try session.transfer(
            TransferFrame(
                frameID: UInt64(number), source: place(source, 1), target: place(target, 2),
                pts: Int64(number) * 100))
    }

    /// Takes answers until a condition holds.
    func wait(for condition: () -> Bool) throws {
        let deadline = MonotonicTime.now + hangLimit
        while !condition() {
            try #require(MonotonicTime.now < deadline, "\(answers) answers")
            guard case .frame(let answer)? = try session.nextEvent(timeout: .milliseconds(50)) else { continue }
            try #require(answer.status == .ok, "\(answer.reason)")
            answers += 1
        }
    }

    /// The converted frames.
    func results() throws -> [[UInt8]] {
        try session.finishFrames()
        try wait { answers == count }
        return (0..<count).map {
            Array(target.memory.bytes[$0 * target.slotSize..<$0 * target.slotSize + layout.size])
        }
    }
}

extension EndToEndFaults {
    /// Effects of pixel-transfer sessions that change with their frames' times.
    @Suite struct EffectChanges {
        let server: TestDaemon

        init() throws { server = try TestDaemon() }

        /// Converts frames: half of the changes, which come every fifth frame, wait from the beginning, the others come just
        /// before their frames.
        ///
        /// - Parameter positions: frames before which the session's process is stopped, and after which it is killed.
        private func results(_ count: Int, killingAt positions: [Int]) throws -> [[UInt8]] {
            let run = try ChangingRun(server.daemon, count: count)
            for number in stride(from: 5, to: count / 2, by: 5) { try run.change(at: number) }
            var deaths = 0
            for number in 0..<count {
                try run.wait { run.session.framesInFlight < run.session.created.maxFramesInFlight }
                if number >= count / 2, number % 5 == 0 { try run.change(at: number, earlier: 50) }
                let dies = positions.contains(number)
                if dies {
                    // The client must first have noticed the previous failure.
                    try run.wait { run.session.restartCount == deaths }
                    kill(try server.session(run.session.created.session).pid, SIGSTOP)
                }
                try run.send(number)
                guard dies else { continue }
                kill(try server.session(run.session.created.session).pid, SIGKILL)
                deaths += 1
            }
            let results = try run.results()
            #expect(run.session.restartCount == positions.count)
            return results
        }

        @Test("Effects change at their frames' times, and a process that is killed in between changes nothing")
        func changes() throws {
            let count = 40
            let whole = try results(count, killingAt: [])
            for positions in [[3, 19, 33], [10, 11, 12], [5, 20, 39]] {
                let isSame = try results(count, killingAt: positions) == whole
                #expect(isSame, "killed at \(positions)")
            }
            // Each frame is what a session makes of it whose only effects are the frame's.
            for number in [0, 4, 5, 17, 20, 24, 25, 39] {
                let tables = try ChangingRun.tables.map { try CubeTable(text: $0) }
                let wanted = try Self.reference(number, tables)
                let got = whole[number].withUnsafeBytes { Array($0.bindMemory(to: Float16.self)) }
                for (index, exact) in wanted.enumerated() {
                    let (value, unit) = (Double(got[index]), Double(Float16(exact.value).ulp))
                    let largest = Double(Float16(exact.largest).ulp) / 8
                    #expect(abs(value - exact.value) <= max(unit, largest), "frame \(number): \(exact) is \(value)")
                }
            }
        }

        /// The first components of a frame in double precision, and the largest one of each pixel.
        private static func reference(
            _ number: Int, _ tables: [CubeTable]
        ) throws -> [(value: Double, largest: Double)] {
            var options = ConversionOptions()
            let texts = ChangingRun.effects(number)
            options.effects = Effects(list: try EffectList(texts: texts, .call), tables: tables)
            let (width, height, pixels) = (EffectFrames.width, EffectFrames.height, EffectFrames.pixels)
            let side = ImageDescription(
                format: .rgba16f, width: width, height: height,
                signal: SignalDescription(primaries: .bt709, transfer: .linear))
            let plan = try ConversionPlan(Conversion(source: side, target: side, options: options))
            return (0..<64).flatMap { pixel in
                let light = (0..<3).map { channel in
                    Double(pixels[pixel * 4 + channel] * Float16(number + 1) / 8)
                }
                let codes = plan.convert([light[0], light[1], light[2]], alpha: 1, at: (pixel % width, 0)).codes
                let values = [codes.x, codes.y, codes.z]
                let largest = values.map { abs($0) }.max() ?? 0
                return values.map { ($0, largest) } + [(1, 1)]
            }
        }

        @Test("A change that is not possible is a failed reply, and the effects stay")
        func refusedChanges() throws {
            var parameters = EffectFrames.parameters(["exposure:ev=1"], added: nil)
            (parameters.width, parameters.height) = (EffectFrames.width, EffectFrames.height)
            let session = try TransferSession(server.daemon, parameters)
            defer { session.invalidate() }
            for (texts, pts, reason) in [
                (["exposure:ev=11"], Int64(0), "ev=11 is not within"),
                (["sepia"], 0, "a change names the effects sepia, but the session's are exposure"),
                ([], 0, "a change names the effects none"),
                (["exposure:ev=0"], Ticks.bound, "is out of range"),
            ] {
                let error = #expect(throws: ClientError.self) { try session.changeEffects(texts, from: pts) }
                #expect(error?.reason.contains(reason) == true, "\(String(describing: error))")
            }
            for pts in 0..<EffectSchedule.maxPending {
                try session.changeEffects(["exposure:ev=2"], from: Int64(pts))
            }
            let error = #expect(throws: ClientError.self) {
                try session.changeEffects(["exposure:ev=2"], from: 1000)
            }
            #expect(error?.reason.contains("no more may") == true, "\(String(describing: error))")
        }
    }
}
