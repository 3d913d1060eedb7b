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
    private static let arenaID: UInt32 = 1 << 28
    /// Frames that a change of the frame rate may hold, and the one that is made.
    private static let otherFrames = 4

    var report: SourceReport { source.report }

    private let source: any VideoSource
    private let background: BackgroundColor
    private let mode: AlphaChannelMode
    private let pool: FramePool
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

    /// - Parameter mode: how colors of frames relate to their alpha, where they do not say so.
    init(
        _ source: any VideoSource, _ video: VideoDescription, _ background: BackgroundColor,
        _ mode: AlphaChannelMode
    ) throws {
        (self.source, self.background, self.mode) = (source, background, mode)
        let size = FrameLayout.packed(.yu12, width: video.width, height: video.height).size
        pool = try FramePool(
            slotSize: size,
            slotCount: FrameSender.framesInFlight(slotSize: size) + FrameTransfer.depth + Self.otherFrames)
    }

    func next() throws -> SourceItem? {
        guard let item = try source.next() else { return nil }
        guard case .frame(let frame) = item, frame.format.hasAlpha else { return item }
        return .frame(try flatten(frame))
    }

    private func flatten(_ frame: SourceFrame) throws -> SourceFrame {
        guard let slot = pool.acquire() else {
            throw CommandFailure(.software, "no memory is free for a frame without alpha")
        }
        let pool = pool
        do {
            let (memory, layout) = try reader.samples(of: frame)
            try compositor(for: frame).flatten(
                memory, layout, width: frame.width, height: frame.height, to: pool.bytes(of: slot))
            try frame.release()
        } catch {
            pool.release(slot)
            throw error
        }
        var flat = frame
        (flat.format, flat.alphaMode) = (.yu12, nil)
        let packed = FrameLayout.packed(.yu12, width: frame.width, height: frame.height).layout
        flat.place = .session(pool.memory, arenaID: Self.arenaID, packed.moved(by: UInt64(slot.offset)))
        flat.release = { pool.release(slot) }
        return flat
    }

    private func compositor(for frame: SourceFrame) throws -> BackgroundCompositor {
        let key = Key(
            color: frame.color, mode: frame.alphaMode ?? mode, width: frame.width, height: frame.height)
        if let compositor, compositor.key == key { return compositor.value }
        let made = try background.compositor(
            frame.color, width: frame.width, height: frame.height, isPremultiplied: key.mode == .premultiplied)
        compositor = (key, made)
        return made
    }
}
