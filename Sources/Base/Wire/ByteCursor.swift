// SPDX-License-Identifier: MIT
public import HWDModel

/// Reads little-endian fields of a message's payload, front to back, and never past its end.
///
/// Safe: `SessionPayload.reading` keeps the payload while its reader exists, and `take` checks every bound.
@safe public struct ByteReader: FieldCoder {
    private let payload: UnsafeRawBufferPointer
    private let size: Int
    public private(set) var position = 0
    public var isReading: Bool { true }

    /// A reader of no bytes, for messages without fields.
    public init() { self = unsafe ByteReader(UnsafeRawBufferPointer(start: nil, count: 0)) }

    @unsafe init(_ payload: UnsafeRawBufferPointer) { unsafe (self.payload, size) = (payload, payload.count) }

    public mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ value: inout T) throws(SessionError) {
        let offset = try take(MemoryLayout<T>.size)
        // Every bit pattern of an integer is a value.
        value = T(littleEndian: unsafe payload.loadUnaligned(fromByteOffset: offset, as: T.self))
    }

    public mutating func bytes(_ value: inout [UInt8], count: Int?) throws(SessionError) {
        let count = count ?? size - position
        let offset = try take(count)
        value = unsafe Array(payload[offset..<offset + count])
    }

    public mutating func text(_ value: inout String, maxBytes: Int) {
        value = unsafe String(decoding: payload[position...], as: UTF8.self).prefix(maxUTF8Bytes: maxBytes)
        position = size
    }

    public func check(_ isValid: @autoclosure () -> Bool, _ reason: @autoclosure () -> String) throws(SessionError)
    {
        guard isValid() else { throw SessionError(.parameter, reason()) }
    }

    public func end() throws(SessionError) { try expectEnd(of: size) }

    /// Checks that no byte of `payload` is left over.
    ///
    /// - Throws: `Parameter` when the payload is longer than its fields.
    public func expectEnd(of payload: RawSpan) throws(SessionError) { try expectEnd(of: payload.byteCount) }

    private func expectEnd(of size: Int) throws(SessionError) {
        try check(position == size, "a message has \(size - position) bytes too many")
    }

    /// Advances by `count` bytes and returns their offset.
    private mutating func take(_ count: Int) throws(SessionError) -> Int {
        try check(0...size - position ~= count, "a message of \(size) bytes is too short")
        defer { position += count }
        return position
    }
}

/// Writes little-endian fields into a payload, reusing its memory from message to message.
public struct ByteWriter: FieldCoder, Sendable {
    /// The payload so far.
    public private(set) var bytes: [UInt8] = []
    public var position: Int { bytes.count }
    public var isReading: Bool { false }

    public init(capacity: Int = 256) { bytes.reserveCapacity(capacity) }

    /// Starts the next payload; keeps the memory.
    public mutating func clear() { bytes.removeAll(keepingCapacity: true) }

    /// Appends a payload's fields.
    mutating func write(_ payload: some SessionPayload) {
        var copy = payload
        copy.code(&self)
    }

    public mutating func integer<T: FixedWidthInteger & BitwiseCopyable>(_ value: inout T) {
        var rest = value.littleEndian
        for _ in 0..<MemoryLayout<T>.size {
            bytes.append(UInt8(truncatingIfNeeded: rest))
            rest = T.bitWidth > 8 ? rest >> 8 : 0
        }
    }

    public mutating func bytes(_ value: inout [UInt8], count: Int?) { bytes.append(contentsOf: value) }

    public mutating func text(_ value: inout String, maxBytes: Int) {
        bytes.append(contentsOf: value.prefix(maxUTF8Bytes: maxBytes).utf8)
    }

    public func check(_ isValid: @autoclosure () -> Bool, _ reason: @autoclosure () -> String) throws(Never) {}

    public func end() throws(Never) {}
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
