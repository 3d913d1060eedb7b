// SPDX-License-Identifier: MIT

/// The 64-bit FNV-1a digest (draft-eastlake-fnv): it detects accidental changes and does not resist deliberate ones.
public struct FNV1a: Hashable, Sendable {
    /// The digest of the bytes added so far.
    public private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    /// The digest of no bytes.
    public init() {}

    /// The digest of these bytes.
    public init(_ bytes: some Sequence<UInt8>) { add(bytes) }

    /// Adds bytes.
    public mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }
    }

    /// The digest in hexadecimal, without leading zeros.
    public var text: String { String(value, radix: 16) }
}
