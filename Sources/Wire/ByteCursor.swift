// SPDX-License-Identifier: MIT
public import HWDModel

/// Reads little-endian fields from a message's payload, front to back; never past its end.
///
/// The payload is an argument of every call, because a type that held a span would need a lifetime of its own.
public struct ByteReader {
    private var position = 0

    /// Starts at the front.
    public init() {}

    /// The next integer of `bytes`.
    ///
    /// - Throws: `Parameter` when the payload ends before it.
    public mutating func read<T: FixedWidthInteger & BitwiseCopyable>(
        _ type: T.Type, from bytes: RawSpan
    ) throws(SessionError) -> T {
        let size = MemoryLayout<T>.size
        guard bytes.byteCount - position >= size else {
            throw SessionError(.parameter, "a message of \(bytes.byteCount) bytes is too short")
        }
        // Every bit pattern of an integer is a value, and the bounds were checked.
        let value = unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: position, as: T.self)
        position += size
        return T(littleEndian: value)
    }

    /// All bytes not read yet.
    public mutating func readRest(of bytes: RawSpan) -> [UInt8] {
        defer { position = bytes.byteCount }
        return unsafe bytes.extracting(position..<bytes.byteCount).withUnsafeBytes { unsafe Array($0) }
    }

    /// So many bytes.
    ///
    /// - Throws: `Parameter` when the payload ends before them.
    public mutating func readBytes(_ count: Int, of bytes: RawSpan) throws(SessionError) -> [UInt8] {
        guard count >= 0, bytes.byteCount - position >= count else {
            throw SessionError(.parameter, "a message of \(bytes.byteCount) bytes is too short")
        }
        defer { position += count }
        return unsafe bytes.extracting(position..<position + count).withUnsafeBytes { unsafe Array($0) }
    }

    /// Checks that nothing is left over.
    ///
    /// - Throws: `Parameter` when something is.
    public func expectEnd(of bytes: RawSpan) throws(SessionError) {
        guard position == bytes.byteCount else {
            throw SessionError(.parameter, "a message has \(bytes.byteCount - position) bytes too many")
        }
    }
}

/// Writes little-endian fields into a payload; keeps its memory from message to message.
public struct ByteWriter: Sendable {
    /// What was written.
    public private(set) var bytes: [UInt8] = []

    /// An empty payload.
    public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// Forgets what was written, not the memory.
    public mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    /// Appends an integer.
    public mutating func write<T: FixedWidthInteger>(_ value: T) {
        var rest = value.littleEndian
        for _ in 0..<MemoryLayout<T>.size {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest = T.bitWidth > 8 ? rest >> 8 : 0
        }
    }

    /// Appends bytes as they are.
    public mutating func write(bytes more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }
}
