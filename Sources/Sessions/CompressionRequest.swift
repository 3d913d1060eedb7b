// SPDX-License-Identifier: GPL-2.0-or-later
public import Model

/// What a compression session is created for: fixed for its life.
public struct CompressionRequest: Hashable, Sendable {
    /// Luma samples a row.
    public var width: Int
    /// Rows of luma samples.
    public var height: Int
    /// The frames' layout.
    public var pixelFormat: PixelFormat
    /// Seconds that one unit of pts, dts and duration stands for.
    public var timeBase: Rational

    /// Largest width and height, a little below what level 6.2 allows (H.265 A.4.1: sqrt(8 * MaxLumaPs) is 16888).
    public static let maxDimension = 16384

    /// Checks and keeps what was asked for.
    ///
    /// - Throws: `CouldNotFindVideoEncoder` for a codec we do not have, `Parameter` for an impossible size.
    public init(
        codec: String, width: Int, height: Int, pixelFormat: String, timeBase: Rational
    ) throws(SessionError) {
        guard codec == "hevc" else {
            throw SessionError(.couldNotFindVideoEncoder, "no encoder here writes \(codec); hevc is what there is")
        }
        guard let format = PixelFormat.yCbCr.first(where: { $0.rawValue == pixelFormat }) else {
            let known = PixelFormat.yCbCr.map(\.rawValue).joined(separator: ", ")
            throw SessionError(.parameter, "pixel format \(pixelFormat) is not one of \(known)")
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
        self.timeBase = timeBase
    }
}
