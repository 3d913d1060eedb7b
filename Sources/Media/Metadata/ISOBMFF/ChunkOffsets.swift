// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes

/// The chunk offsets of a movie's tracks: the file positions of their samples (ISO/IEC 14496-12 8.7.5).
package enum ChunkOffsets {
    /// Replaces every offset in `movie` by `map`'s result for it.
    /// - Returns: false, and `movie` is unchanged, when an offset outgrows the 32 bits of its `stco`.
    package static func map(
        _ movie: inout Box, _ map: (UInt64) throws(BoxError) -> UInt64
    ) throws(BoxError) -> Bool {
        var copy = movie
        var fits = true
        try copy.forEach { box throws(BoxError) in
            guard box.type == "stco" || box.type == "co64" else { return }
            let offsets = try read(box)
            var fields = Array(box.fields.prefix(headSize))
            fields.reserveCapacity(box.fields.count)
            for offset in offsets {
                let moved = try map(offset)
                if box.type == "co64" {
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
    package static func widen(_ movie: inout Box) throws(BoxError) {
        try movie.forEach { box throws(BoxError) in
            guard box.type == "stco" else { return }
            var fields = Array(box.fields.prefix(headSize))
            for offset in try read(box) { fields.appendBigEndian(offset) }
            box = Box("co64", fields)
        }
    }

    /// Version, flags and the number of entries.
    private static let headSize = 8

    private static func read(_ box: Box) throws(BoxError) -> [UInt64] {
        let columns = box.type == "co64" ? 2 : 1
        guard let table = BigEndianTable(box.fields, rowsAt: headSize, columns: columns), table.fillsBox else {
            throw BoxError("the box \"\(box.type)\" does not have the size that its number of offsets requires")
        }
        return (0..<table.rowCount).map(table.number)
    }
}
