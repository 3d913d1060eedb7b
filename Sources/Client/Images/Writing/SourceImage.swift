// SPDX-License-Identifier: MIT
public import HWClient
public import HWDHEIF
public import HWDModel

/// A picture to write: samples of 4:2:0, what they mean, and the pictures that belong to it.
///
/// Its samples are copied when it is made, and not changed later. RGB becomes 4:2:0 by an `AsyncTransferSession`.
public struct SourceImage: @unchecked Sendable {
    /// Width in luma samples.
    public var width: Int { canvas.width }
    /// Height in luma samples.
    public var height: Int { canvas.height }
    /// Bits of a sample, 8 or 10.
    public var bitDepth: Int { canvas.format.bitDepth }
    /// How the samples are read.
    public var color: ColorDescription
    /// An ICC profile of at most 4 MiB, which describes the color in place of the primaries and the transfer function.
    public var iccProfile: [UInt8]?
    /// How the picture is turned when it is shown: mirrored, then in quarter turns counter-clockwise.
    public var orientation = Orientation.upright
    /// Alpha of the picture's size; the planes of `yuva` have one.
    public var alpha: GrayImage?
    /// Whether the samples are multiplied by alpha.
    public var isPremultiplied = false
    /// Depth of any size.
    public var depth: GrayImage?
    /// What the samples of `depth` stand for; nil where that is not known.
    public var depthRange: DepthRange?
    /// A gain map of any size, as cameras of Apple write it.
    public var gainMap: GrayImage?
    /// `yu12` or `i010`; nothing writes it any more.
    let canvas: StillCanvas

    /// sRGB with the matrix of BT.601 at full range, as most still pictures have it.
    public static let sRGB = PictureColor.usual

    /// Copies planes.
    ///
    /// - Parameters:
    ///   - format: `yu12`, `i010`, `nv12`, `p010` or `yuva`.
    ///   - width: in luma samples, 1 to 65,536.
    ///   - height: in luma samples, 1 to 65,536.
    ///   - planes: the format's planes in its order, each from the first sample to the last; they are read during the call.
    ///   - strides: bytes from the start of a row to the next, of each plane.
    ///   - color: how the samples are read.
    /// - Throws: `parameter` for another format, a size that is not possible, and planes that do not hold their rows;
    ///   `unsupported` for more than 268 megasamples.
    public init(
        _ format: PixelFormat, width: Int, height: Int, planes: [UnsafeRawBufferPointer], strides: [Int],
        color: ColorDescription = sRGB
    ) throws(ImageError) {
        guard format.isYCbCr else {
            throw ImageError(.parameter, "pictures of \(format.rawValue) must be converted to 4:2:0 first")
        }
        guard planes.count == format.planeCount, strides.count == format.planeCount else {
            throw ImageError(
                .parameter,
                "\(format.rawValue) has \(format.planeCount) planes, not \(planes.count) with \(strides.count) strides"
            )
        }
        try SamplePlanes.check(width: width, height: height)
        let source = SamplePlanes(bytes: planes, strides: strides)
        for index in planes.indices {
            try source.check(
                index, rowBytes: format.rowBytes(plane: index, width: width),
                rows: format.rows(plane: index, height: height))
        }
        canvas = try StillCanvas(format.bitDepth > 8 ? .i010 : .yu12, width: width, height: height)
        self.color = color
        canvas.copy(source, format)
        if format == .yuva { alpha = try GrayImage(planes[3], width: width, height: height, stride: strides[3]) }
    }

    /// Copies planes.
    ///
    /// - Throws: as for memory.
    public init(
        _ format: PixelFormat, width: Int, height: Int, planes: [[UInt8]], strides: [Int],
        color: ColorDescription = sRGB
    ) throws(ImageError) {
        func make(_ known: [UnsafeRawBufferPointer]) -> Result<SourceImage, ImageError> {
            guard known.count < planes.count else {
                return Result { () throws(ImageError) in
                    try SourceImage(
                        format, width: width, height: height, planes: known, strides: strides, color: color)
                }
            }
            return planes[known.count].withUnsafeBytes { make(known + [$0]) }
        }
        self = try make([]).get()
    }

    /// Copies the planes of a buffer, such as a converter's.
    ///
    /// - Parameters:
    ///   - buffer: its format is `yu12`, `i010`, `nv12`, `p010` or `yuva`.
    ///   - color: how the samples are read, which a buffer does not say. The color of what an `AsyncTransferSession` returns
    ///     depends on the session's destination properties, such as `destinationColorPrimaries`.
    /// - Throws: as for memory.
    public init(_ buffer: PixelBuffer, color: ColorDescription) throws(ImageError) {
        let (format, width, height) = (buffer.format, buffer.width, buffer.height)
        self = try buffer.withPlanes { (planes) throws(ImageError) in
            try SourceImage(
                format, width: width, height: height, planes: planes.map(\.bytes), strides: planes.map(\.stride),
                color: color)
        }
    }

    /// Copies a decoded picture with its color and its alpha.
    ///
    /// - Throws: `unsupported` where memory is short.
    public init(_ image: DecodedImage) throws(ImageError) {
        self = try image.withPlanes { (planes) throws(ImageError) in
            try SourceImage(
                image.format, width: image.width, height: image.height, planes: planes.map(\.bytes),
                strides: planes.map(\.stride), color: image.color)
        }
        (iccProfile, isPremultiplied) = (image.iccProfile, image.alphaMode == .premultiplied)
    }

    /// The samples for the encoder.
    ///
    /// - Throws: `parameter` for an alpha of another size, and an ICC profile that is too large.
    package func pixels() throws(ImageError) -> StillPixels {
        if let alpha, (alpha.width, alpha.height) != (width, height) {
            throw ImageError(
                .parameter, "the alpha is \(alpha.width)x\(alpha.height), its picture \(width)x\(height)")
        }
        if let iccProfile, !(1...HEIFLimits.profileSize).contains(iccProfile.count) {
            throw ImageError(
                .parameter,
                "an ICC profile of \(iccProfile.count) bytes is not possible: 1 to \(HEIFLimits.profileSize) are")
        }
        var pixels = StillPixels(canvas: canvas, color: color)
        (pixels.alpha, pixels.isPremultiplied, pixels.profile) = (alpha?.canvas, isPremultiplied, iccProfile)
        return pixels
    }
}

extension StillCanvas {
    /// Copies the planes of Y', Cb and Cr, which were checked.
    fileprivate func copy(_ source: SamplePlanes, _ format: PixelFormat) {
        guard format.isSemiPlanar else {
            for (index, target) in planes.enumerated() {
                target.copyRows(
                    of: source.view(index), rowBytes: format.rowBytes(plane: index, width: width),
                    rows: format.rows(plane: index, height: height))
            }
            return
        }
        for (index, target) in planes.enumerated() {
            let (from, isChroma) = (source.view(min(index, 1)), index > 0)
            let columns = isChroma ? (width + 1) / 2 : width
            let (step, first) = isChroma ? (2, index - 1) : (1, 0)
            for row in 0..<format.rows(plane: index, height: height) {
                let (line, result) = (from.base + row * from.stride, target.base + row * target.stride)
                for column in 0..<columns {
                    let place = column * step + first
                    if format.bytesPerSample == 2 {
                        // P010 has its bits at the high end.
                        let sample = line.loadUnaligned(fromByteOffset: 2 * place, as: UInt16.self) >> 6
                        result.storeBytes(of: sample, toByteOffset: 2 * column, as: UInt16.self)
                    } else {
                        result.storeBytes(
                            of: line.load(fromByteOffset: place, as: UInt8.self), toByteOffset: column,
                            as: UInt8.self)
                    }
                }
            }
        }
    }
}
