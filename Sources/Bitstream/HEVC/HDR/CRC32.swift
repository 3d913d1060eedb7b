// SPDX-License-Identifier: MIT

/// CRC-32/MPEG-2: polynomial 04C11DB7, initial value FFFFFFFF, not reflected, no final exclusive or (ISO/IEC 13818-1 annex A).
enum CRC32 {
    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index) << 24) { value, _ in value << 1 ^ (value >> 31 == 1 ? 0x04C1_1DB7 : 0) }
    }

    static func mpeg2(_ bytes: [UInt8]) -> UInt32 {
        bytes.reduce(0xFFFF_FFFF) { value, byte in value << 8 ^ table[Int(value >> 24 ^ UInt32(byte))] }
    }
}
