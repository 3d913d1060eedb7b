// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// What a compression session is created for: fixed for its life.
public struct CompressionRequest: Hashable, Sendable {
    /// Luma samples a row.
    public var width: Int
    /// Rows of luma samples.
    public var height: Int
    /// The frames' layout.
    public var pixelFormat: PixelFormat
    /// Whether the codec is hevc-with-alpha: the stream gets a second layer with the frames' alpha.
    public var hasAlpha = false
    /// Seconds that one unit of pts, dts and duration stands for.
    public var timeBase: Rational

    /// Largest width and height, a little below what level 6.2 allows (H.265 A.4.1: sqrt(8 * MaxLumaPs) is 16888).
    public static let maxDimension = 16384

    /// The codec of streams without alpha.
    public static let codec = "hevc"
    /// The codec of streams with an alpha layer.
    public static let alphaCodec = "hevc-with-alpha"

    /// What frames of sessions with alpha may be.
    public static let alphaFormats: [PixelFormat] = [.yuva] + PixelFormat.rgb

    /// Bits of a sample that the stream must hold; streams with alpha have 8, whatever the frames have.
    public var bitDepth: Int { hasAlpha ? 8 : pixelFormat.bitDepth }

    /// Checks and keeps what was asked for.
    ///
    /// - Throws: `CouldNotFindVideoEncoder` for a codec we do not have, `Parameter` for an impossible size.
    public init(
        codec: String, width: Int, height: Int, pixelFormat: String, timeBase: Rational
    ) throws(SessionError) {
        guard codec == Self.codec || codec == Self.alphaCodec else {
            throw SessionError(
                .couldNotFindVideoEncoder,
                "no encoder here writes \(codec); \(Self.codec) and \(Self.alphaCodec) are what there is")
        }
        let formats = codec == Self.alphaCodec ? Self.alphaFormats : PixelFormat.yCbCr + PixelFormat.rgb
        guard let format = formats.first(where: { $0.rawValue == pixelFormat }) else {
            let known = formats.map(\.rawValue).joined(separator: ", ")
            throw SessionError(
                .parameter, "pixel format \(pixelFormat) is not one of \(known), which \(codec) takes")
        }
        // MaxLumaPs of level 6.2 (H.265 table A.8) bounds the area, and with it every buffer of a session.
        guard (1...Self.maxDimension).contains(width), (1...Self.maxDimension).contains(height),
            width * height <= 35_651_584
        else {
            throw SessionError(.parameter, "a picture of \(width)x\(height) is outside what H.265 level 6.2 allows")
        }
        guard timeBase.numerator > 0 else {
            throw SessionError(.parameter, "the time base \(timeBase) is not positive")
        }
        self.width = width
        self.height = height
        self.pixelFormat = format
        hasAlpha = codec == Self.alphaCodec
        self.timeBase = timeBase
    }
}
