// SPDX-License-Identifier: MIT
internal import HWDModel

/// Packets and records of ISO/IEC 14496-15 as parts of a byte stream (H.265, annex B).
enum ByteStream {
    private static let startCode: [UInt8] = [0, 0, 0, 1]

    /// The NAL units of an hvcC record (8.3.3.1.2): arrays from byte 23 on, each a type, a count and units with 2-byte
    /// lengths.
    static func parameterSets(of record: [UInt8]) throws(ClientError) -> [UInt8] {
        guard record.count >= 23 else { throw broken("the format description is too short") }
        var stream: [UInt8] = []
        var rest = record[23...]
        for _ in 0..<record[22] {
            _ = rest.popFirst()
            for _ in 0..<(try number(of: 2, from: &rest)) {
                stream += startCode + (try unit(lengthBytes: 2, from: &rest))
            }
        }
        return stream
    }

    /// The NAL units of a packet, which have 4-byte lengths.
    static func accessUnit(_ packet: [UInt8]) throws(ClientError) -> [UInt8] {
        var stream: [UInt8] = []
        stream.reserveCapacity(packet.count)
        var rest = packet[...]
        while !rest.isEmpty { stream += startCode + (try unit(lengthBytes: 4, from: &rest)) }
        return stream
    }

    private static func unit(
        lengthBytes: Int, from rest: inout ArraySlice<UInt8>
    ) throws(ClientError) -> ArraySlice<UInt8> {
        let size = try number(of: lengthBytes, from: &rest)
        guard size <= rest.count else { throw broken("a NAL unit is longer than its packet") }
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size)
    }

    /// A big-endian number.
    private static func number(of size: Int, from rest: inout ArraySlice<UInt8>) throws(ClientError) -> Int {
        guard rest.count >= size else { throw broken("a length of a NAL unit is cut off") }
        defer { rest = rest.dropFirst(size) }
        return rest.prefix(size).reduce(0) { $0 << 8 | Int($1) }
    }

    private static func broken(_ reason: String) -> ClientError {
        ClientError(SessionError(.videoEncoderMalfunction, reason))
    }
}
