// SPDX-License-Identifier: MIT
public import HWDModel

/// Reads little-endian fields from a message's payload, front to back, and never past its end.
///
/// The payload is an argument of every call, because a type that stored a span would need a lifetime dependency.
public struct ByteReader {
    private var position = 0

    public init() {}

    /// Reads the next integer of `bytes`.
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

    /// Reads a reserved field, which later versions may give a meaning.
    ///
    /// - Throws: `Parameter` when it is not zero, or the payload ends before it.
    mutating func readReserved<T: FixedWidthInteger & BitwiseCopyable>(
        _ type: T.Type, from bytes: RawSpan
    ) throws(SessionError) {
        let offset = position
        guard try read(type, from: bytes) == 0 else {
            throw SessionError(.parameter, "the reserved field at byte \(offset) of a message is not zero")
        }
    }

    /// Reads the remaining bytes.
    public mutating func readRest(of bytes: RawSpan) -> [UInt8] {
        defer { position = bytes.byteCount }
        return unsafe bytes.extracting(position..<bytes.byteCount).withUnsafeBytes { unsafe Array($0) }
    }

    /// Reads the bytes that are left as UTF-8 text of at most `maxBytes`; U+FFFD stands for what is not UTF-8.
    mutating func readText(maxBytes: Int, from bytes: RawSpan) -> String {
        String(decoding: readRest(of: bytes), as: UTF8.self).prefix(maxUTF8Bytes: maxBytes)
    }

    /// Reads the next `count` bytes.
    ///
    /// - Throws: `Parameter` when the payload ends before them.
    public mutating func readBytes(_ count: Int, of bytes: RawSpan) throws(SessionError) -> [UInt8] {
        guard count >= 0, bytes.byteCount - position >= count else {
            throw SessionError(.parameter, "a message of \(bytes.byteCount) bytes is too short")
        }
        defer { position += count }
        return unsafe bytes.extracting(position..<position + count).withUnsafeBytes { unsafe Array($0) }
    }

    /// Checks that no byte is left over.
    ///
    /// - Throws: `Parameter` when the payload is longer than its fields.
    public func expectEnd(of bytes: RawSpan) throws(SessionError) {
        guard position == bytes.byteCount else {
            throw SessionError(.parameter, "a message has \(bytes.byteCount - position) bytes too many")
        }
    }

    /// Reads a payload that consists of one integer.
    ///
    /// - Throws: `Parameter` for any other length.
    static func readOnly<T: FixedWidthInteger & BitwiseCopyable>(
        _ type: T.Type, of bytes: RawSpan
    ) throws(SessionError) -> T {
        var reader = ByteReader()
        let value = try reader.read(type, from: bytes)
        try reader.expectEnd(of: bytes)
        return value
    }

    /// Reads `count` planes: offset u64, stride u32, 0 u32 each.
    mutating func readPlanes(_ count: Int, from bytes: RawSpan) throws(SessionError) -> [FrameLayout.Plane] {
        var planes: [FrameLayout.Plane] = []
        planes.reserveCapacity(count)
        for _ in 0..<count {
            let offset = try read(UInt64.self, from: bytes)
            planes.append(FrameLayout.Plane(offset: offset, stride: try read(UInt32.self, from: bytes)))
            try readReserved(UInt32.self, from: bytes)
        }
        return planes
    }
}

/// Writes little-endian fields into a payload, reusing its memory from message to message.
public struct ByteWriter: Sendable {
    /// The payload so far.
    public private(set) var bytes: [UInt8] = []

    public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// Starts the next payload; keeps the memory.
    public mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    public mutating func write<T: FixedWidthInteger>(_ value: T) {
        var rest = value.littleEndian
        for _ in 0..<MemoryLayout<T>.size {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest = T.bitWidth > 8 ? rest >> 8 : 0
        }
    }

    public mutating func write(bytes more: some Sequence<UInt8>) { bytes.append(contentsOf: more) }

    /// Writes text as UTF-8 without its length, at most `maxBytes` of it.
    mutating func write(text: String, maxBytes: Int) { write(bytes: text.prefix(maxUTF8Bytes: maxBytes).utf8) }

    /// Writes planes as `ByteReader.readPlanes` reads them, `FrameLayout.maxPlanes` at most.
    mutating func write(_ layout: FrameLayout) {
        for plane in layout.planes.prefix(FrameLayout.maxPlanes) {
            write(plane.offset)
            write(plane.stride)
            write(UInt32(0))
        }
    }
}

extension String {
    /// The scalars that fit into `limit` bytes of UTF-8.
    fileprivate func prefix(maxUTF8Bytes limit: Int) -> String {
        guard utf8.count > limit else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: limit)
        while end.samePosition(in: unicodeScalars) == nil { utf8.formIndex(before: &end) }
        return String(self[..<end])
    }
}
