// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc

/// Changes the `moov` of a finished file and puts it before the samples, so that playing can begin at once.
///
/// Works in the file itself: the samples are moved once, from the end to the front, by the size of the `moov`.
enum MovieFile {
    /// A top-level box.
    struct Entry: Hashable {
        let type: FourCC
        let offset: UInt64
        let size: UInt64
        var end: UInt64 { offset + size }
    }

    /// The largest `moov` that is taken into memory: that of ten hours at 240 frames a second is a tenth of it.
    static let maxMovieSize: UInt64 = 1 << 30
    private static let maxEntries = 1 << 16
    private static let blockSize = 4 << 20

    /// Has `edit` change the movie box of the file behind `descriptor`, then lays it out as `ftyp`, `moov`, the rest.
    ///
    /// A file whose samples' places do not stand in `moov` (fragments) is refused.
    /// - Throws: what is wrong with the file, or the failed system call; the file is then of no use.
    static func finish(
        _ descriptor: Int32, edit: (inout Box) throws(BoxError) -> Void
    ) throws(BoxError) {
        let entries = try entries(descriptor)
        guard let place = entries.firstIndex(where: { $0.type == "moov" }) else {
            throw BoxError("there is no moov box")
        }
        let old = entries[place]
        var movie = try movie(descriptor, old)
        guard movie.first("mvex") == nil else { throw BoxError("a fragmented movie cannot be changed") }
        try edit(&movie)
        let front = entries.first.flatMap { $0.type == "ftyp" ? $0.end : nil } ?? 0
        guard old.offset >= front else { throw BoxError("the moov box comes before ftyp") }

        try relocate(&movie, from: old, to: front)
        let size = UInt64(movie.size)
        let end = entries.last?.end ?? 0
        // First what follows the old box: its new place reaches into that box only, not into what precedes it.
        try move(descriptor, old.end..<end, to: front + size + (old.offset - front))
        try move(descriptor, front..<old.offset, to: front + size)
        try write(descriptor, movie.bytes, at: front)
        guard ftruncate(descriptor, off_t(end - old.size + size)) == 0 else { throw failure() }
    }

    /// The top-level boxes of a file.
    ///
    /// - Parameter isWhole: whether all of the file must be whole boxes; else those before the first that is not will do.
    static func entries(_ descriptor: Int32, isWhole: Bool = true) throws(BoxError) -> [Entry] {
        // Everything here reads and writes at given places, so the descriptor's own does not matter.
        let length = lseek(descriptor, 0, SEEK_END)
        guard length >= 0 else { throw failure() }
        let end = UInt64(length)
        var entries: [Entry] = []
        var position: UInt64 = 0
        while position < end {
            let head = try read(descriptor, at: position, Int(min(end - position, UInt64(Box.largeHeaderSize))))
            guard let header = BoxHeader(head, available: end - position), header.isWhole,
                entries.count < maxEntries
            else {
                guard isWhole else { break }
                throw BoxError("the box at byte \(position) is damaged")
            }
            entries.append(Entry(type: header.type, offset: position, size: header.size))
            position += header.size
        }
        return entries
    }

    /// The movie box at `entry`, taken apart.
    static func movie(_ descriptor: Int32, _ entry: Entry) throws(BoxError) -> Box {
        guard entry.size <= maxMovieSize else { throw BoxError("the moov box has \(entry.size) bytes") }
        guard let box = try Box.parse(try read(descriptor, at: entry.offset, Int(entry.size))[...]).first else {
            throw BoxError("the moov box is empty")
        }
        return box
    }

    /// Has the chunk offsets of `movie` point to where the samples lie once it moved from `old` to `front`.
    ///
    /// Offsets that outgrow 32 bits make every track's wider, which makes the movie larger: at most once.
    static func relocate(_ movie: inout Box, from old: Entry, to front: UInt64) throws(BoxError) {
        for _ in 0..<2 {
            let size = UInt64(movie.size)
            let fits = try ChunkOffsets.map(&movie) { offset throws(BoxError) in
                if offset < front { return offset }
                if offset < old.offset { return offset + size }
                guard offset >= old.end, offset <= UInt64(Int64.max) else {
                    throw BoxError("a chunk offset leads into the moov box or out of all files")
                }
                return offset - old.size + size
            }
            if fits { return }
            try ChunkOffsets.widen(&movie)
        }
    }

    /// Copies a range of the file to where it may overlap itself.
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

    private static func read(_ descriptor: Int32, at offset: UInt64, _ count: Int) throws(BoxError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var error: Int32 = 0
        bytes.withUnsafeMutableBytes { buffer in
            var done = 0
            while done < count, error == 0 {
                let now = pread(
                    descriptor, buffer.baseAddress.map { $0 + done }, count - done, off_t(offset) + done)
                if now > 0 { done += now } else if now == 0 { error = EIO } else if errno != EINTR { error = errno }
            }
        }
        guard error == 0 else { throw failure(error) }
        return bytes
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8], at offset: UInt64) throws(BoxError) {
        var error: Int32 = 0
        bytes.withUnsafeBytes { buffer in
            var done = 0
            while done < buffer.count, error == 0 {
                let now = pwrite(
                    descriptor, buffer.baseAddress.map { $0 + done }, buffer.count - done, off_t(offset) + done)
                if now > 0 { done += now } else if now == 0 { error = EIO } else if errno != EINTR { error = errno }
            }
        }
        guard error == 0 else { throw failure(error) }
    }

    private static func failure(_ error: Int32 = errno) -> BoxError { BoxError(MediaError.text(ofErrno: error)) }
}
