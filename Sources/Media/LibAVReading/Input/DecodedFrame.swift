// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDLibAV
public import HWDMetadata
public import HWDModel
internal import Synchronization

/// One frame, in presentation order.
///
/// It owns its samples until `release()` or deinitialization, and may be released on any thread.
public final class DecodedFrame: Sendable {
    /// The number of frames before it.
    public let index: Int
    /// Presentation time in ticks of the stream's time base; always after the preceding frame's.
    public let pts: Int64
    /// Duration in ticks; 0 when the file has neither durations nor a frame rate.
    public let duration: Int64
    /// Whether the source's decoding could start with it.
    public let isKeyFrame: Bool
    /// The pixel format of its samples.
    public let format: PixelFormat
    /// Width in samples.
    public let width: Int
    /// Height in rows.
    public let height: Int
    /// The color of its samples.
    public let color: ColorDescription
    /// Metadata that libavcodec returns: Dolby Vision's RPU, HDR10+ and closed captions.
    public let sideData: [FrameSideData]
    /// The slot of the caller's memory that it was decoded or read into; nil when it must be copied.
    public let direct: DirectFrame?

    private let samples: Mutex<FrameSamples?>

    /// - Parameter color: nil is the video's.
    init(
        _ timing: FrameTiming, of video: VideoDescription, color: ColorDescription? = nil, direct: DirectFrame?,
        sideData: [FrameSideData] = [], samples: FrameSamples
    ) {
        self.sideData = sideData
        index = timing.index
        pts = timing.pts
        duration = timing.duration
        isKeyFrame = timing.isKeyFrame
        format = video.format
        width = video.width
        height = video.height
        self.color = color ?? video.color
        self.direct = direct
        self.samples = Mutex(samples)
    }

    /// Releases the samples: the slot of `direct` may be overwritten.
    public func release() {
        // Freed after the lock: the memory's owner is called.
        let released = samples.withLock { samples -> FrameSamples? in
            defer { samples = nil }
            return samples
        }
        _ = released
    }

    /// Copies the frame into `slot`, with rows aligned to 64 bytes, and converts it where the stream requires that.
    ///
    /// - Returns: the planes, with offsets from the pool's start.
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

    /// Copies the frame into `memory` in the given layout, with offsets from the memory's start.
    ///
    /// - Throws: `usage` when the layout does not fit or the frame was released; `badInput` when conversion fails.
    public func copy(to memory: UnsafeMutableRawBufferPointer, _ layout: FrameLayout) throws(MediaError) {
        do throws(SessionError) {
            try layout.validate(format, width: width, height: height, poolSize: UInt64(memory.count))
        } catch { throw MediaError(.usage, error.reason) }
        guard let base = memory.baseAddress else { throw MediaError(.usage, "the memory for a frame is empty") }
        let target = PlaneTarget(
            format: format, width: width, height: height, planes: layout.mutablePlanes(at: base))
        let isCopied: Bool? = samples.withLock { $0.map { $0.copy(to: target) } }
        guard let isCopied else { throw MediaError(.usage, "frame \(index) is already released") }
        if !isCopied { throw MediaError(.badInput, "frame \(index) cannot be converted to \(format.rawValue)") }
    }
}

/// The position of a frame in its stream.
struct FrameTiming: Hashable, Sendable {
    var index: Int
    var pts: Int64
    var duration: Int64
    var isKeyFrame: Bool
}

/// The planes that a picture is written to; the caller guarantees exclusive access during the call.
package struct PlaneTarget: @unchecked Sendable {
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

/// The owner of a frame's samples.
enum FrameSamples: Sendable {
    /// A decoder's picture.
    case picture(PictureOwner)
    /// Samples without gaps between rows and planes, from Y4M.
    case packed(PackedSamples)

    func copy(to target: PlaneTarget) -> Bool {
        switch self {
        case .picture(let picture): picture.copy(to: target)
        case .packed(let samples): samples.copy(to: target)
        }
    }
}

/// Owner of an AVFrame; `DecodedFrame` uses it under its lock alone, so it may cross threads.
final class PictureOwner: @unchecked Sendable {
    private let frame: UnsafeMutablePointer<AVFrame>
    /// nil where the picture is already in the frame's format.
    private let converter: (any PictureConverter)?

    /// Moves the references out of `source`; nil when memory runs out.
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
