// SPDX-License-Identifier: MIT
package import HWDHEVC

/// The NAL unit type and temporal level of a picture's first slice segment, in two bytes.
package struct SampleKind: Hashable, Sendable {
    /// `nal_unit_type` in the low six bits, TemporalId above them.
    private let packed: UInt16

    /// A picture of a NAL unit type (0…31) and level (0…6).
    package init(type: UInt8, temporalID: UInt8) { packed = UInt16(temporalID & 7) << 6 | UInt16(type & 63) }

    /// `nal_unit_type` (H.265 table 7-1).
    package var type: NALUnitType { NALUnitType(rawValue: rawType) ?? .trailN }
    /// `nal_unit_type` as a number.
    package var rawType: UInt8 { UInt8(packed & 63) }
    /// TemporalId, 0…6.
    package var temporalID: UInt8 { UInt8(packed >> 6) }

    /// How NAL units are delimited in an access unit.
    package enum Framing: Hashable, Sendable {
        /// Each is preceded by its length in 1, 2 or 4 bytes (ISO/IEC 14496-15).
        case lengths(Int)
        /// Each is preceded by a start code (H.265 Annex B).
        case startCodes
    }

    /// The kind of the base layer's picture in an access unit; nil where it has no slice.
    package init?(_ accessUnit: UnsafeRawBufferPointer, _ framing: Framing) {
        var position = 0
        while let start = unsafe Self.nextUnit(accessUnit, framing, &position) {
            guard let kind = unsafe SampleKind(header: accessUnit[start], accessUnit[start + 1]) else { continue }
            self = kind
            return
        }
        return nil
    }

    /// Whether an access unit has parameter sets, of any layer.
    package static func hasParameterSets(_ accessUnit: UnsafeRawBufferPointer, _ framing: Framing) -> Bool {
        var position = 0
        while let start = unsafe nextUnit(accessUnit, framing, &position) {
            if unsafe NALUnitType(rawValue: accessUnit[start] >> 1 & 63)?.isParameterSet ?? false { return true }
        }
        return false
    }

    /// The prefix SEI NAL units of the base layer before the first slice segment of an access unit.
    package static func prefixMessages(_ accessUnit: UnsafeRawBufferPointer, _ framing: Framing) -> [[UInt8]] {
        var units: [[UInt8]] = []
        var position = 0
        // A message whose end the next start code shows.
        var open: Int?
        while let start = unsafe nextUnit(accessUnit, framing, &position) {
            if let begin = open { unsafe units.append(Array(accessUnit[begin..<start - 3])) }
            open = nil
            let (first, second) = unsafe (accessUnit[start], accessUnit[start + 1])
            if first >> 1 & 63 < 32 { return units }
            guard first >> 1 & 63 == NALUnitType.prefixSEI.rawValue, first & 1 == 0, second >> 3 == 0 else {
                continue
            }
            switch framing {
            case .lengths: unsafe units.append(Array(accessUnit[start..<position]))
            case .startCodes: open = start
            }
        }
        if let open { unsafe units.append(Array(accessUnit[open...])) }
        return units
    }

    /// The kind in a NAL unit's two header bytes; nil unless it is a slice of the base layer.
    package init?(header first: UInt8, _ second: UInt8) {
        let type = first >> 1
        guard first & 0x81 == 0, second >> 3 == 0, type < 32, second & 7 != 0 else { return nil }
        self.init(type: type, temporalID: (second & 7) - 1)
    }

    /// The start of the next NAL unit of two bytes or more; moves `position` past its framing or its end.
    private static func nextUnit(
        _ bytes: UnsafeRawBufferPointer, _ framing: Framing, _ position: inout Int
    ) -> Int? {
        switch framing {
        case .lengths(let size):
            while position + size + 2 <= bytes.count {
                let length = (0..<size).reduce(0) { unsafe $0 << 8 | Int(bytes[position + $1]) }
                let start = position + size
                guard length <= bytes.count - start else { return nil }
                position = start + length
                if length >= 2 { return start }
            }
        case .startCodes:
            while position + 5 <= bytes.count {
                let isCode = unsafe bytes[position] == 0 && bytes[position + 1] == 0 && bytes[position + 2] == 1
                position += isCode ? 3 : 1
                if isCode { return position }
            }
        }
        return nil
    }
}

extension SampleKind {
    /// Whether decoding can start with it (H.265 3.69, IRAP picture).
    package var isIRAP: Bool { type.isIRAP }
    /// Whether it precedes its IRAP picture in output order and follows it in decoding order.
    package var isLeading: Bool { type.isRADL || type.isRASL }
}
