// SPDX-License-Identifier: MIT
internal import HWDModel

// Fields of frames that several messages have.

extension ByteWriter {
    /// `chroma_location` of an unspecified one.
    static let noChromaLocation = UInt8.max

    /// Writes has_color, and the color description that follows it: 6 bytes, the last 5 without meaning for nil.
    mutating func write(_ color: ColorDescription?) {
        let value = color ?? ColorDescription()
        for byte in [
            color == nil ? 0 : 1, value.primaries, value.transfer, value.matrix, value.isFullRange ? 1 : 0,
            value.chromaLocation ?? Self.noChromaLocation,
        ] { write(byte) }
    }

    /// Writes side data, `FrameSideData.maxEntries` at most: kind u32, size u32, bytes each.
    mutating func write(_ sideData: [FrameSideData]) {
        for data in sideData.prefix(FrameSideData.maxEntries) {
            write(data.kind.rawValue)
            write(UInt32(data.bytes.count))
            write(bytes: data.bytes)
        }
    }
}

extension ByteReader {
    /// Reads what `ByteWriter.write` writes of a color; nil where has_color is 0.
    ///
    /// - Throws: `Parameter` for flags that are neither 0 nor 1.
    mutating func readColor(from bytes: RawSpan) throws(SessionError) -> ColorDescription? {
        let hasColor = try read(UInt8.self, from: bytes)
        let primaries = try read(UInt8.self, from: bytes)
        let transfer = try read(UInt8.self, from: bytes)
        let matrix = try read(UInt8.self, from: bytes)
        let range = try read(UInt8.self, from: bytes)
        let location = try read(UInt8.self, from: bytes)
        guard hasColor <= 1, range <= 1 else {
            throw SessionError(.parameter, "a frame's color has unknown flags")
        }
        guard hasColor == 1 else { return nil }
        return ColorDescription(
            primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: range == 1,
            chromaLocation: location == ByteWriter.noChromaLocation ? nil : location)
    }

    /// Reads `count` entries of side data; the caller has checked the count.
    ///
    /// - Throws: `Parameter` for an unknown kind, a size that the kind does not have, and more than `FrameSideData.maxBytes`.
    mutating func readSideData(_ count: Int, from bytes: RawSpan) throws(SessionError) -> [FrameSideData] {
        var entries: [FrameSideData] = []
        var total = 0
        for _ in 0..<count {
            let number = try read(UInt32.self, from: bytes)
            let size = Int(try read(UInt32.self, from: bytes))
            guard let kind = FrameSideData.Kind(rawValue: number) else {
                throw SessionError(.parameter, "side data are of unknown kind \(number)")
            }
            total += size
            guard size == kind.size ?? size, total <= FrameSideData.maxBytes else {
                throw SessionError(.parameter, "side data of kind \(number) have \(size) bytes")
            }
            entries.append(FrameSideData(kind, try readBytes(size, of: bytes)))
        }
        return entries
    }
}
