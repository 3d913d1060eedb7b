// SPDX-License-Identifier: MIT

/// A Dolby Vision RPU: the NAL unit of type 62 that ends an access unit (ETSI GS CCM 001, `rpu_data()`).
///
/// Writing what was read gives the same bytes; what this module does not interpret is kept.
public struct DolbyVisionRPU: Hashable, Sendable, CodedSyntax {
    /// Of type 62; its TemporalId is the picture's.
    public var nalHeader = NALUnitHeader(.unspec62)
    public var header = RPUHeader()
    public var mapping: RPUMappingSource
    /// Nil when `vdr_dm_metadata_present_flag` is 0.
    public var displayManagement: RPUDisplayManagement?
    /// Whole bytes between the syntax above and the CRC, not interpreted.
    public var remainder: [UInt8] = []
    /// Zero bytes after the stop bit, with their emulation prevention bytes, as in the NAL unit.
    public var trailingZeros: [UInt8] = []

    /// The largest RPU read or written, in bytes without emulation prevention; real ones have up to about 2,000.
    public static let maxSize = 16 << 10
    /// `rpu_nal_prefix`.
    private static let prefix: UInt8 = 25

    public init(mapping: RPUMapping, displayManagement: RPUDisplayManagement?) {
        self.mapping = .coded(mapping)
        self.displayManagement = displayManagement
    }

    /// Parses a whole NAL unit, header included.
    ///
    /// - Throws: `malformed` also when the CRC does not match.
    public init(nal: ArraySlice<UInt8>) throws(BitstreamError) {
        let header = try NALUnitHeader(nal: nal)
        guard header.nalUnitType == .unspec62 else {
            throw BitstreamError(.malformed, "a NAL unit of type \(header.nalUnitType) is not an RPU")
        }
        var body = nal.dropFirst(2)
        while body.last == 0 || body.last == 3 { body.removeLast() }
        let zeros = nal[body.endIndex...]
        guard EmulationPrevention.remove(from: zeros).allSatisfy({ $0 == 0 }) else {
            throw BitstreamError(.malformed, "data follow the RPU's stop bit")
        }
        guard zeros.count <= Self.maxSize else { throw Self.tooLong(zeros.count) }
        try self.init(rbsp: EmulationPrevention.remove(from: body))
        nalHeader = header
        trailingZeros = Array(zeros)
    }

    /// Parses a whole NAL unit, header included.
    public init(nal: [UInt8]) throws(BitstreamError) {
        try self.init(nal: nal[...])
    }

    /// Parses the bytes after the NAL unit header, from `rpu_nal_prefix` to the stop bit, without emulation prevention.
    public init(rbsp: [UInt8]) throws(BitstreamError) {
        guard rbsp.count <= Self.maxSize else { throw Self.tooLong(rbsp.count) }
        // The prefix, 32 bits of CRC and the stop bit's byte surround the payload.
        guard rbsp.count > 6 else {
            throw BitstreamError(.truncated, "an RPU of \(rbsp.count) bytes is incomplete")
        }
        guard rbsp[0] == Self.prefix else {
            throw BitstreamError(.malformed, "rpu_nal_prefix is \(rbsp[0]); it must be \(Self.prefix)")
        }
        guard rbsp[rbsp.count - 1] == 0x80 else {
            throw BitstreamError(.malformed, "the RPU does not end with a stop bit")
        }
        let payload = Array(rbsp[1..<(rbsp.count - 5)])
        let stored = rbsp[(rbsp.count - 5)..<(rbsp.count - 1)].reduce(0) { $0 << 8 | UInt32($1) }
        guard stored == CRC32.mpeg2(payload) else {
            throw BitstreamError(.malformed, "the RPU's CRC does not match its data")
        }
        mapping = .previous(id: 0)
        var reader = BitReader(payload)
        try code(&reader)
        remainder = try reader.readRaw(reader.bitsLeft).bytes
        try checkSecondList()
    }

    /// The whole NAL unit; throws when a value does not fit or the structure contradicts itself.
    public func nalUnit() throws(BitstreamError) -> [UInt8] {
        guard nalHeader.nalUnitType == .unspec62 else {
            throw BitstreamError(.malformed, "an RPU's NAL unit has type 62")
        }
        return try nalHeader.nalUnit(rbsp: try rbsp()) + trailingZeros
    }

    /// The bytes after the NAL unit header, without emulation prevention.
    public func rbsp() throws(BitstreamError) -> [UInt8] {
        let bytes = try coded()
        try checkSecondList()
        let payload = bytes + remainder
        guard payload.count + 6 <= Self.maxSize else { throw Self.tooLong(payload.count + 6) }
        let crc = CRC32.mpeg2(payload)
        return [Self.prefix] + payload + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: crc >> $0) } + [0x80]
    }

    private static func tooLong(_ count: Int) -> BitstreamError {
        BitstreamError(.outOfRange, "an RPU of \(count) bytes exceeds the limit of \(maxSize)")
    }

    /// Only the number of bits left says whether there is a second list, so that some remainders look like one.
    private func checkSecondList() throws(BitstreamError) {
        guard let displayManagement else { return }
        // Up to 7 bits of alignment come before the remainder; a list without blocks has 1 to 8 bits.
        let isAmbiguous =
            displayManagement.extension2.map { $0.isEmpty && remainder.count < 2 } ?? (remainder.count > 1)
        guard !isAmbiguous else {
            throw BitstreamError(
                .malformed, "the RPU's remainder and its second list of extension blocks are ambiguous")
        }
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try header.code(&c)
        var hasDisplayManagement = displayManagement != nil
        try c.flag("vdr_dm_metadata_present_flag", &hasDisplayManagement)
        try mapping.code(&c, header)
        if hasDisplayManagement {
            var metadata = displayManagement ?? RPUDisplayManagement()
            try metadata.code(&c, isCompressed: header.isCompressed)
            displayManagement = metadata
        }
        try c.zerosToByteBoundary("rpu_alignment_zero_bit")
    }
}

extension DolbyVisionRPU {
    /// The profile that the header describes: 5, 8, or 4 or 7 with an enhancement layer; nil for others.
    public var profile: Int? {
        guard let info = header.sequenceInfo else { return nil }
        switch header.vdrRPUProfile {
        case 0 where info.blVideoFullRangeFlag: return 5
        case 1:
            guard let depths = info.depths, depths.elSpatialResamplingFilterFlag, !depths.disableResidualFlag else {
                return 8
            }
            return [4: 7, 6: 4][depths.vdrBitDepthMinus8]
        default: return nil
        }
    }
}

extension SyntaxCoder {
    /// Zero bits up to a byte boundary.
    mutating func zerosToByteBoundary(_ name: StaticString) throws(BitstreamError) {
        while !isByteAligned { try constant(name, 1, 0) }
    }

    /// A number of two's complement.
    mutating func signed(_ name: StaticString, _ bits: Int, _ value: inout Int) throws(BitstreamError) {
        let half = 1 << (bits - 1)
        try check(name, value, -half...(half - 1))
        var code = value & (2 * half - 1)
        try u(name, bits, &code)
        value = code < half ? code : code - 2 * half
    }
}
