// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

/// The buffers that go to the driver with every key frame; their content does not change.
final class KeyFrameBuffers {
    /// The sequence's parameters, which come first.
    var parameters: VABufferID { sequence.id }
    /// The miscellaneous parameters other than rate control's, after the picture's parameters and before packed headers.
    let others: [VABufferID]
    /// The decoder's buffer; nil where there is no rate.
    let decoderBuffer: VABufferID?
    /// The packed parameter sets.
    let headers: [VABufferID]

    private let sequence: Buffer
    private let frameRate: MiscParameter
    private let hrd: MiscParameter
    private let quality: MiscParameter
    private let parameterSets: [PackedHeader]

    init(_ display: Display, _ context: VAContextID, _ settings: EncoderSettings) throws(VAError) {
        sequence = try Buffer(
            display, context, VAEncSequenceParameterBufferType,
            size: MemoryLayout<VAEncSequenceParameterBufferHEVC>.size)
        try sequence.write(VAEncSequenceParameterBufferHEVC(settings))
        frameRate = try MiscParameter(
            display, context, VAEncMiscParameterTypeFrameRate, VAEncMiscParameterFrameRate(settings.frameRate))
        hrd = try MiscParameter(
            display, context, VAEncMiscParameterTypeHRD, VAEncMiscParameterHRD(settings.rate))
        var level = VAEncMiscParameterBufferQualityLevel()
        level.quality_level = UInt32(settings.qualityLevel ?? 0)
        quality = try MiscParameter(display, context, VAEncMiscParameterTypeQualityLevel, level)
        parameterSets = try Self.packParameterSets(display, context, settings)

        decoderBuffer = settings.rate.bufferBits > 0 ? hrd.id : nil
        others = [frameRate.id] + (settings.qualityLevel != nil ? [quality.id] : [])
        headers = parameterSets.flatMap(\.ids)
    }

    /// The parameter sets that the driver takes, one NAL unit in each buffer.
    private static func packParameterSets(
        _ display: Display, _ context: VAContextID, _ settings: EncoderSettings
    ) throws(VAError) -> [PackedHeader] {
        let types = [
            (VA_ENC_PACKED_HEADER_SEQUENCE, VAEncPackedHeaderSequence),
            (VA_ENC_PACKED_HEADER_SEQUENCE, VAEncPackedHeaderSequence),
            (VA_ENC_PACKED_HEADER_PICTURE, VAEncPackedHeaderPicture),
        ]
        var headers: [PackedHeader] = []
        for ((bit, type), unit) in zip(types, settings.parameterSets)
        where settings.packedHeaders & UInt32(bit) != 0 {
            headers.append(try PackedHeader(display, context, type, nalUnit: unit))
        }
        return headers
    }
}

extension VAEncMiscParameterFrameRate {
    /// Frames a second (va.h): numerator in the low 16 bits, denominator in the high 16; rounded where one does not fit.
    init(_ rate: Rational) {
        self.init()
        let limit = Int32(UInt16.max)
        if rate.numerator <= limit, rate.denominator <= limit {
            framerate = UInt32(rate.denominator) << 16 | UInt32(rate.numerator)
        } else {
            framerate = UInt32(max(1, min(Double(limit), rate.value.rounded())))
        }
    }
}

extension VAEncMiscParameterHRD {
    /// The decoder's buffer (H.265 annex C), three quarters full when decoding starts.
    init(_ rate: RateSettings) {
        self.init()
        buffer_size = rate.bufferBits
        initial_buffer_fullness = UInt32(min(UInt64(rate.bufferBits) * 3 / 4, Self.maxFullness))
    }

    /// Mesa shifts the fullness left by 6 in 32 bits (picture_hevc_enc.c).
    private static let maxFullness: UInt64 = (1 << 26) - 1
}
