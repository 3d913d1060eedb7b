// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDHEVC

@Suite struct ByteStreamTests {
    @Test(
        "Splits a stream at start codes of both lengths and trailing zeros",
        arguments: [
            ([0, 0, 1, 0x40, 1], [[0x40, 1]]),
            ([0, 0, 0, 1, 0x40, 1, 0, 0, 1, 0x42, 1, 0, 0, 0], [[0x40, 1], [0x42, 1]]),
            ([9, 9, 0, 0, 0, 0, 1, 0x40, 0, 0, 3, 0, 0, 0, 1, 0x42], [[0x40, 0, 0, 3], [0x42]]),
            ([0, 0, 1, 0, 0, 1, 0x44], [[0x44]]),
            ([1, 2, 3], []), ([], []), ([0, 0, 1], []), ([0, 0, 0], []),
        ] as [([UInt8], [[UInt8]])])
    func split(stream: [UInt8], expected: [[UInt8]]) {
        #expect(AnnexB.NALUnits(stream).map { Array($0) } == expected)
    }

    @Test("Converts between length-prefixed and byte stream form", arguments: [1, 2, 4])
    func conversion(lengthSize: Int) throws {
        let units: [[UInt8]] = [[0x40, 1, 7], Array(repeating: 0xAB, count: 200), [0x26, 1]]
        var stream: [UInt8] = []
        for unit in units { AnnexB.append(unit, to: &stream) }
        let sample = try AnnexB.lengthPrefixed(stream[...], lengthSize: lengthSize)
        #expect(sample.count == units.map(\.count).reduce(0, +) + 3 * lengthSize)
        var back: [UInt8] = []
        try AnnexB.append(lengthPrefixed: sample[...], lengthSize: lengthSize, to: &back)
        #expect(back == stream)
    }

    @Test(
        "Refuses samples with lengths that exceed them",
        arguments: [[0, 0, 0, 5, 1], [0, 0], [255, 255, 255, 255, 1]])
    func hostileLengths(sample: [UInt8]) {
        var stream: [UInt8] = []
        #expect { try AnnexB.append(lengthPrefixed: sample[...], to: &stream) } throws: {
            ($0 as? BitstreamError)?.code == .truncated
        }
    }

    @Test func refusesUnitsTooLongForTheirLengthField() {
        var sample: [UInt8] = []
        let nal = [UInt8](repeating: 1, count: 256)
        #expect(throws: BitstreamError.self) { try LengthPrefixedNALUnits.append(nal, lengthSize: 1, to: &sample) }
        #expect(throws: BitstreamError.self) { try LengthPrefixedNALUnits.append(nal, lengthSize: 3, to: &sample) }
    }

    @Test(
        "Emulation prevention follows 7.4.2",
        arguments: [
            ([1, 0, 0, 0, 0], [1, 0, 0, 3, 0, 0, 3]), ([0, 0, 1], [0, 0, 3, 1]), ([0, 0, 3], [0, 0, 3, 3]),
            ([0, 0, 4], [0, 0, 4]), ([1, 0, 0], [1, 0, 0, 3]), ([0, 0, 0, 0, 1], [0, 0, 3, 0, 0, 3, 1]), ([], []),
        ] as [([UInt8], [UInt8])])
    func emulationPrevention(rbsp: [UInt8], ebsp: [UInt8]) {
        #expect(EmulationPrevention.insert(into: rbsp) == ebsp)
        #expect(EmulationPrevention.remove(from: ebsp[...]) == rbsp)
    }

    @Test(
        "Exp-Golomb codes have the bits of table 9-2",
        arguments: [(0, "1"), (1, "010"), (2, "011"), (3, "00100"), (6, "00111"), (7, "0001000"), (9, "0001010")])
    func expGolomb(value: Int, bits: String) throws {
        var writer = BitWriter()
        try writer.writeUE(UInt32(value))
        #expect(writer.bitCount == bits.count)
        #expect(writer.bytes.first.map { Int($0) >> (8 - bits.count) } == Int(bits, radix: 2))
    }

    @Test func rewritesExtremeCodes() throws {
        let unsigned: [UInt32] = [0, 1, 255, 65535, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFE]
        let signed: [Int32] = [0, 1, -1, 2, -2, .max, -.max]
        var writer = BitWriter()
        for value in unsigned { try writer.writeUE(value) }
        for value in signed { try writer.writeSE(value) }
        try writer.writeTrailingBits()
        var reader = BitReader(writer.bytes)
        for value in unsigned { #expect(try reader.readUE() == value) }
        for value in signed { #expect(try reader.readSE() == value) }
        #expect(!reader.hasMoreRBSPData)
        try reader.readTrailingBits()
        #expect(throws: BitstreamError.self) { try reader.readFlag() }
        #expect(throws: BitstreamError.self) { try writer.writeUE(.max) }
        #expect(throws: BitstreamError.self) { try writer.writeSE(.min) }
        #expect(throws: BitstreamError.self) { try writer.writeBits(4, 2) }
        var zeros = BitReader([0, 0, 0, 0, 0, 0])
        #expect(throws: BitstreamError.self) { try zeros.readUE() }
    }

    @Test("Rewrites every NAL unit header and refuses all other byte pairs")
    func headers() throws {
        for first in 0..<256 {
            for second in 0..<256 {
                let bytes = [UInt8(first), UInt8(second)]
                guard first < 128, second & 7 != 0 else {
                    #expect(throws: BitstreamError.self) { try NALUnitHeader(nal: bytes) }
                    continue
                }
                let header = try NALUnitHeader(nal: bytes)
                guard try header.bytes() == bytes else {
                    Issue.record("header \(bytes) changed")
                    continue
                }
            }
        }
    }

    @Test func numbersTypesAsTable7_1() {
        let numbers: [(NALUnitType, UInt8)] = [
            (.trailR, 1), (.tsaN, 2), (.raslR, 9), (.rsvVclR15, 15), (.blaWLP, 16), (.idrNLP, 20), (.craNUT, 21),
            (.rsvIrapVcl23, 23), (.rsvVcl31, 31), (.vps, 32), (.aud, 35), (.fd, 38), (.suffixSEI, 40),
            (.rsvNvcl47, 47), (.unspec48, 48), (.unspec63, 63),
        ]
        for (type, number) in numbers { #expect(type.rawValue == number) }
    }
}
