// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// A video without alpha: its pictures are composited over a color.
final class FlatteningSource: VideoSource {
    /// The number by which an encoder's session knows the memory of these frames, as if a decoder had made it: above those
    /// of decoders, below those of other frames that hwctl makes.
    private static let firstNumber: UInt32 = 1 << 28
    /// Frames that a change of the frame rate may hold, and the one that is made.
    private static let otherFrames = 4

    var report: SourceReport { source.report }

    /// What is behind the pictures.
    struct Background {
        /// How colors of frames relate to their alpha, where they do not say so.
        var mode: AlphaChannelMode
        /// Makes the compositor for pictures of a color, a width and a height in samples; the last argument is whether their
        /// colors are multiplied by alpha.
        var compositor: (ColorDescription, Int, Int, Bool) throws -> BackgroundCompositor
    }

    private let source: any VideoSource
    private let background: Background
    /// Replaced when a picture is larger than those before.
    private var pool: FramePool
    private var poolNumber = firstNumber
    private var compositor: (key: Key, value: BackgroundCompositor)?
    /// The samples of a picture that this process decoded.
    private let reader = FrameSampleReader()

    /// What a compositor depends on.
    private struct Key: Hashable {
        var color: ColorDescription
        var mode: AlphaChannelMode
        var width: Int
        var height: Int
    }

    init(_ source: any VideoSource, _ video: VideoDescription, _ background: Background) throws {
        (self.source, self.background) = (source, background)
        pool = try Self.pool(width: video.width, height: video.height)
    }

    private static func pool(width: Int, height: Int) throws -> FramePool {
        let size = FrameLayout.packed(.yu12, width: width, height: height).size
        return try FramePool(
            slotSize: size,
            slotCount: FrameSender.framesInFlight(slotSize: size) + FrameTransfer.depth + otherFrames)
    }

    func next() throws -> MediaReader.Item? {
        guard let item = try source.next() else { return nil }
        guard case .frame(let frame) = item, frame.format.hasAlpha else { return item }
        return .frame(try flatten(frame))
    }

    private func flatten(_ frame: SourceFrame) throws -> SourceFrame {
        let (layout, size) = FrameLayout.packed(.yu12, width: frame.width, height: frame.height)
        if size > pool.slotSize {
            pool = try Self.pool(width: frame.width, height: frame.height)
            poolNumber += 1
        }
        guard let slot = pool.acquire() else {
            throw CommandFailure(.software, "no memory is free for a frame without alpha")
        }
        let pool = pool
        do {
            let (memory, source) = try reader.samples(of: frame)
            try compositor(for: frame).flatten(
                memory, source, width: frame.width, height: frame.height, to: pool.bytes(of: slot))
            try frame.release()
        } catch {
            pool.release(slot)
            throw error
        }
        var flat = frame
        // The mode stays that of the source.
        flat.info.format = .yu12
        flat.place = .shared(pool.memory, number: poolNumber, layout.moved(by: UInt64(slot.offset)))
        flat.release = { pool.release(slot) }
        return flat
    }

    private func compositor(for frame: SourceFrame) throws -> BackgroundCompositor {
        let key = Key(
            color: frame.color, mode: frame.alphaMode ?? background.mode, width: frame.width, height: frame.height)
        if let compositor, compositor.key == key { return compositor.value }
        let made = try background.compositor(
            frame.color, frame.width, frame.height, key.mode == .premultiplied)
        compositor = (key, made)
        return made
    }
}
