// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDLibAV
public import HWDModel
internal import Synchronization

/// One picture, in presentation order.
///
/// It owns its samples until `release()` or its end, whichever is first, and may be released on any thread.
public final class DecodedFrame: Sendable {
    /// How many frames came before it.
    public let index: Int
    /// When it is shown, in ticks of the stream's time base; always after the frame before it.
    public let pts: Int64
    /// How long it is shown, in ticks; 0 when the file does not say and has no frame rate.
    public let duration: Int64
    /// Whether the source coded it so that decoding could begin with it.
    public let isKeyFrame: Bool
    /// The format `layout` and `copy` speak of.
    public let format: PixelFormat
    /// Samples a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// The slot of the caller's memory that it was decoded or read into; nil when it must be copied.
    public let direct: DirectFrame?

    private let samples: Mutex<FrameSamples?>

    init(
        index: Int, pts: Int64, duration: Int64, isKeyFrame: Bool, format: PixelFormat, width: Int, height: Int,
        direct: DirectFrame?, samples: FrameSamples
    ) {
        self.index = index
        self.pts = pts
        self.duration = duration
        self.isKeyFrame = isKeyFrame
        self.format = format
        self.width = width
        self.height = height
        self.direct = direct
        self.samples = Mutex(samples)
    }

    /// Gives the samples up: what `direct` names may be overwritten from now on.
    public func release() {
        let given = samples.withLock { samples -> FrameSamples? in
            defer { samples = nil }
            return samples
        }
        _ = given
    }

    /// Writes the picture into `slot`, rows aligned to 64 bytes, converting it if the stream needs that.
    ///
    /// - Returns: where the planes lie, counted from the pool's start.
    /// - Throws: `usage` when the slot is too small or the frame was released; `badInput` when conversion fails.
    @discardableResult
    public func copy(to slot: FrameSlot) throws(MediaError) -> FrameLayout {
        let packed = FrameLayout.packed(format, width: width, height: height)
        guard packed.size <= slot.byteCount else {
            throw MediaError(.usage, "a slot of \(slot.byteCount) bytes cannot hold a frame of \(packed.size)")
        }
        try copy(to: UnsafeMutableRawBufferPointer(start: slot.base, count: slot.byteCount), packed.layout)
        return FrameLayout(
            planes: packed.layout.planes.map { .init(offset: $0.offset + slot.poolOffset, stride: $0.stride) })
    }

    /// Writes the picture into `memory` at the places `layout` names, counted from the memory's start.
    ///
    /// - Throws: `usage` when the layout does not fit or the frame was released; `badInput` when conversion fails.
    public func copy(to memory: UnsafeMutableRawBufferPointer, _ layout: FrameLayout) throws(MediaError) {
        do throws(SessionError) {
            try layout.validate(format, width: width, height: height, poolSize: UInt64(memory.count))
        } catch { throw MediaError(.usage, error.reason) }
        guard let base = memory.baseAddress else { throw MediaError(.usage, "no memory to copy a frame to") }
        let target = PlaneTarget(
            format: format, width: width, height: height, planes: layout.mutablePlanes(at: base))
        let outcome: Bool? = samples.withLock { $0.map { $0.copy(to: target) } }
        guard let outcome else { throw MediaError(.usage, "frame \(index) was released before it was copied") }
        if !outcome { throw MediaError(.badInput, "frame \(index) cannot be converted to \(format.rawValue)") }
    }
}

/// Where a picture is to be written; the caller keeps the memory alive and to itself for the length of one call.
struct PlaneTarget: @unchecked Sendable {
    let format: PixelFormat
    let width: Int
    let height: Int
    let planes: [MutablePlaneView]

    /// Copies planes of the same format; false where one is missing.
    func fill(from sources: [PlaneView]) -> Bool {
        guard sources.count >= format.planeCount else { return false }
        for plane in 0..<format.planeCount {
            planes[plane].copyRows(
                of: sources[plane], rowBytes: format.rowBytes(plane: plane, width: width),
                rows: format.rows(plane: plane, height: height))
        }
        return true
    }
}

/// What holds a frame's samples until it is released.
enum FrameSamples: Sendable {
    /// A decoder's picture; the converter is nil where the picture is in the frame's format already.
    case picture(Picture)
    /// Samples without gaps between rows and planes, as Y4M has them.
    case tight(TightSamples)

    func copy(to target: PlaneTarget) -> Bool {
        switch self {
        case .picture(let picture): picture.copy(to: target)
        case .tight(let samples): samples.copy(to: target)
        }
    }
}

/// Owner of an AVFrame; `DecodedFrame` uses it under its lock alone, so it may cross threads.
final class Picture: @unchecked Sendable {
    private let frame: UnsafeMutablePointer<AVFrame>
    private let converter: (any PictureConverter)?

    /// Takes over the references `source` holds and leaves it empty; nil when memory ran out.
    init?(moving source: UnsafeMutablePointer<AVFrame>, converter: (any PictureConverter)?) {
        guard let frame = av_frame_alloc() else { return nil }
        av_frame_move_ref(frame, source)
        self.frame = frame
        self.converter = converter
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
    }

    func copy(to target: PlaneTarget) -> Bool {
        if let converter { return converter.convert(frame, to: target) }
        return target.fill(from: PlaneView.planes(of: frame))
    }
}
