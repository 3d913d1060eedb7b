// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import HWDModel

/// The NAL units of one coded picture in x265's memory, valid until the next call into it.
struct X265AccessUnit {
    /// The first slice.
    let slice: x265_nal
    private let units: Slice<UnsafeBufferPointer<x265_nal>>

    /// Bytes of the length before each NAL unit (`bAnnexB` is 0).
    private static let lengthBytes = 4

    /// - Parameter parameterSets: those of the format description.
    init(
        _ nals: UnsafeBufferPointer<x265_nal>, without parameterSets: Set<[UInt8]>
    ) throws(SessionError) {
        // With static HDR metadata x265 repeats its parameter sets in every key frame, which `hvc1` tracks must not have.
        units = nals.drop { Self.isParameterSet($0, of: parameterSets) }
        guard let slice = units.first(where: { $0.type < NAL_UNIT_VPS.rawValue }) else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned an access unit without a slice")
        }
        self.slice = slice
    }

    /// TemporalId: nuh_temporal_id_plus1 is the low three bits of the NAL unit header's second byte (H.265 7.3.1.2).
    var temporalID: UInt8 {
        let position = Self.lengthBytes + 1
        return slice.sizeBytes > position ? (slice.payload[position] & 7) &- 1 : 0
    }

    /// The bytes of the NAL units, which x265 serializes one after the other into one buffer.
    func bytes() throws(SessionError) -> UnsafeRawBufferPointer {
        guard let start = units.first?.payload else {
            throw SessionError(.videoEncoderMalfunction, "x265 returned a NAL unit without bytes")
        }
        var end = start
        for unit in units {
            guard unit.payload == end else {
                throw SessionError(
                    .videoEncoderMalfunction, "x265 returned NAL units that do not follow one another")
            }
            end += Int(unit.sizeBytes)
        }
        return UnsafeRawBufferPointer(start: start, count: end - start)
    }

    /// Whether a NAL unit is one of the format description's parameter sets.
    private static func isParameterSet(_ unit: x265_nal, of parameterSets: Set<[UInt8]>) -> Bool {
        guard [NAL_UNIT_VPS, NAL_UNIT_SPS, NAL_UNIT_PPS].contains(where: { $0.rawValue == unit.type }) else {
            return false
        }
        return parameterSets.contains(contents(of: unit))
    }

    /// A NAL unit without its length.
    static func contents(of unit: x265_nal) -> [UInt8] {
        Array(UnsafeBufferPointer(start: unit.payload, count: Int(unit.sizeBytes)).dropFirst(lengthBytes))
    }
}
