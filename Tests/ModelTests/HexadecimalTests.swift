// SPDX-License-Identifier: MIT
import HWDModel
import Testing

@Suite struct HexadecimalTests {
    @Test func writesTwoLowerCaseDigitsForEachByte() {
        #expect(Hexadecimal.text([0x00, 0x0A, 0xF0, 0xFF]) == "000af0ff")
        #expect(Hexadecimal.text([UInt8]()) == "")
    }

    @Test func padsNumbersWithZeros() {
        #expect(Hexadecimal.text(UInt32(0x3A), minDigits: 4) == "003a")
        #expect(Hexadecimal.text(UInt32(0x12345), minDigits: 4) == "12345")
    }

    @Test func readsDigitsOfEitherCase() {
        #expect(Hexadecimal.bytes("00aAfF") == [0x00, 0xAA, 0xFF])
        #expect(Hexadecimal.bytes("") == [])
    }

    @Test("refuses text that is not an even number of digits", arguments: ["0", "000", "0g", "0x", " 0", "０１"])
    func refusesOtherText(_ text: String) {
        #expect(Hexadecimal.bytes(text) == nil)
    }

    /// Published vectors of draft-eastlake-fnv.
    @Test(
        "FNV-1a matches the published vectors",
        arguments: [("", 0xCBF2_9CE4_8422_2325), ("a", 0xAF63_DC4C_8601_EC8C), ("foobar", 0x8594_4171_F739_67E8)])
    func digests(_ text: String, _ expected: UInt64) {
        #expect(FNV1a(text.utf8).value == expected)
        var parts = FNV1a()
        for byte in text.utf8 { parts.add([byte]) }
        #expect(parts.value == expected)
    }
}
