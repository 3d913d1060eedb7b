// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWImages

/// The samples of a picture without a header, as an input of `hwctl encode`.
struct RawStill {
    /// A 4:2:0 format.
    let format: PixelFormat
    let width: Int
    let height: Int

    /// Reads a picture at full range, without gaps between its rows; colors beside alpha are already in the mode of the options.
    ///
    /// - Throws: `badInput` for a file of another size, and for one without the alpha that is wanted; `unsupported` for
    ///   another bit depth than the samples have.
    func read(_ path: String, _ options: StillReader.Options) throws -> StillPixels {
        var (planes, strides, size) = ([Range<Int>](), [Int](), 0)
        for plane in 0..<format.planeCount {
            let row = format.rowBytes(plane: plane, width: width)
            planes.append(size..<size + row * format.rows(plane: plane, height: height))
            (strides, size) = (strides + [row], planes[plane].upperBound)
        }
        let name = "a picture of \(width)x\(height) in \(format.rawValue)"
        if let depth = options.bitDepth, depth != format.bitDepth {
            throw MediaError(
                .unsupported, "\(path): \(name) has \(format.bitDepth) bits, which do not become \(depth)")
        }
        let bytes = try WholeFile.read(path, exactly: size, for: name)
        var pixels = try SourceImage(
            format, width: width, height: height, planes: planes.map { Array(bytes[$0]) }, strides: strides,
            color: color(options)
        ).pixels()
        pixels.hasAlpha = pixels.alpha != nil
        if options.alpha == nil { pixels.alpha = nil }
        guard options.alpha == nil || pixels.hasAlpha else {
            throw MediaError(.badInput, "\(path) has no alpha: leave --alpha out")
        }
        return pixels
    }

    /// sRGB, or what is requested; the matrix is the one that pictures of RGB get.
    private func color(_ options: StillReader.Options) -> ColorDescription {
        var color = SourceImage.sRGB
        color.primaries = options.primaries ?? color.primaries
        color.transfer = options.transfer ?? color.transfer
        if color.primaries == 9 { color.matrix = 9 }
        return color
    }
}
