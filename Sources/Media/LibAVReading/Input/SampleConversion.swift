// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata
package import HWDModel

/// The conversion of a decoder's pictures to one of our formats, chosen once for a stream.
package struct SampleConversion: Sendable {
    /// The decoder's format.
    let source: AVPixelFormat
    /// The format of the frames.
    let target: PixelFormat
    /// The alpha modes; nil where alpha is dropped, or there is none.
    let alpha: AlphaConversion?
    /// The color of the frames.
    let color: ColorDescription
    /// The source's range, which a conversion from RGB changes.
    let sourceIsFullRange: Bool
    /// The conversion in one line; nil when there is none.
    let summary: String?

    /// Chooses the conversion for pictures of `source` format, described by `color`.
    /// - Throws: `unsupported` if swscale does not support the format, `badInput` if it lacks the requested alpha.
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
        if SampleFormats.native(source) != nil {
            var color = color
            if color.matrix == 0 { color.matrix = ColorDescription.unspecified }
            (self.color, sourceIsFullRange, summary) = (color, color.isFullRange, nil)
            return
        }
        try Self.checkSupported(source, path)
        sourceIsFullRange = traits.isRGB || color.isFullRange
        self.color = Self.converted(color, traits, height: height, hasAlpha: alpha != nil)
        summary = Self.summary(source, traits, target, self.color, alpha)
    }

    /// The color of frames converted from pictures with `traits`.
    private static func converted(
        _ color: ColorDescription, _ traits: SampleFormats.Traits, height: Int, hasAlpha: Bool
    ) -> ColorDescription {
        var color = color
        if traits.isRGB {
            color.matrix = color.conversionMatrix(height: height)
            // RGB without tags is sRGB, in pictures and on screens (IEC 61966-2-1); the stream's tags say so.
            if color.primaries == ColorDescription.unspecified { color.primaries = 1 }
            if color.transfer == ColorDescription.unspecified, !traits.isFloat { color.transfer = 13 }
        } else if color.matrix == 0 {
            color.matrix = ColorDescription.unspecified
        }
        // RGB is converted to video range, which the base layer of a stream with alpha has too.
        if traits.isRGB || hasAlpha { color.isFullRange = false }
        // Chroma that is not 4:2:0 yet is subsampled with H.265's default siting, left.
        if traits.chromaShift != (1, 1) { color.chromaLocation = 0 }
        return color
    }

    private static func summary(
        _ source: AVPixelFormat, _ traits: SampleFormats.Traits, _ target: PixelFormat, _ color: ColorDescription,
        _ alpha: AlphaConversion?
    ) -> String {
        var parts = [
            "\(SampleFormats.name(source)) → \(target.rawValue) (\(target.bitDepth) bit, 4:2:0)"
        ]
        if traits.isRGB { parts.append("\(matrixName(color.matrix)) matrix, video range") }
        let depth = SampleFormats.bitDepth(source)
        if depth > target.bitDepth { parts.append("\(depth) bits reduced to \(target.bitDepth)") }
        if let alpha {
            parts.append(
                alpha.isConverted(traits)
                    ? "alpha kept, colors from \(alpha.source.rawValue) to \(alpha.target.rawValue)"
                    : "alpha kept, \(alpha.source.rawValue)")
        } else if traits.hasAlpha {
            parts.append("alpha dropped")
        }
        return parts.joined(separator: ", ")
    }

    private static func checkSupported(_ format: AVPixelFormat, _ path: String) throws(MediaError) {
        guard sws_isSupportedInput(SampleFormats.withoutRange(format)) > 0 else {
            let name = SampleFormats.name(format)
            throw MediaError(.unsupported, "\(path): pictures of pixel format \(name) cannot be converted")
        }
    }

    /// The conversion to the same target for pictures in another format than the first one's.
    func adapted(to format: AVPixelFormat, height: Int, path: String) throws(MediaError) -> SampleConversion {
        format == source ? self : try SampleConversion(self, format, path)
    }

    private init(_ first: SampleConversion, _ format: AVPixelFormat, _ path: String) throws(MediaError) {
        try Self.checkSupported(format, path)
        guard first.alpha == nil || SampleFormats.traits(format).hasAlpha else {
            throw MediaError(
                .unsupported, "\(path): the alpha channel ends where pictures become \(SampleFormats.name(format))")
        }
        source = format
        (target, alpha, color, summary) = (first.target, first.alpha, first.color, first.summary)
        let isFullRange = SampleFormats.traits(format).isRGB || SampleFormats.withoutRange(format) != format
        sourceIsFullRange = isFullRange || first.color.isFullRange
    }

    /// The conversion of frames in `source` format and color to those of a session; the matrix is taken to be the same.
    package init(
        fitting source: AVPixelFormat, _ color: ColorDescription, to target: PixelFormat,
        _ targetColor: ColorDescription
    ) {
        (self.source, self.target, self.color) = (source, target, targetColor)
        sourceIsFullRange = color.isFullRange
        (alpha, summary) = (nil, nil)
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
