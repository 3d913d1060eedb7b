// SPDX-License-Identifier: GPL-2.0-or-later
// errno belongs to the first C module of the target that includes its header.
internal import CHWDLibAV
internal import Glibc
internal import HWDBoxes
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDSystem

/// Edits the `moov` of a finished file and moves it in front of the samples ("fast start").
///
/// Works in place: the samples are moved once, from the last to the first, by the size of the `moov`.
extension MovieFile {
    private static let blockSize = 4 << 20

    /// Applies `edit` to the movie box of the open file, then lays the file out as `ftyp`, `moov`, the rest.
    ///
    /// Fragmented files are refused: the positions of their samples are not in `moov`.
    /// - Parameter brands: compatible brands to add to `ftyp` (ISO/IEC 14496-12 4.3).
    /// - Throws: the fault in the file, or the failed system call, after which the file is unusable.
    static func finish(
        _ descriptor: Int32, brands: [FourCC] = [], edit: (inout Box) throws(BoxError) -> Void
    ) throws(BoxError) {
        let entries = try entries(descriptor)
        guard let index = entries.firstIndex(where: { $0.type == "moov" }) else {
            throw BoxError("the file has no moov box")
        }
        let old = entries[index]
        var movie = try movie(descriptor, old)
        guard movie.first("mvex") == nil else { throw BoxError("a fragmented movie cannot be edited") }
        try edit(&movie)
        let front = entries.first.flatMap { $0.type == "ftyp" ? $0.end : nil } ?? 0
        guard old.offset >= front else { throw BoxError("the moov box precedes ftyp") }

        // Brands are at the end of `ftyp`, so they are inserted together with the movie box.
        var added: [UInt8] = []
        for brand in brands where front > 0 { added.appendBigEndian(brand.rawValue) }
        try relocate(&movie, from: old, to: front, extra: UInt64(added.count))
        let size = UInt64(movie.size + added.count)
        let end = entries.last?.end ?? 0
        // What follows the old box moves first: its new range overlaps that box only, not what precedes it.
        try move(descriptor, old.end..<end, to: front + size + (old.offset - front))
        try move(descriptor, front..<old.offset, to: front + size)
        try write(descriptor, added + movie.bytes, at: front)
        if !added.isEmpty {
            var bytes: [UInt8] = []
            bytes.appendBigEndian(UInt32(clamping: front + UInt64(added.count)))
            try write(descriptor, bytes, at: 0)
        }
        guard ftruncate(descriptor, off_t(end - old.size + size)) == 0 else { throw failure(errno) }
    }

    /// Adjusts the chunk offsets of `movie` to its move from `old` to `front`.
    ///
    /// Offsets that outgrow 32 bits are widened in every track, which enlarges the movie; this happens at most once.
    ///
    /// - Parameter extra: bytes that are inserted before the movie.
    static func relocate(
        _ movie: inout Box, from old: Entry, to front: UInt64, extra: UInt64 = 0
    ) throws(BoxError) {
        for _ in 0..<2 {
            let size = UInt64(movie.size) + extra
            let fits = try ChunkOffsets.map(&movie) { offset throws(BoxError) in
                if offset < front { return offset }
                if offset < old.offset { return offset + size }
                guard offset >= old.end, offset <= UInt64(Int64.max) else {
                    throw BoxError("a chunk offset points into the moov box or exceeds any file size")
                }
                return offset - old.size + size
            }
            if fits { return }
            try ChunkOffsets.widen(&movie)
        }
    }

    /// Moves a range of the file to a position where it may overlap itself.
    private static func move(
        _ descriptor: Int32, _ range: Range<UInt64>, to target: UInt64
    ) throws(BoxError) {
        guard target != range.lowerBound else { return }
        var (left, isUpwards) = (range, target > range.lowerBound)
        while !left.isEmpty {
            let count = min(UInt64(left.count), UInt64(blockSize))
            let source = isUpwards ? left.upperBound - count : left.lowerBound
            let block = try read(descriptor, at: source, Int(count))
            try write(descriptor, block, at: target + (source - range.lowerBound))
            left = isUpwards ? left.lowerBound..<source : source + count..<left.upperBound
        }
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8], at offset: UInt64) throws(BoxError) {
        let error = bytes.withUnsafeBytes { PositionedIO.write(descriptor, $0, at: Int64(offset)) }
        guard error == 0 else { throw failure(error) }
    }
}
