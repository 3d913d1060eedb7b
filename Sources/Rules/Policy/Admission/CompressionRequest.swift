// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The immutable parameters of a compression session.
public struct CompressionRequest: Hashable, Sendable {
    /// Of the coded pictures, in luma samples.
    public var width: Int
    /// Of the coded pictures, in luma samples.
    public var height: Int
    /// Size of the frames, where they are scaled or a part of them is coded; nil where they are as large as the pictures.
    public var source: PictureSize?
    public var pixelFormat: PixelFormat
    /// Whether the codec is hevc-with-alpha, which codes the frames' alpha as a second layer.
    public var hasAlpha = false
    /// The unit of pts, dts and duration in seconds.
    public var timeBase: Rational

    /// The most pictures that may precede a picture in decoding order and follow it in output order; nil for no limit.
    ///
    /// A session that continues another's stream must not reorder more, or its decoding times would not rise.
    public var maxReorder: Int?

    /// Limit of width and height, slightly below that of level 6.2 (H.265 A.4.1: sqrt(8 * MaxLumaPs) is 16888).
    public static let maxDimension = StillTiling.maxCodedSide
    /// MaxLumaPs of level 6.2 (H.265 table A.8), which limits every buffer of a session.
    public static let maxLumaSamples = 35_651_584

    /// The codec of streams without alpha.
    public static let codec = "hevc"
    /// The codec of streams with an alpha layer.
    public static let alphaCodec = "hevc-with-alpha"

    /// Pixel formats of sessions with alpha.
    public static let alphaFormats: [PixelFormat] = [.yuva] + PixelFormat.rgb

    /// Size of the frames that the client sends.
    public var frameSize: PictureSize { source ?? PictureSize(width: width, height: height) }

    /// Whether frames are converted before they are coded.
    public var convertsFrames: Bool { pixelFormat.isRGB || source != nil }

    /// Bits of a coded sample; always 8 with alpha.
    public var bitDepth: Int { hasAlpha ? 8 : pixelFormat.bitDepth }

    /// - Throws: `CouldNotFindVideoEncoder` for an unsupported codec; `Parameter` for an unsupported pixel format or size,
    ///   or an invalid time base.
    public init(
        codec: String, width: Int, height: Int, pixelFormat: String, timeBase: Rational, maxReorder: Int? = nil,
        source: PictureSize? = nil
    ) throws(SessionError) {
        if let maxReorder, maxReorder < 0 {
            throw SessionError(.parameter, "max_reorder is \(maxReorder), which is negative")
        }
        self.maxReorder = maxReorder
        guard codec == Self.codec || codec == Self.alphaCodec else {
            throw SessionError(
                .couldNotFindVideoEncoder,
                "no encoder here supports \(codec); \(Self.codec) and \(Self.alphaCodec) are supported")
        }
        let formats = codec == Self.alphaCodec ? Self.alphaFormats : PixelFormat.yCbCr + PixelFormat.rgb
        guard let format = formats.first(where: { $0.rawValue == pixelFormat }) else {
            let known = formats.map(\.rawValue).joined(separator: ", ")
            throw SessionError(
                .parameter, "pixel format \(pixelFormat) is not one of \(known), which \(codec) supports")
        }
        guard Self.isPossible(width, height) else {
            throw SessionError(.parameter, "a picture of \(width)x\(height) exceeds H.265 level 6.2")
        }
        if let source, !Self.isPossible(source.width, source.height) {
            throw SessionError(.parameter, "a frame of \(source.width)x\(source.height) exceeds H.265 level 6.2")
        }
        self.source = source
        guard timeBase.numerator > 0 else {
            throw SessionError(.parameter, "the time base \(timeBase) is not positive")
        }
        self.width = width
        self.height = height
        self.pixelFormat = format
        hasAlpha = codec == Self.alphaCodec
        self.timeBase = timeBase
    }

    private static func isPossible(_ width: Int, _ height: Int) -> Bool {
        let possible = 1...maxDimension
        return possible.contains(width) && possible.contains(height)
            && width * height <= maxLumaSamples
    }
}
