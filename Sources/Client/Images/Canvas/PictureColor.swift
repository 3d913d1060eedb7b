// SPDX-License-Identifier: MIT
package import HWDHEIF
internal import HWDHEVC
package import HWDModel

/// The color of a picture of a HEIF file: code points of the item first, then those of its stream, then sRGB.
package struct PictureColor: Sendable {
    /// How its samples are read.
    package let color: ColorDescription
    /// Its ICC profile; nil without one.
    package let profile: [UInt8]?

    /// sRGB with the matrix of BT.601 (ISO/IEC 23000-22 7.3.6.4).
    package static let usual = ColorDescription(primaries: 1, transfer: 13, matrix: 6, isFullRange: true)

    /// - Parameters:
    ///   - picture: the picture as it is shown.
    ///   - coded: the first coded picture that it is made of.
    package init(_ picture: PictureDescription, coded: PictureDescription?) {
        let colors = picture.colors + (coded?.colors ?? [])
        var (profile, points): ([UInt8]?, ColorInformation.CodePoints?)
        for color in colors {
            switch color {
            case .profile(let bytes, _): profile = profile ?? bytes
            case .codePoints(let stated): points = points ?? stated
            case .other: break
            }
        }
        self.profile = profile
        let stream = Self.stream(coded ?? picture)
        guard let points else {
            color = stream ?? Self.usual
            return
        }
        func code(_ value: Int, _ usual: UInt8) -> UInt8 {
            let code = UInt8(exactly: value) ?? ColorDescription.unspecified
            return code == ColorDescription.unspecified ? usual : code
        }
        color = ColorDescription(
            primaries: code(points.primaries, Self.usual.primaries),
            transfer: code(points.transfer, Self.usual.transfer), matrix: code(points.matrix, Self.usual.matrix),
            isFullRange: points.isFullRange, chromaLocation: stream?.chromaLocation)
    }

    /// What the VUI of an HEVC picture states; nil for other codecs.
    ///
    /// Without a statement the range is the video one (H.265 E.3.1), as libheif and FFmpeg read such files.
    private static func stream(_ picture: PictureDescription) -> ColorDescription? {
        let units = picture.hevc?.arrays.first { $0.nalUnitType == .sps }?.nalUnits
        guard let unit = units?.first, let sps = try? SequenceParameterSet(nal: unit) else { return nil }
        var color = usual
        color.isFullRange = sps.isFullRange
        guard let stated = sps.colourDescription else { return color }
        func code(_ value: Int, _ usual: UInt8) -> UInt8 {
            let code = UInt8(exactly: value) ?? ColorDescription.unspecified
            return code == ColorDescription.unspecified ? usual : code
        }
        color.primaries = code(stated.colourPrimaries, usual.primaries)
        color.transfer = code(stated.transferCharacteristics, usual.transfer)
        color.matrix = code(stated.matrixCoeffs, usual.matrix)
        return color
    }

    /// Y', Cb and Cr of a color.
    /// - Parameters:
    ///   - color: red, green and blue in 16 bits.
    ///   - depth: bits of a sample of the result.
    package func samples(of color: [UInt16], depth: Int) -> [Int] {
        let (red, green, blue) = (Double(color[0]) / 65535, Double(color[1]) / 65535, Double(color[2]) / 65535)
        // H.273 8.3.
        let (kr, kb): (Double, Double) =
            switch self.color.matrix {
            case 1: (0.2126, 0.0722)
            case 9, 10: (0.2627, 0.0593)
            default: (0.299, 0.114)
            }
        let luma = kr * red + (1 - kr - kb) * green + kb * blue
        let chroma = [(blue - luma) / (2 * (1 - kb)), (red - luma) / (2 * (1 - kr))]
        let (most, scale) = (Double((1 << depth) - 1), Double(1 << (depth - 8)))
        let isFull = self.color.isFullRange
        let values =
            [isFull ? luma * most : (16 + 219 * luma) * scale]
            + chroma.map { Double(1 << (depth - 1)) + (isFull ? $0 * most : $0 * 224 * scale) }
        return values.map { Int(min(max($0.rounded(), 0), most)) }
    }
}
