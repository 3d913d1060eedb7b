// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
package import HWDModel

extension ColorDescription {
    /// The color that a stream's parameters declare; libavutil uses the code points of H.273 (libavutil/pixfmt.h).
    package init(_ parameters: AVCodecParameters) {
        self.init(
            parameters.color_primaries, parameters.color_trc, parameters.color_space, parameters.color_range,
            parameters.chroma_location, AVPixelFormat(rawValue: parameters.format))
    }

    /// The color that a decoder declares for a picture.
    package init(_ frame: AVFrame) {
        self.init(
            frame.color_primaries, frame.color_trc, frame.colorspace, frame.color_range, frame.chroma_location,
            AVPixelFormat(rawValue: frame.format))
    }

    private init(
        _ primaries: AVColorPrimaries, _ transfer: AVColorTransferCharacteristic, _ space: AVColorSpace,
        _ range: AVColorRange, _ location: AVChromaLocation, _ format: AVPixelFormat
    ) {
        self.init(
            primaries: Self.codePoint(primaries.rawValue),
            transfer: Self.codePoint(transfer.rawValue),
            matrix: Self.codePoint(space.rawValue, zeroIsKnown: true),
            isFullRange: range == AVCOL_RANGE_JPEG || SampleFormats.withoutRange(format) != format,
            chromaLocation: Self.chromaLocation(location))
    }

    /// libavutil counts locations from 1 (left) and uses 0 for "unspecified"; H.265 E.3.1 counts from 0.
    private static func chromaLocation(_ location: AVChromaLocation) -> UInt8? {
        guard location != AVCHROMA_LOC_UNSPECIFIED, location.rawValue <= AVCHROMA_LOC_BOTTOM.rawValue else {
            return nil
        }
        return UInt8(location.rawValue - AVCHROMA_LOC_LEFT.rawValue)
    }

    /// A code point that a file declares; reserved and private ones become "unspecified".
    private static func codePoint(_ value: UInt32, zeroIsKnown: Bool = false) -> UInt8 {
        guard value <= 22, value != 0 || zeroIsKnown else { return unspecified }
        return value == 3 ? unspecified : UInt8(value)
    }

    /// Writes the description into the fields a muxer reads.
    package func write(to parameters: inout AVCodecParameters) {
        parameters.color_primaries = AVColorPrimaries(rawValue: UInt32(primaries))
        parameters.color_trc = AVColorTransferCharacteristic(rawValue: UInt32(transfer))
        parameters.color_space = AVColorSpace(rawValue: UInt32(matrix))
        parameters.color_range = isFullRange ? AVCOL_RANGE_JPEG : AVCOL_RANGE_MPEG
        parameters.chroma_location =
            chromaLocation.map {
                AVChromaLocation(rawValue: UInt32($0) + AVCHROMA_LOC_LEFT.rawValue)
            } ?? AVCHROMA_LOC_UNSPECIFIED
    }
}

extension Rational {
    /// A positive ratio of libavutil's; nil for 0/0 and everything else that is not positive.
    package init?(positive ratio: AVRational) {
        guard ratio.num > 0, ratio.den > 0 else { return nil }
        self.init(ratio.num, ratio.den)
    }

    /// The ratio in libavutil's type.
    package var libAV: AVRational { AVRational(num: numerator, den: denominator) }
}
