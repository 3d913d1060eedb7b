// SPDX-License-Identifier: MIT
public import HWDModel

/// The 16 bytes before every message of a session: four little-endian 32-bit words.
///
/// In order: the payload's length in bytes, the opcode, the number of file descriptors that come with the message's
/// first byte, and the sequence number.
public struct MessageHeader: Hashable, Sendable {
    /// The length of an encoded header in bytes.
    public static let size = 16
    /// The longest payload in bytes.
    public static let maxLength = 65536
    /// The most file descriptors that a message may carry.
    public static let maxFDCount = 8

    /// The payload's length in bytes.
    public let length: Int
    public let opcode: UInt32
    public let fdCount: Int
    /// The sender's count of messages, from 1; a reply names the message that it answers.
    public let sequence: UInt32

    /// Makes a header within the limits that receivers enforce.
    ///
    /// - Throws: `Parameter` for a length over 65536 or more than 8 file descriptors.
    public init(length: Int, opcode: UInt32, fdCount: Int, sequence: UInt32) throws(SessionError) {
        guard 0...Self.maxLength ~= length else {
            throw SessionError(
                .parameter, "a message's payload has \(length) bytes, at most \(Self.maxLength) are allowed")
        }
        guard 0...Self.maxFDCount ~= fdCount else {
            throw SessionError(
                .parameter,
                "a message carries \(fdCount) file descriptors, at most \(Self.maxFDCount) are allowed")
        }
        self.length = length
        self.opcode = opcode
        self.fdCount = fdCount
        self.sequence = sequence
    }

    /// Reads a header from the first 16 bytes of `bytes`.
    ///
    /// - Throws: `Parameter` for fewer bytes, a payload over 65536 bytes or more than 8 file descriptors.
    public init(decoding bytes: RawSpan) throws(SessionError) {
        guard bytes.byteCount >= Self.size else {
            throw SessionError(.parameter, "a message header has \(Self.size) bytes, not \(bytes.byteCount)")
        }
        func word(_ index: Int) -> UInt32 {
            // The span checks the bounds; every bit pattern is a UInt32.
            unsafe UInt32(littleEndian: bytes.unsafeLoadUnaligned(fromByteOffset: 4 * index, as: UInt32.self))
        }
        try self.init(length: Int(word(0)), opcode: word(1), fdCount: Int(word(2)), sequence: word(3))
    }

    /// Writes the header to the first 16 bytes of `bytes`, which must have that many.
    public func encode(into bytes: inout MutableRawSpan) {
        bytes.storeBytes(of: UInt32(length).littleEndian, toByteOffset: 0, as: UInt32.self)
        bytes.storeBytes(of: opcode.littleEndian, toByteOffset: 4, as: UInt32.self)
        bytes.storeBytes(of: UInt32(fdCount).littleEndian, toByteOffset: 8, as: UInt32.self)
        bytes.storeBytes(of: sequence.littleEndian, toByteOffset: 12, as: UInt32.self)
    }
}
