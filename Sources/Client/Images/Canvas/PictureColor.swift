// SPDX-License-Identifier: MIT
package import HWDHEIF
package import HWDModel

/// The color of a picture of a HEIF file, for all that read its samples.
///
/// Each value is that of the first that states it: the `nclx` of the picture, that of the coded picture it is made of, the
/// stream's header (the VUI of HEVC and H.264, the sequence header of AV1, JFIF), then sRGB with the matrix of BT.601. The
/// range is `nclx`'s where there is one, else the stream's, which is video where it states none (H.265 E.3.1). An ICC
/// profile describes primaries and transfer function beside them; it says nothing of matrix and range.
package struct PictureColor: Sendable {
    /// How its samples are read.
    package let color: ColorDescription
    /// Its ICC profile; nil without one.
    package let profile: [UInt8]?
    /// Bits of a sample.
    package let bitDepth: Int
    /// `chroma_format_idc` of the coded picture; nil where its configuration does not say.
    package let chromaFormat: Int?

    /// sRGB with the matrix of BT.601 (ISO/IEC 23000-22 7.3.6.4).
    package static let usual = ColorDescription(primaries: 1, transfer: 13, matrix: 6, isFullRange: true)

    /// Matrices by which 4:2:0 is converted to RGB and among each other: those with weights of red and blue.
    private static let weighted: Set<UInt8> = [1, 2, 4, 5, 6, 7, 9]

    /// - Parameters:
    ///   - picture: the picture as it is shown.
    ///   - coded: the first coded picture that it is made of.
    ///   - data: the first bytes of that one, where `needsDataForSignal` asks for them.
    package init(_ picture: PictureDescription, coded: PictureDescription?, data: [UInt8] = []) {
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
        let signal = (coded ?? picture).signal(data: data)
        let depths = (coded?.bitDepths ?? picture.bitDepths ?? [signal?.bitDepth ?? 8]).max() ?? 8
        (bitDepth, chromaFormat) = (depths, signal?.chromaFormat)
        func code(_ stated: Int?, _ coded: UInt8?, _ usual: UInt8) -> UInt8 {
            let codes = [stated.flatMap { UInt8(exactly: $0) }, coded]
            return codes.compactMap { $0 }.first { $0 != ColorDescription.unspecified } ?? usual
        }
        color = ColorDescription(
            primaries: code(points?.primaries, signal?.color.primaries, Self.usual.primaries),
            transfer: code(points?.transfer, signal?.color.transfer, Self.usual.transfer),
            matrix: code(points?.matrix, signal?.color.matrix, Self.usual.matrix),
            isFullRange: points?.isFullRange ?? signal?.color.isFullRange ?? Self.usual.isFullRange,
            chromaLocation: signal?.color.chromaLocation)
    }

    private init(_ other: PictureColor, color: ColorDescription) {
        (self.color, profile) = (color, other.profile)
        (bitDepth, chromaFormat) = (other.bitDepth, other.chromaFormat)
    }

    /// The same picture in samples of another matrix and range.
    package func with(_ samples: ColorDescription) -> PictureColor {
        var color = color
        (color.matrix, color.isFullRange) = (samples.matrix, samples.isFullRange)
        color.chromaLocation = samples.chromaLocation
        return PictureColor(self, color: color)
    }

    /// Whether 4:2:0 samples of the color are converted by weights of red and blue; GBR and YCgCo are not.
    var isWeighted: Bool { Self.weighted.contains(color.matrix) }

    /// The color of 4:2:0 that is made of RGB for this picture.
    var ofRGB: PictureColor {
        var color = color
        if !isWeighted { (color.matrix, color.isFullRange) = (color.primaries == 9 ? 9 : 6, true) }
        color.chromaLocation = 1
        return PictureColor(self, color: color)
    }

    /// Whether samples of both are read alike.
    func readsLike(_ other: PictureColor) -> Bool {
        (color.matrix, color.isFullRange) == (other.color.matrix, other.color.isFullRange)
    }

    /// Y', Cb and Cr of a color.
    /// - Parameters:
    ///   - color: red, green and blue in 16 bits.
    ///   - depth: bits of a sample of the result.
    package func samples(of color: [UInt16], depth: Int) -> [Int] {
        let math = SampleMath(self.color, depth: depth)
        let values = math.samples(SIMD3(Float(color[0]), Float(color[1]), Float(color[2])) / 65535)
        return [values.x, values.y, values.z].map(math.code)
    }
}
