// SPDX-License-Identifier: MIT
package import HWClient
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// The choice of x265's preset: sessions like the recording's code moving pictures with noise as fast as they can.
package struct CaptureTrial {
    /// A preset that was tried, and the frames a second that it codes.
    package struct Speed: Encodable, Sendable {
        package var preset: String
        package var framesPerSecond: Double

        enum CodingKeys: String, CodingKey {
            case preset
            case framesPerSecond = "frames_per_second"
        }
    }

    /// The presets, fastest first.
    package static let presets = ["ultrafast", "superfast", "veryfast"]
    /// How much faster than the recording a preset must be: other programs want the processors, too.
    package static let margin = 2.0
    /// Seconds for a preset.
    private static let budget = 0.4
    private static let mostSlots = 8
    /// Nanoseconds for a preset, with the encoder's start.
    private static let longest: UInt64 = 2_000_000_000

    package private(set) var speeds: [Speed] = []
    /// Samples of luma in a frame that was tried.
    private var size = 0.0

    package init() {}

    /// The slowest preset that is fast enough; the fastest where none is, and nil for hardware.
    package mutating func run(_ daemon: Daemon, _ settings: CaptureSettings) throws -> String? {
        size = Double(settings.format.width * settings.format.height)
        var chosen = Self.presets[0]
        for preset in Self.presets {
            var tried = settings
            tried.preset = preset
            let session = try tried.session(daemon)
            defer { session.invalidate() }
            guard !session.created.usingHardware else { return nil }
            let speed = try Self.speed(session, settings)
            speeds.append(Speed(preset: preset, framesPerSecond: (speed * 10).rounded() / 10))
            guard speed >= Self.margin * settings.rate else { break }
            chosen = preset
        }
        return chosen
    }

    /// The preset for frames of another size, by what was measured; nil where nothing was.
    package func preset(for settings: CaptureSettings) -> String? {
        let samples = Double(settings.format.width * settings.format.height)
        let isFast = speeds.filter { $0.framesPerSecond * size / samples >= Self.margin * settings.rate }
        return isFast.last?.preset ?? speeds.first?.preset
    }

    /// Frames a second that a session codes.
    private static func speed(_ session: CompressionSession, _ settings: CaptureSettings) throws -> Double {
        let (width, height) = (settings.format.width, settings.format.height)
        let (layout, size) = FrameLayout.packed(settings.pixelFormat, width: width, height: height)
        let slots = CaptureQueue.slotCount(size, wanted: mostSlots)
        let pool = try FramePool(slotSize: size, slotCount: slots)
        var seed: UInt64 = 1
        // All at once: a slot that is released is the next one that is acquired.
        let painted = (0..<slots).compactMap { _ in pool.acquire() }
        for (number, slot) in painted.enumerated() { paint(pool.bytes(of: slot), number, &seed) }
        for slot in painted { pool.release(slot) }
        try session.addPool(pool, id: 1, sparing: slots)
        try session.prepare()
        let step = Int64((Double(CaptureSettings.timeScale) / settings.rate).rounded())
        // From the first packet on: the encoder's start is not its speed.
        let start = MonotonicTime.now
        var begin: MonotonicTime?
        var (sent, coded, seconds) = (0, 0, 0.0)
        var held: [UInt64: FramePool.Slot] = [:]
        while seconds < budget, Double(coded) < max(8, settings.rate),
            MonotonicTime.now.nanoseconds(since: start) < longest
        {
            while session.framesInFlight < session.created.maxFramesInFlight, let slot = pool.acquire() {
                held[UInt64(sent)] = slot
                try session.encode(
                    EncodeFrame(
                        frameID: UInt64(sent), pts: Int64(sent) * max(1, step), duration: step, poolID: 1,
                        layout: FrameLayout(
                            planes: layout.planes.map {
                                .init(offset: $0.offset + UInt64(slot.offset), stride: $0.stride)
                            })))
                sent += 1
            }
            switch try session.nextEvent(timeout: .milliseconds(50)) {
            case .frameReleased(let number): if let slot = held.removeValue(forKey: number) { pool.release(slot) }
            case .packet(let packet):
                if begin == nil { begin = .now } else { coded += 1 }
                try session.release(packet)
            default: break
            }
            seconds = begin.map { Double(MonotonicTime.now.nanoseconds(since: $0)) / 1e9 } ?? 0
        }
        return Double(coded) / max(seconds, 0.001)
    }

    /// Samples that move by the frame, with noise of a camera's size.
    private static func paint(_ bytes: UnsafeMutableRawBufferPointer, _ number: Int, _ seed: inout UInt64) {
        let words = bytes.bindMemory(to: UInt64.self)
        for index in words.indices {
            // Knuth's generator (MMIX); a bit of noise for each byte, and 8 bytes of motion for each frame.
            seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            let base = UInt64(64 + abs((index + number) / 4 % 128 - 64)) &* 0x0101_0101_0101_0101
            words[index] = base &+ (seed >> 8 & 0x0101_0101_0101_0101)
        }
    }
}
