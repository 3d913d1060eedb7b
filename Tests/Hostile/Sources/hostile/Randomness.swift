// SPDX-License-Identifier: GPL-2.0-or-later

/// A generator with a printable seed, for reproducible runs (SplitMix64).
struct Randomness: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// True with a probability of `percent` percent.
    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    mutating func below(_ bound: Int) -> Int { bound > 0 ? Int.random(in: 0..<bound, using: &self) : 0 }

    mutating func byte() -> UInt8 { UInt8(truncatingIfNeeded: next()) }

    mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        for _ in 0..<count { bytes.append(byte()) }
        return bytes
    }

    mutating func pick<T>(_ values: [T]) -> T { values[below(values.count)] }
}

/// Mutations of bytes, independent of their format.
enum ByteMutation {
    /// Numbers at the edges of their types, little-endian.
    static let edges: [UInt64] = [
        0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x10000, 0x10001, 0x7FFF_FFFF, 0x8000_0000, 0xFFFF_FFFF,
        0x7FFF_FFFF_FFFF_FFFF, 0x8000_0000_0000_0000, 0xFFFF_FFFF_FFFF_FFFF, 0xFFFF_FFFF_FFFF_F000,
    ]

    /// Changes `bytes` in one to four places; splices come from `donor`.
    static func apply(_ bytes: [UInt8], donor: [UInt8], _ random: inout Randomness) -> [UInt8] {
        var result = bytes
        for _ in 0..<(1 + random.below(4)) { mutate(&result, donor, &random) }
        return result
    }

    private static func mutate(_ bytes: inout [UInt8], _ donor: [UInt8], _ random: inout Randomness) {
        let position = random.below(bytes.count)
        guard !bytes.isEmpty else {
            bytes = random.bytes(random.below(40))
            return
        }
        switch random.below(9) {
        case 0: bytes[position] ^= 1 << UInt8(random.below(8))
        case 1: bytes[position] = random.byte()
        case 2: bytes.removeSubrange(position...)
        case 3: bytes.removeSubrange(position..<min(bytes.count, position + 1 + random.below(16)))
        case 4: bytes.insert(contentsOf: random.bytes(1 + random.below(16)), at: position)
        case 5:
            let end = min(bytes.count, position + 1 + random.below(64))
            bytes.insert(contentsOf: bytes[position..<end], at: position)
        case 6:
            let start = random.below(donor.count)
            bytes.replaceSubrange(position..., with: donor[min(start, donor.count)...])
        case 7:
            let edge = random.pick(edges)
            for index in 0..<random.pick([4, 8]) where position + index < bytes.count {
                bytes[position + index] = UInt8(truncatingIfNeeded: edge >> (8 * UInt64(index)))
            }
        default: bytes[position] = 0
        }
    }
}
