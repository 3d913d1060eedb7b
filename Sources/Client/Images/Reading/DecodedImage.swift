// SPDX-License-Identifier: MIT
public import HWClient
public import HWDModel

/// A decoded picture, or a part of one, upright: turned and cropped as its file says.
///
/// Its samples are in memory of its own. They are not changed, so tasks may share it.
public final class DecodedImage: @unchecked Sendable {
    /// What decoded a picture.
    public struct Decoder: Hashable, Sendable {
        /// The decoder's id, as `Daemon.decoders()` lists it.
        public var id: String
        /// Whether it is hardware.
        public var usingHardware: Bool
        /// Why it is no hardware; nil where it is, or none was wanted.
        public var fallbackReason: String?
    }

    /// `yu12`, `i010` or `yuva`.
    public let format: PixelFormat
    /// Width in luma samples.
    public let width: Int
    /// Height in luma samples.
    public let height: Int
    /// How the samples are read: that of the file, else that of the stream, else sRGB with the matrix of BT.601 at full range.
    public let color: ColorDescription
    /// The ICC profile of the file, which describes the color in place of the primaries and the transfer function.
    public let iccProfile: [UInt8]?
    /// Whether the samples are multiplied by alpha; nil without alpha.
    public let alphaMode: AlphaChannelMode?
    /// The decoder of the first tile; nil for a picture without coded samples.
    public let decoder: Decoder?
    /// Coded pictures, such as tiles, that were decoded.
    public let decodedCount: Int
    /// Nothing writes it any more.
    let canvas: StillCanvas

    init(_ canvas: StillCanvas, _ color: PictureColor, _ alphaMode: AlphaChannelMode?, _ tiles: StillTiles) {
        self.canvas = canvas
        (format, width, height) = (canvas.format, canvas.width, canvas.height)
        (self.color, iccProfile, self.alphaMode) = (color.color, color.profile, alphaMode)
        decoder = tiles.decoder.map {
            Decoder(id: $0.id, usingHardware: $0.isHardware, fallbackReason: $0.reason)
        }
        decodedCount = tiles.count
    }

    /// Calls `body` with the planes of the format, in its order; they are valid during the call.
    public func withPlanes<Value, Failure: Error>(
        _ body: ([PixelBuffer.Plane]) throws(Failure) -> Value
    ) throws(Failure) -> Value { try canvas.withPlanes(body) }
}

extension StillCanvas {
    /// Calls `body` with the planes; they are valid during the call.
    func withPlanes<Value, Failure: Error>(
        _ body: ([PixelBuffer.Plane]) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let planes = layout.planes.enumerated().map { index, plane in
            let (rowBytes, rows) = (
                format.rowBytes(plane: index, width: width), format.rows(plane: index, height: height)
            )
            let range = Int(plane.offset)..<Int(plane.offset) + (rows - 1) * Int(plane.stride) + rowBytes
            return PixelBuffer.Plane(
                bytes: UnsafeRawBufferPointer(rebasing: memory[range]), stride: Int(plane.stride),
                rowBytes: rowBytes,
                rowCount: rows)
        }
        return try withExtendedLifetime(self) { () throws(Failure) in try body(planes) }
    }
}
