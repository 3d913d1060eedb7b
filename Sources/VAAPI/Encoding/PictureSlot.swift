// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDVA
internal import HWDHEVC
internal import HWDSessions

/// A header handed over ready-made: its description and its bytes.
final class PackedHeader {
    private let description: Buffer
    private let data: Buffer

    /// How many bytes the NAL unit has: nothing else in the description changes from header to header.
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
        // A slice header's length counts its byte_alignment().
        parameters.bit_length = UInt32(bytes.count * 8)
        parameters.has_emulation_bytes = 1
        try description.write(parameters)
        data = try Buffer(display, context, VAEncPackedHeaderDataBufferType, bytes: bytes)
    }

    /// Puts another header of the same type in its place, where that has as many bytes; else says that it does not.
    ///
    /// Drivers take a buffer's size for the header's, so a longer buffer with a shorter header in it will not do.
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

/// A parameter that has no place in the structures of the codec (`VAEncMiscParameterBuffer`).
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

    /// Writes the parameters anew.
    func write<Parameters>(_ parameters: Parameters) throws(VAError) {
        try buffer.write(parameters, at: Self.offset)
    }

    /// Behind the type, which is all that Swift sees of the structure.
    private static let offset = MemoryLayout<VAEncMiscParameterBuffer>.size
}

/// The buffers of one picture in flight, used again for later ones.
final class PictureSlot {
    /// Where the coded picture comes.
    let coded: Buffer
    let picture: Buffer
    let slice: Buffer
    let rateControl: MiscParameter
    /// The slice header that is in use.
    var sliceHeader: PackedHeader?

    /// The picture that is being coded; nil while the slot is free.
    var planned: PlannedPicture?
    /// What it is coded from.
    var source = VASurfaceID()
    /// Where it is reconstructed.
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

    /// Room for a picture that does not compress at all (H.265 A.3.2 bounds a block at 5/3 of its raw size), and headers.
    static func codedSize(_ settings: EncoderSettings) -> Int {
        3 * settings.size.width * settings.size.height + 65536
    }
}

extension VAEncMiscParameterRateControl {
    /// - Parameter frameQP: what the next picture is to be coded with; nil leaves it to the driver.
    init(_ rate: RateSettings, frameQP: Int?) {
        self.init()
        bits_per_second = rate.bitsPerSecond
        target_percentage = rate.targetPercentage
        if rate.bitsPerSecond > 0 {
            window_size = UInt32(clamping: UInt64(rate.bufferBits) * 1000 / UInt64(rate.bitsPerSecond))
        }
        min_qp = UInt32(frameQP ?? rate.minQP ?? 0)
        max_qp = UInt32(frameQP ?? rate.maxQP ?? 0)
        ICQ_quality_factor = rate.mode == VA_RC_ICQ ? rate.qualityFactor : 0
        quality_factor = rate.mode == VA_RC_QVBR ? rate.qualityFactor : 0
    }
}
