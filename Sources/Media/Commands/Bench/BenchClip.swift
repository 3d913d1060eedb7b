// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A clip decoded into memory before any session starts, so that decoding is not part of the measurement.
final class BenchClip {
    /// How much of the input to take.
    enum Amount {
        case frames(Int)
        case seconds(Double)
    }

    /// A frame's layout in the pool, and its times.
    struct Frame {
        var layout: FrameLayout
        var pts: Int64
        var duration: Int64
    }

    /// Bytes of frames at most; a session may register more, but a longer clip adds nothing.
    private static let maxBytes = 1 << 30
    /// Frames per second where the input has no plausible rate.
    private static let defaultRate = Rational(25)

    let video: VideoDescription
    let pool: FramePool
    private(set) var frames: [Frame] = []
    /// What a user should know of the clip, one line each.
    private(set) var warnings: [String]

    /// Frames per second.
    let frameRate: Rational

    /// Reads and decodes; `interruption` cancels it.
    init(_ input: String, _ amount: Amount, _ interruption: Interruption) throws {
        let reader = try MediaReader(path: input)
        interruption.onSignal { reader.cancel() }
        video = reader.video
        warnings = reader.warnings
        let rates = [video.averageFrameRate, video.baseFrameRate].compactMap { $0 }
        frameRate = rates.first { (0.001...1000).contains($0.value) } ?? Self.defaultRate
        let size = FrameLayout.packed(video.format, width: video.width, height: video.height).size
        let room = Self.maxBytes / max(1, size)
        let count =
            switch amount {
            case .frames(let frames): frames
            case .seconds(let seconds): Int(clamping: Int64((seconds * frameRate.value).rounded(.up)))
            }
        // The pool is sparse: only slots that are written occupy memory.
        pool = try FramePool(slotSize: size, slotCount: max(1, min(count, room, video.frameCount ?? count)))
        while frames.count < count, let item = try reader.next() {
            guard case .frame(let frame) = item else { continue }
            defer { try? frame.release() }
            guard let slot = pool.acquire(), let base = pool.bytes(of: slot).baseAddress else { break }
            let layout = try frame.copy(
                to: FrameSlot(
                    id: slot.index, base: base, poolOffset: UInt64(slot.offset), byteCount: pool.slotSize))
            frames.append(Frame(layout: layout, pts: frame.pts, duration: frame.duration))
        }
        guard !frames.isEmpty else { throw MediaError(.badInput, "\(input) has no frames") }
        if frames.count >= room, count > room {
            warnings.append("only the first \(frames.count) frames are used: more do not fit into 1 GiB")
        }
    }

    /// What a session that encodes the clip is created with.
    func parameters(
        specification: [PropertyKey: PropertyValue], properties: [PropertyKey: PropertyValue]
    ) -> CreateCompressionSession.Parameters {
        CreateCompressionSession.Parameters(
            width: video.width, height: video.height, pixelFormat: video.format, timeBase: video.timeBase,
            encoderSpecification: specification, properties: properties)
    }

    /// The clip's length.
    var seconds: Double { Double(frames.count) / frameRate.value }

    /// Four rates that show how quality rises with them: 0.02 to 0.16 bits per luma sample, rounded to one digit.
    var usualRates: [Int64] {
        let samples = Double(video.width * video.height) * frameRate.value
        return [0.02, 0.04, 0.08, 0.16].map { bits in
            let rate = max(10_000, samples * bits)
            var step = 1.0
            while step * 100 <= rate { step *= 10 }
            return Int64((rate / step).rounded() * step)
        }
    }

    /// A frame's samples.
    func view(_ frame: Int) throws -> PictureView {
        guard let memory = pool.memory.mutableBytes else {
            throw CommandFailure(.software, "the clip has no memory")
        }
        return try PictureView(
            memory: UnsafeRawBufferPointer(memory), layout: frames[frame].layout, format: video.format,
            width: video.width, height: video.height,
            part: PictureRectangle(x: 0, y: 0, width: UInt32(video.width), height: UInt32(video.height)))
    }
}
