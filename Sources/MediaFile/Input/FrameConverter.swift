// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel
internal import Synchronization

/// How a decoder's pixels become one of our formats, decided once for a stream.
struct SampleConversion: Sendable {
    /// The decoder's format.
    let source: AVPixelFormat
    /// What frames are handed out in.
    let target: PixelFormat
    /// What becomes of alpha; nil where it is dropped, or there is none.
    let alpha: AlphaConversion?
    /// The colour of the frames handed out.
    let color: ColorDescription
    /// The source's range, which a conversion of RGB changes.
    let sourceIsFullRange: Bool
    /// The conversion in one line; nil when there is none.
    let sentence: String?

    /// Rows from which untagged pictures count as high definition, which is BT.709's (ITU-R BT.709 part 1).
    private static let highDefinitionHeight = 720

    /// Plans for pictures of `source` format, described by `color`; throws where swscale cannot read the format, and
    /// where `alpha` is asked for and the format has none.
    init(
        source: AVPixelFormat, color: ColorDescription, height: Int, path: String, alpha: AlphaConversion? = nil
    ) throws(MediaError) {
        self.source = source
        self.alpha = alpha
        let traits = SampleFormats.traits(source)
        guard alpha == nil || traits.hasAlpha else {
            throw MediaError(
                .badInput, "\(path) has no alpha channel: its pictures are \(SampleFormats.name(source))")
        }
        target = alpha == nil ? SampleFormats.nearest(source) : .yuva
        var color = color
        let name = SampleFormats.name(source)
        if SampleFormats.native(source) != nil {
            if color.matrix == 0 { color.matrix = ColorDescription.unspecified }
            (self.color, sourceIsFullRange, sentence) = (color, color.isFullRange, nil)
            return
        }
        sourceIsFullRange = traits.isRGB || color.isFullRange
        // The base layer of a stream with alpha is video range.
        if alpha != nil { color.isFullRange = false }
        guard sws_isSupportedInput(SampleFormats.withoutRange(source)) > 0 else {
            throw MediaError(.unsupported, "\(path): pictures of pixel format \(name) cannot be converted")
        }
        var words = ["\(name) → \(target.rawValue) (\(target.bitDepth) bit, 4:2:0)"]
        if traits.isRGB {
            if color.matrix == 0 || color.matrix == ColorDescription.unspecified {
                color.matrix = height >= Self.highDefinitionHeight ? 1 : 6
            }
            color.isFullRange = false
            words.append("\(Self.matrixName(color.matrix)) matrix, video range")
        } else if color.matrix == 0 {
            color.matrix = ColorDescription.unspecified
        }
        // Everything that is not 4:2:0 already is brought to the left siting, H.265's default.
        if traits.chromaShift != (1, 1) { color.chromaLocation = 0 }
        let depth = SampleFormats.bitDepth(source)
        if depth > target.bitDepth { words.append("\(depth) bits reduced to \(target.bitDepth)") }
        if let alpha {
            words.append(
                alpha.isConverted(traits)
                    ? "alpha kept, colours from \(alpha.source.rawValue) to \(alpha.target.rawValue)"
                    : "alpha kept, \(alpha.source.rawValue)")
        } else if traits.hasAlpha {
            words.append("alpha dropped")
        }
        self.color = color
        sentence = words.joined(separator: ", ")
    }

    /// The plan for pictures whose format is not the one the stream began with, to the same target.
    func adapted(to format: AVPixelFormat, height: Int, path: String) throws(MediaError) -> SampleConversion {
        if format == source { return self }
        guard sws_isSupportedInput(SampleFormats.withoutRange(format)) > 0 else {
            let name = SampleFormats.name(format)
            throw MediaError(.unsupported, "\(path): pictures of pixel format \(name) cannot be converted")
        }
        guard alpha == nil || SampleFormats.traits(format).hasAlpha else {
            throw MediaError(
                .unsupported, "\(path): the alpha channel ends where pictures become \(SampleFormats.name(format))")
        }
        let isFullRange = SampleFormats.traits(format).isRGB || SampleFormats.withoutRange(format) != format
        return SampleConversion(
            source: format, target: target, color: color,
            sourceIsFullRange: isFullRange || color.isFullRange, sentence: sentence, alpha: alpha)
    }

    private init(
        source: AVPixelFormat, target: PixelFormat, color: ColorDescription, sourceIsFullRange: Bool,
        sentence: String?, alpha: AlphaConversion?
    ) {
        self.alpha = alpha
        self.source = source
        self.target = target
        self.color = color
        self.sourceIsFullRange = sourceIsFullRange
        self.sentence = sentence
    }

    private static func matrixName(_ matrix: UInt8) -> String {
        switch matrix {
        case 1: "BT.709"
        case 5, 6: "BT.601"
        case 7: "SMPTE 240M"
        case 9, 10: "BT.2020"
        default: "H.273 \(matrix)"
        }
    }
}

/// Brings a decoder's pictures to the format that frames are handed out in.
protocol PictureConverter: Sendable {
    /// Converts `frame` into the planes of `target`; false when that fails.
    func convert(_ frame: UnsafeMutablePointer<AVFrame>, to target: PlaneTarget) -> Bool
}

/// Owner of a swscale context that brings pictures of one size and format to one of our formats.
///
/// Frames of one stream share it, and may be copied on different threads.
final class FrameConverter: PictureConverter {
    let plan: SampleConversion
    /// What is written.
    private let written: AVPixelFormat
    // Safe to share because `lock` is held wherever it is used.
    private nonisolated(unsafe) let context: OpaquePointer
    private let lock = Mutex(())

    /// Sets swscale up for pictures of `width`×`height`; nil when it cannot.
    ///
    /// - Parameter format: what is written, where that is not the plan's target.
    init?(_ plan: SampleConversion, width: Int, height: Int, to format: AVPixelFormat? = nil) {
        guard let context = sws_alloc_context() else { return nil }
        self.context = context
        written = format ?? SampleFormats.libAV(plan.target)
        self.plan = plan
        guard configure(width: width, height: height) else { return nil }
    }

    deinit { sws_freeContext(context) }

    private func configure(width: Int, height: Int) -> Bool {
        let source = SampleFormats.withoutRange(plan.source)
        let traits = SampleFormats.traits(source)
        // Chroma positions are in 1/256 of a luma sample; −513 leaves the choice to swscale.
        let unset: Int64 = -513
        let across: Int64 = plan.color.chromaLocation == 1 ? 128 : 0
        let isSubsampled = SampleFormats.traits(written).chromaShift == (1, 1)
        let options: [(String, Int64)] = [
            ("srcw", Int64(width)), ("srch", Int64(height)), ("dstw", Int64(width)), ("dsth", Int64(height)),
            ("src_format", Int64(source.rawValue)),
            ("dst_format", Int64(written.rawValue)),
            ("src_range", plan.sourceIsFullRange ? 1 : 0), ("dst_range", plan.color.isFullRange ? 1 : 0),
            ("src_h_chr_pos", traits.chromaShift.0 == 1 ? across : unset),
            ("src_v_chr_pos", traits.chromaShift.1 == 1 ? 128 : unset),
            ("dst_h_chr_pos", isSubsampled ? across : unset), ("dst_v_chr_pos", isSubsampled ? 128 : unset),
            ("sws_flags", Int64(SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_FULL_CHR_H_INT)),
        ]
        let raw = UnsafeMutableRawPointer(context)
        for (name, value) in options where av_opt_set_int(raw, name, value, 0) < 0 { return false }
        guard sws_init_context(context, nil, nil) >= 0 else { return false }
        // swscale numbers its tables by matrix_coefficients (swscale.h SWS_CS_*).
        let table = sws_getCoefficients(Int32(plan.color.matrix))
        let one: Int32 = 1 << 16
        _ = sws_setColorspaceDetails(
            context, table, plan.sourceIsFullRange ? 1 : 0, table, plan.color.isFullRange ? 1 : 0, 0, one, one)
        return true
    }

    func convert(_ frame: UnsafeMutablePointer<AVFrame>, to target: PlaneTarget) -> Bool {
        convert(frame, to: target.planes)
    }

    /// The same into planes of the format that is written.
    func convert(_ frame: UnsafeMutablePointer<AVFrame>, to targets: [MutablePlaneView]) -> Bool {
        let picture = frame.pointee
        let sources: [UnsafePointer<UInt8>?] = [
            UnsafePointer(picture.data.0), UnsafePointer(picture.data.1), UnsafePointer(picture.data.2),
            UnsafePointer(picture.data.3),
        ]
        let sourceStrides = [picture.linesize.0, picture.linesize.1, picture.linesize.2, picture.linesize.3]
        var planes: [UnsafeMutablePointer<UInt8>?] = targets.map { $0.base.assumingMemoryBound(to: UInt8.self) }
        var strides = targets.map { Int32($0.stride) }
        while planes.count < 4 {
            planes.append(nil)
            strides.append(0)
        }
        return lock.withLock { _ in
            sws_scale(context, sources, sourceStrides, 0, picture.height, planes, strides) == picture.height
        }
    }
}
