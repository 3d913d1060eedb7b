// SPDX-License-Identifier: GPL-2.0-or-later
internal import CLibAV
internal import Model

extension ColorDescription {
    /// What a stream says of its colour; libavutil's numbers are H.273's (libavutil/pixfmt.h).
    init(_ parameters: AVCodecParameters) {
        let format = AVPixelFormat(rawValue: parameters.format)
        let location = parameters.chroma_location
        self.init(
            primaries: Self.codePoint(parameters.color_primaries.rawValue),
            transfer: Self.codePoint(parameters.color_trc.rawValue),
            matrix: Self.codePoint(parameters.color_space.rawValue, zeroIsKnown: true),
            isFullRange: parameters.color_range == AVCOL_RANGE_JPEG
                || SampleFormats.withoutRange(format) != format,
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
    func write(to parameters: inout AVCodecParameters) {
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
    init?(positive ratio: AVRational) {
        guard ratio.num > 0, ratio.den > 0 else { return nil }
        self.init(ratio.num, ratio.den)
    }

    /// The ratio in libavutil's type.
    var libAV: AVRational { AVRational(num: numerator, den: denominator) }
}
