// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// What the header of a picture's first slice segment tells: its NAL unit type and its temporal level, in two bytes.
struct SampleKind: Hashable, Sendable {
    /// `nal_unit_type` in the low six bits, TemporalId above them.
    private let packed: UInt16

    /// A picture of a type (0…31) and level (0…6).
    init(type: UInt8, temporalID: UInt8) { packed = UInt16(temporalID & 7) << 6 | UInt16(type & 63) }

    /// `nal_unit_type` (H.265 table 7-1).
    var type: NALUnitType { NALUnitType(rawValue: rawType) ?? .trailN }
    /// `nal_unit_type` as a number.
    var rawType: UInt8 { UInt8(packed & 63) }
    /// TemporalId, 0…6.
    var temporalID: UInt8 { UInt8(packed >> 6) }

    /// How NAL units stand in an access unit.
    enum Framing: Hashable, Sendable {
        /// Behind their length in 1, 2 or 4 bytes (ISO/IEC 14496-15).
        case lengths(Int)
        /// Behind start codes (H.265 Annex B).
        case startCodes
    }

    /// The kind of the base layer's picture in an access unit; nil where no slice of one can be found.
    init?(_ accessUnit: UnsafeRawBufferPointer, _ framing: Framing) {
        var position = 0
        while let start = Self.nextUnit(accessUnit, framing, &position) {
            guard let kind = SampleKind(header: accessUnit[start], accessUnit[start + 1]) else { continue }
            self = kind
            return
        }
        return nil
    }

    /// The kind that a NAL unit's two header bytes tell; nil for what is no slice of the base layer.
    init?(header first: UInt8, _ second: UInt8) {
        let type = first >> 1
        guard first & 0x81 == 0, second >> 3 == 0, type < 32, second & 7 != 0 else { return nil }
        self.init(type: type, temporalID: (second & 7) - 1)
    }

    /// Where the next NAL unit of two bytes or more begins; moves `position` behind it, or to its end.
    private static func nextUnit(
        _ bytes: UnsafeRawBufferPointer, _ framing: Framing, _ position: inout Int
    ) -> Int? {
        switch framing {
        case .lengths(let size):
            while position + size + 2 <= bytes.count {
                let length = (0..<size).reduce(0) { $0 << 8 | Int(bytes[position + $1]) }
                let start = position + size
                guard length <= bytes.count - start else { return nil }
                position = start + length
                if length >= 2 { return start }
            }
        case .startCodes:
            while position + 5 <= bytes.count {
                let isCode = bytes[position] == 0 && bytes[position + 1] == 0 && bytes[position + 2] == 1
                position += isCode ? 3 : 1
                if isCode { return position }
            }
        }
        return nil
    }
}

extension SampleKind {
    /// How a stream's access units are framed, from its configuration record or its Annex B parameter sets.
    static func framing(_ configuration: [UInt8]) -> Framing {
        guard configuration.first == 1, configuration.count > 21 else { return .startCodes }
        // lengthSizeMinusOne (ISO/IEC 14496-15 8.3.3.1).
        return .lengths(Int(configuration[21] & 3) + 1)
    }

    /// The bits of `nal_unit_type` and TemporalId that tell IRAP, leading and switching pictures apart.
    var isIRAP: Bool { type.isIRAP }
    /// Whether it is shown before the IRAP picture that it follows.
    var isLeading: Bool { type.isRADL || type.isRASL }
}
