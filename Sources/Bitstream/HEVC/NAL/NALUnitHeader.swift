// SPDX-License-Identifier: MIT

/// `nal_unit_header()`, the first two bytes of every NAL unit (7.3.1.2).
public struct NALUnitHeader: Hashable, Sendable {
    public var nalUnitType: NALUnitType
    /// 0…63; 0 is the base layer.
    public var nuhLayerId: Int
    /// 1…7.
    public var nuhTemporalIDPlus1: Int

    /// TemporalId, 0…6.
    public var temporalID: Int { nuhTemporalIDPlus1 - 1 }

    public init(_ nalUnitType: NALUnitType, nuhLayerId: Int = 0, nuhTemporalIDPlus1: Int = 1) {
        self.nalUnitType = nalUnitType
        self.nuhLayerId = nuhLayerId
        self.nuhTemporalIDPlus1 = nuhTemporalIDPlus1
    }

    /// Reads the first two bytes of a NAL unit; throws `truncated` or `malformed`.
    public init(nal: ArraySlice<UInt8>) throws(BitstreamError) {
        guard nal.count >= 2 else {
            throw BitstreamError(.truncated, "a NAL unit of \(nal.count) bytes has no whole header")
        }
        let (first, second) = (nal[nal.startIndex], nal[nal.startIndex + 1])
        guard first & 0x80 == 0 else {
            throw BitstreamError(.malformed, "forbidden_zero_bit is set")
        }
        guard let type = NALUnitType(rawValue: first >> 1), second & 7 != 0 else {
            throw BitstreamError(.malformed, "nuh_temporal_id_plus1 is 0")
        }
        nalUnitType = type
        nuhLayerId = Int(first & 1) << 5 | Int(second >> 3)
        nuhTemporalIDPlus1 = Int(second & 7)
    }

    /// Reads the first two bytes of a NAL unit; throws `truncated` or `malformed`.
    public init(nal: [UInt8]) throws(BitstreamError) {
        try self.init(nal: nal[...])
    }

    /// The two bytes; throws `outOfRange`.
    public func bytes() throws(BitstreamError) -> [UInt8] {
        try check("nuh_layer_id", nuhLayerId, 0...63)
        try check("nuh_temporal_id_plus1", nuhTemporalIDPlus1, 1...7)
        return [
            nalUnitType.rawValue << 1 | UInt8(nuhLayerId >> 5),
            UInt8(nuhLayerId & 31) << 3 | UInt8(nuhTemporalIDPlus1),
        ]
    }

    /// The whole NAL unit: this header, then `rbsp` with emulation prevention.
    public func nalUnit(rbsp: [UInt8]) throws(BitstreamError) -> [UInt8] {
        var nal = try bytes()
        EmulationPrevention.append(rbsp, to: &nal)
        return nal
    }
}
