// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDLibAV
public import HWDMetadata
public import HWDModel
public import HWDTransport
internal import Synchronization

/// A decoded frame, from its decoder to what it is written or sent to.
///
/// A value: what edits a video passes on a changed copy, whose samples are the same or others.
@dynamicMemberLookup
public struct SourceFrame {
    /// Where its samples are.
    public enum Place {
        /// In memory that is shared with the daemon, under the number that the memory has for its sessions.
        case shared(SharedMemory, number: UInt32, FrameLayout)
        /// In this process, as it was decoded or read.
        case local(DecodedSamples)
    }

    /// The number of frames before it.
    public var index: Int
    /// Presentation time after the preceding frame's, size, format, color and metadata.
    public var info: FrameInfo
    /// How its colors relate to its alpha; nil where it has no alpha.
    public var alphaMode: AlphaChannelMode?
    /// Whether a session has mapped it by its RPU.
    public var isMapped = false
    /// The factors by which its picture was scaled, where its metadata are still those of the source; nil elsewhere.
    public var scale: (horizontal: Double, vertical: Double)?
    public var place: Place
    /// Releases the samples, which may be overwritten afterwards; callable on any thread for samples of this process.
    public var release: () throws -> Void

    /// A frame whose samples `release` returns to their owner.
    public init(
        index: Int, _ info: FrameInfo, alphaMode: AlphaChannelMode?, place: Place,
        release: @escaping () throws -> Void
    ) {
        (self.index, self.info, self.alphaMode) = (index, info, alphaMode)
        (self.place, self.release) = (place, release)
    }

    /// A frame that this process decoded or read.
    init(index: Int, _ info: FrameInfo, alphaMode: AlphaChannelMode?, _ samples: DecodedSamples) {
        self.init(index: index, info, alphaMode: alphaMode, place: .local(samples), release: samples.release)
    }

    /// Time, size, format, color and metadata.
    public subscript<Value>(dynamicMember member: KeyPath<FrameInfo, Value>) -> Value { info[keyPath: member] }

    /// The slot of the caller's memory that it was decoded or read into; nil elsewhere, and when it must be copied.
    public var direct: DirectFrame? {
        if case .local(let samples) = place { samples.direct } else { nil }
    }

    /// Copies the frame into `slot`, with rows aligned to 64 bytes, and converts it where the stream requires that.
    ///
    /// - Returns: the planes, with offsets from the pool's start.
    /// - Throws: `usage` when the slot is too small or the frame was released; `badInput` when conversion fails.
    @discardableResult
    public func copy(to slot: FrameSlot) throws(MediaError) -> FrameLayout {
        let packed = FrameLayout.packed(info.format, width: info.width, height: info.height)
        guard packed.size <= slot.byteCount else {
            throw MediaError(.usage, "a slot of \(slot.byteCount) bytes cannot hold a frame of \(packed.size)")
        }
        try copy(to: UnsafeMutableRawBufferPointer(start: slot.base, count: slot.byteCount), packed.layout)
        return packed.layout.moved(by: slot.poolOffset)
    }

    /// Copies the frame into `memory` in the given layout, with offsets from the memory's start.
    ///
    /// - Throws: `usage` when the layout does not fit or the frame was released; `badInput` when conversion fails.
    public func copy(to memory: UnsafeMutableRawBufferPointer, _ layout: FrameLayout) throws(MediaError) {
        do throws(SessionError) {
            try layout.validate(
                info.format, width: info.width, height: info.height, poolSize: UInt64(memory.count))
        } catch { throw MediaError(.usage, error.reason) }
        guard let base = memory.baseAddress else { throw MediaError(.usage, "the memory for a frame is empty") }
        let target = PlaneTarget(
            format: info.format, width: info.width, height: info.height, planes: layout.mutablePlanes(at: base))
        let isCopied: Bool?
        switch place {
        case .shared(let memory, _, let layout):
            isCopied = memory.bytes.baseAddress.map { target.fill(from: layout.planes(at: $0)) }
        case .local(let samples): isCopied = samples.copy(to: target)
        }
        guard let isCopied else { throw MediaError(.usage, "frame \(index) is already released") }
        if !isCopied {
            throw MediaError(.badInput, "frame \(index) cannot be converted to \(info.format.rawValue)")
        }
    }
}

/// Owner of the samples of one frame until `release()` or deinitialization; may be released on any thread.
public final class DecodedSamples: Sendable {
    /// The slot of the caller's memory that they were decoded or read into; nil when they must be copied.
    public let direct: DirectFrame?
    private let picture: Mutex<(any PictureSamples)?>

    init(_ picture: any PictureSamples, direct: DirectFrame?) {
        self.picture = Mutex(picture)
        self.direct = direct
    }

    /// Releases the samples: the slot of `direct` may be overwritten.
    public func release() {
        // Freed after the lock: the memory's owner is called.
        let released = picture.withLock { picture -> (any PictureSamples)? in
            defer { picture = nil }
            return picture
        }
        _ = released
    }

    /// Whether the samples were copied, and converted where the stream requires that; nil when they were released.
    fileprivate func copy(to target: PlaneTarget) -> Bool? {
        picture.withLock { $0.map { $0.copy(to: target) } }
    }
}

/// Samples as a decoder or a file has them.
protocol PictureSamples: Sendable {
    /// Copies them in the target's format; false where they cannot be converted.
    func copy(to target: PlaneTarget) -> Bool
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

/// Owner of an AVFrame; `DecodedSamples` uses it under its lock alone, so it may cross threads.
final class PictureOwner: PictureSamples, @unchecked Sendable {
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
