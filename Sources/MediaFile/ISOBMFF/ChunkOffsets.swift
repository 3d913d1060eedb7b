// SPDX-License-Identifier: GPL-2.0-or-later

/// The chunk offsets of a movie's tracks: where in the file their samples lie (ISO/IEC 14496-12 8.7.5).
enum ChunkOffsets {
    /// Replaces every offset in `movie` by what `map` makes of it.
    /// - Returns: false, and nothing is changed, when an offset outgrew the 32 bits of its `stco`.
    static func map(
        _ movie: inout Box, _ map: (UInt64) throws(BoxError) -> UInt64
    ) throws(BoxError) -> Bool {
        var copy = movie
        var fits = true
        try copy.forEach { box throws(BoxError) in
            guard box.type == "stco" || box.type == "co64" else { return }
            let width = box.type == "stco" ? 4 : 8
            let offsets = try read(box, width)
            var fields = Array(box.fields.prefix(fieldSize))
            fields.reserveCapacity(fieldSize + offsets.count * width)
            for offset in offsets {
                let moved = try map(offset)
                if width == 8 {
                    fields.appendBigEndian(moved)
                } else {
                    fits = fits && moved <= UInt64(UInt32.max)
                    fields.appendBigEndian(UInt32(truncatingIfNeeded: moved))
                }
            }
            box.fields = fields
        }
        if fits { movie = copy }
        return fits
    }

    /// Turns every `stco` into a `co64` with the same offsets.
    static func widen(_ movie: inout Box) throws(BoxError) {
        try movie.forEach { box throws(BoxError) in
            guard box.type == "stco" else { return }
            let offsets = try read(box, 4)
            var fields = Array(box.fields.prefix(fieldSize))
            for offset in offsets { fields.appendBigEndian(offset) }
            box = Box("co64", fields)
        }
    }

    /// Version, flags and the number of entries.
    private static let fieldSize = 8

    private static func read(_ box: Box, _ width: Int) throws(BoxError) -> [UInt64] {
        guard let count = box.fields.bigEndian(at: 4, 4), Int(count) * width == box.fields.count - fieldSize else {
            throw BoxError("the box \"\(box.type)\" does not have the size its number of offsets asks for")
        }
        return box.fields.withUnsafeBytes { bytes in
            (0..<Int(count)).map { index in
                let place = fieldSize + index * width
                return width == 4
                    ? UInt64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self)))
                    : UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
            }
        }
    }
}
