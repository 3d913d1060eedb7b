// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDCoding
internal import HWDHEVC

/// A packed header: its description and its bytes.
final class PackedHeader {
    private let description: Buffer
    private let data: Buffer

    /// Bytes of the NAL unit, the only part of the description that differs between headers of one type.
    private let count: Int

    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// - Parameter nalUnit: without start code, with emulation prevention.
    init(
        _ display: Display, _ context: VAContextID, _ type: VAEncPackedHeaderType, nalUnit: [UInt8]
    ) throws(VAError) {
        let bytes = Self.startCode + nalUnit
        count = nalUnit.count
        description = try Buffer(
            display, context, VAEncPackedHeaderParameterBufferType,
            size: MemoryLayout<VAEncPackedHeaderParameterBuffer>.size)
        var parameters = VAEncPackedHeaderParameterBuffer()
        parameters.type = type.rawValue
        // The length of a slice header includes its byte_alignment().
        parameters.bit_length = UInt32(bytes.count * 8)
        parameters.has_emulation_bytes = 1
        try description.write(parameters)
        data = try Buffer(display, context, VAEncPackedHeaderDataBufferType, bytes: bytes)
    }

    /// Overwrites the header with another of the same type and length; false where the length differs.
    ///
    /// Drivers take the buffer's size as the header's, so a shorter header cannot reuse a longer buffer.
    func replace(nalUnit: [UInt8]) throws(VAError) -> Bool {
        guard nalUnit.count == count else { return false }
        let mapped = try data.map()
        nalUnit.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return }
            (mapped.base + Self.startCode.count).copyMemory(from: start, byteCount: bytes.count)
        }
        mapped.end()
        return true
    }

    var ids: [VABufferID] { [description.id, data.id] }
}

/// A miscellaneous parameter (`VAEncMiscParameterBuffer`).
struct MiscParameter: ~Copyable {
    private let buffer: Buffer
    var id: VABufferID { buffer.id }

    init<Parameters>(
        _ display: Display, _ context: VAContextID, _ type: VAEncMiscParameterType, _ parameters: Parameters
    ) throws(VAError) {
        let buffer = try Buffer(
            display, context, VAEncMiscParameterBufferType,
            size: Self.offset + MemoryLayout<Parameters>.size)
        try buffer.write(type.rawValue)
        try buffer.write(parameters, at: Self.offset)
        self.buffer = buffer
    }

    /// Overwrites the parameters.
    func write<Parameters>(_ parameters: Parameters) throws(VAError) {
        try buffer.write(parameters, at: Self.offset)
    }

    /// The parameters follow the type, the only member of the structure that Swift imports.
    private static let offset = MemoryLayout<VAEncMiscParameterBuffer>.size
}

/// The buffers of one picture in flight; reused for later pictures.
final class PictureSlot {
    /// The buffer that the coded picture is written to.
    let coded: Buffer
    let picture: Buffer
    let slice: Buffer
    let rateControl: MiscParameter
    /// The packed slice header; nil before the first, and where the driver takes none.
    var sliceHeader: PackedHeader?

    /// The picture that is being coded; nil while the slot is free.
    var planned: PlannedPicture?
    /// The surface that it is coded from.
    var source = VASurfaceID()
    /// The surface that it is reconstructed to.
    var reconstruction = VASurfaceID()

    init(_ display: Display, _ context: VAContextID, _ settings: EncoderSettings) throws(VAError) {
        coded = try Buffer(display, context, VAEncCodedBufferType, size: Self.codedSize(settings))
        picture = try Buffer(
            display, context, VAEncPictureParameterBufferType,
            size: MemoryLayout<VAEncPictureParameterBufferHEVC>.size)
        slice = try Buffer(
            display, context, VAEncSliceParameterBufferType, size: MemoryLayout<VAEncSliceParameterBufferHEVC>.size)
        rateControl = try MiscParameter(
            display, context, VAEncMiscParameterTypeRateControl,
            VAEncMiscParameterRateControl(settings.rate, frameQP: nil))
    }

    /// The size of an incompressible picture, which H.265 A.3.2 bounds at 5/3 of its raw size, and of headers.
    static func codedSize(_ settings: EncoderSettings) -> Int {
        3 * settings.size.width * settings.size.height + 65536
    }
}

extension VAEncMiscParameterRateControl {
    /// - Parameter frameQP: the QP of the next picture; nil leaves it to the driver.
    init(_ rate: RateSettings, frameQP: Int?) {
        self.init()
        bits_per_second = rate.bitsPerSecond
        target_percentage = rate.targetPercentage
        if rate.bitsPerSecond > 0 {
            window_size = UInt32(clamping: UInt64(rate.bufferBits) * 1000 / UInt64(rate.bitsPerSecond))
        }
        min_qp = UInt32(frameQP ?? rate.minQP ?? 0)
        max_qp = UInt32(frameQP ?? rate.maxQP ?? (min_qp > 0 ? RateSettings.highestQP : 0))
        // Mesa 22 may leave out pictures otherwise.
        rc_flags.bits.disable_frame_skip = 1
        ICQ_quality_factor = rate.mode == VA_RC_ICQ ? rate.qualityFactor : 0
        quality_factor = rate.mode == VA_RC_QVBR ? rate.qualityFactor : 0
    }
}
