// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel
internal import HWDPolicy

/// Writes a pic_timing message (H.265 D.2.3) before each picture of an interlaced stream.
///
/// x265 writes such messages only with HRD parameters; with its own option `interlace` it codes fields.
struct PictureTiming {
    /// `sei_payload()`: pic_struct, source_scan_type, duplicate_flag and the bit that ends the payload.
    private let payload: UInt8
    private var sample: [UInt8] = []

    /// nil where the order of fields is not known, and where x265 writes the messages.
    init?(_ configuration: EncoderConfiguration) {
        guard let detail = configuration.fieldDetail, !configuration.hasHRD else { return nil }
        // source_scan_type 0 is interlaced.
        payload = UInt8(detail.picStruct) << 4 | 1
    }

    /// Calls `handler` with the access unit behind its message.
    mutating func emit(
        _ picture: EncodedPicture, _ bytes: RawSpan, _ handler: EncodedPictureHandler
    ) throws(SessionError) {
        sample.removeAll(keepingCapacity: true)
        do throws(BitstreamError) {
            // An SEI message applies to the temporal sub-layer of its picture (7.4.2.2).
            let header = NALUnitHeader(.prefixSEI, nuhTemporalIDPlus1: Int(picture.temporalLevel) + 1)
            let unit = try SEI(header: header, messages: [SEIMessage(payloadType: 1, payload: [payload])]).nalUnit()
            try LengthPrefixedNALUnits.append(unit, to: &sample)
        } catch {
            throw SessionError(.videoEncoderMalfunction, "a pic_timing message cannot be written: \(error.reason)")
        }
        bytes.withUnsafeBytes { sample.append(contentsOf: $0) }
        try handler(picture, sample.span.bytes)
    }
}

extension FieldDetail {
    /// `pic_struct` of a frame that holds both fields (H.265 table D.2): top or bottom field first.
    var picStruct: Int { isTopFirst ? 3 : 4 }
}

extension EncoderConfiguration {
    /// Whether X265Params turn on HRD parameters, with which x265 writes pic_timing messages.
    fileprivate var hasHRD: Bool {
        x265Options.options.contains { $0.name == "hrd" && !["0", "false"].contains($0.value ?? "1") }
    }
}

extension ProfileTierLevel {
    /// Sets general_interlaced_source_flag (H.265 7.4.4).
    mutating func declareInterlacedSource() {
        general?.progressiveSourceFlag = false
        general?.interlacedSourceFlag = true
    }
}
