// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDLibAV
public import HWDMetadata
public import HWDModel

/// Frames whose size or sample format differs from that of the first, counted.
public struct FormatChanges: Hashable, Sendable {
    /// Frames of another size, which were scaled.
    public private(set) var scaled = 0
    /// Frames of another sample format, which were converted.
    public private(set) var converted = 0
    /// The first of them.
    public private(set) var first: String?

    /// No changes.
    public init() {}

    /// Counts a frame.
    mutating func note(frame: Int, width: Int, height: Int, format: String, isScaled: Bool, isConverted: Bool) {
        guard isScaled || isConverted else { return }
        if isScaled { scaled += 1 }
        if isConverted { converted += 1 }
        first = first ?? "frame \(frame) is \(width)x\(height) \(format)"
    }

    /// The sum of two, of which `other` comes second.
    public func adding(_ other: FormatChanges) -> FormatChanges {
        var sum = self
        sum.scaled += other.scaled
        sum.converted += other.converted
        sum.first = first ?? other.first
        return sum
    }

    /// A warning in one line; nil without changes.
    public func warning(width: Int, height: Int, format: String) -> String? {
        guard let first else { return nil }
        var parts: [String] = []
        if scaled > 0 { parts.append("\(scaled) frames are scaled to \(width)x\(height)") }
        if converted > 0 { parts.append("\(converted) frames are converted to \(format)") }
        return
            "warning: the picture's format changes within the input: \(parts.joined(separator: ", ")), first: \(first)"
    }
}

/// Scales and converts frames to the size and format of a video's first one, by swscale's bicubic filter.
///
/// For an encoder, whose frames cannot change. Frames that fit already need not pass through it.
public final class FrameFitter {
    /// What was fitted so far.
    public private(set) var changes: FormatChanges
    /// The color of the frames.
    public let color: ColorDescription

    private let path: String
    private let target: PlaneFormat
    private var fitting: Fitting?

    /// The size and format of a frame.
    private struct PlaneFormat: Hashable {
        var width: Int
        var height: Int
        var format: PixelFormat
    }

    /// The conversion of frames like the last one.
    private struct Fitting {
        var source: PlaneFormat
        var color: ColorDescription
        var converter: FrameConverter
        var scratch: ScratchFrame
    }

    /// Fits frames to the size and color of `video`, in `format`.
    ///
    /// - Parameters:
    ///   - path: the input's, for errors.
    ///   - changes: those of an earlier fitter, to which this one's are added.
    public init(
        _ video: VideoDescription, format: PixelFormat, path: String, changes: FormatChanges = FormatChanges()
    ) {
        self.path = path
        self.changes = changes
        target = PlaneFormat(width: video.width, height: video.height, format: format)
        color = video.color
    }

    /// Whether frames of a size and format need no fitting.
    public func fits(width: Int, height: Int, format: PixelFormat) -> Bool {
        PlaneFormat(width: width, height: height, format: format) == target
    }

    /// The factors by which frames of a size are scaled; nil where they keep it.
    public func scale(fromWidth width: Int, height: Int) -> (horizontal: Double, vertical: Double)? {
        guard (width, height) != (target.width, target.height), width > 0, height > 0 else { return nil }
        return (Double(target.width) / Double(width), Double(target.height) / Double(height))
    }

    /// Bytes of a slot for a fitted frame.
    public var slotByteCount: Int {
        FrameLayout.packed(target.format, width: target.width, height: target.height).size
    }

    /// Fits frame number `index` into `slot`; returns its planes with offsets from the pool's start.
    ///
    /// - Parameters:
    ///   - picture: the frame's samples.
    ///   - color: its color, of which the range and the chroma location matter.
    ///   - slot: the memory of the fitted frame, `slotByteCount` bytes at least.
    /// - Throws: `unsupported` where swscale does not convert such frames, `usage` for a frame outside of its memory and a
    ///   slot that is too small.
    public func fit(
        _ picture: PictureView, index: Int, color: ColorDescription, into slot: FrameSlot
    ) throws(MediaError) -> FrameLayout {
        let source = PlaneFormat(
            width: Int(picture.part.width), height: Int(picture.part.height), format: picture.format)
        let fitting = try fitting(source, color)
        let planes = fitting.scratch.planes
        let packed = FrameLayout.packed(target.format, width: target.width, height: target.height)
        guard planes.count >= source.format.planeCount else { throw unsupported(source) }
        guard packed.size <= slot.byteCount else {
            throw MediaError(.usage, "a slot of \(slot.byteCount) bytes cannot hold a frame of \(packed.size)")
        }
        for number in 0..<source.format.planeCount {
            guard let plane = picture.plane(number) else { throw MediaError(.usage, "a frame has no memory") }
            planes[number].copyRows(
                of: plane, rowBytes: source.format.rowBytes(plane: number, width: source.width),
                rows: source.format.rows(plane: number, height: source.height))
        }
        guard fitting.converter.convert(fitting.scratch.pointer, to: packed.layout.mutablePlanes(at: slot.base))
        else { throw unsupported(source) }
        changes.note(
            frame: index, width: source.width, height: source.height, format: source.format.rawValue,
            isScaled: (source.width, source.height) != (target.width, target.height),
            isConverted: source.format != target.format)
        return packed.layout.moved(by: slot.poolOffset)
    }

    private func fitting(_ source: PlaneFormat, _ color: ColorDescription) throws(MediaError) -> Fitting {
        if let fitting, fitting.source == source, fitting.color == color { return fitting }
        let format = SampleFormats.libAV(source.format)
        let geometry = FrameConverter.Geometry(
            from: (source.width, source.height), to: (target.width, target.height))
        let conversion = SampleConversion(fitting: format, color, to: target.format, self.color)
        guard let converter = FrameConverter(conversion, geometry),
            let scratch = ScratchFrame(format, width: source.width, height: source.height)
        else { throw unsupported(source) }
        let made = Fitting(source: source, color: color, converter: converter, scratch: scratch)
        fitting = made
        return made
    }

    private func unsupported(_ source: PlaneFormat) -> MediaError {
        MediaError(
            .unsupported,
            "\(path): the picture changes to \(source.width)x\(source.height) \(source.format.rawValue), which cannot be "
                + "converted to \(target.width)x\(target.height) \(target.format.rawValue)")
    }
}
