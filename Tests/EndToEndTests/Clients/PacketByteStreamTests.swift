// SPDX-License-Identifier: GPL-2.0-or-later
@testable import HWClient
import HWDModel
import Testing

/// Packets and records of a worker, which is not trusted, as parts of a byte stream.
@Suite struct PacketByteStreamTests {
    /// An hvcC record with a VPS and two SPS.
    private static let record =
        [UInt8](repeating: 1, count: 22) + [2] + [0x20, 0, 1, 0, 2, 0x40, 1] + [
            0x21, 0, 2, 0, 1, 0x42, 0, 2, 0x42, 9,
        ]

    @Test("Units get start codes")
    func units() throws {
        #expect(
            try ByteStream.accessUnit([0, 0, 0, 2, 7, 8, 0, 0, 0, 1, 9]) == [0, 0, 0, 1, 7, 8, 0, 0, 0, 1, 9])
        #expect(try ByteStream.accessUnit([]).isEmpty)
        #expect(
            try ByteStream.parameterSets(of: Self.record)
                == [0, 0, 0, 1, 0x40, 1, 0, 0, 0, 1, 0x42, 0, 0, 0, 1, 0x42, 9])
    }

    @Test("A record that is cut off anywhere is an error")
    func shortRecords() {
        for count in 0..<Self.record.count {
            let error = #expect(throws: ClientError.self) {
                try ByteStream.parameterSets(of: Array(Self.record.prefix(count)))
            }
            #expect(error?.status == .videoEncoderMalfunction, "\(count) bytes")
        }
    }

    @Test(
        "A packet with wrong lengths is an error",
        arguments: [[0], [0, 0, 0, 2, 1], [0, 0, 0, 1, 1, 0, 0], [255, 255, 255, 255, 1, 2]] as [[UInt8]])
    func wrongLengths(_ packet: [UInt8]) {
        let error = #expect(throws: ClientError.self) { try ByteStream.accessUnit(packet) }
        #expect(error?.status == .videoEncoderMalfunction)
    }
}
