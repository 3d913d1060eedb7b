// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
package import HWDModel

extension ColorDescription {
    /// What a stream says of its colour; libavutil's numbers are H.273's (libavutil/pixfmt.h).
    package init(_ parameters: AVCodecParameters) {
        self.init(
            parameters.color_primaries, parameters.color_trc, parameters.color_space, parameters.color_range,
            parameters.chroma_location, AVPixelFormat(rawValue: parameters.format))
    }

    /// What a decoder says of a picture's colour.
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

    /// libavutil counts locations from 1 (left), H.265 E.3.1 from 0; its 0 is "not told".
    private static func chromaLocation(_ location: AVChromaLocation) -> UInt8? {
        guard location != AVCHROMA_LOC_UNSPECIFIED, location.rawValue <= AVCHROMA_LOC_BOTTOM.rawValue else {
            return nil
        }
        return UInt8(location.rawValue - AVCHROMA_LOC_LEFT.rawValue)
    }

    /// A code point from a number out of a file: reserved and private ones become "unspecified".
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
    /// libavutil's ratio in ours; nil for 0/0 and everything else that is no positive number.
    package init?(positive ratio: AVRational) {
        guard ratio.num > 0, ratio.den > 0 else { return nil }
        self.init(ratio.num, ratio.den)
    }

    /// The ratio in libavutil's type.
    package var libAV: AVRational { AVRational(num: numerator, den: denominator) }
}
