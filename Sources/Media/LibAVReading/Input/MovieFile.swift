// SPDX-License-Identifier: GPL-2.0-or-later
// errno belongs to the first C module of the target that includes its header.
internal import CHWDLibAV
package import HWDBoxes
internal import Glibc
internal import HWDMetadata
internal import HWDSystem

/// The top-level boxes of a movie file, and its movie box.
package enum MovieFile {
    /// A top-level box.
    package struct Entry: Hashable {
        package let type: FourCC
        package let offset: UInt64
        package let size: UInt64
        package var end: UInt64 { offset + size }
    }

    /// The largest `moov` that is read into memory; ten hours at 240 frames a second need a tenth of it.
    static let maxMovieSize: UInt64 = 1 << 30
    private static let maxEntries = 1 << 16

    /// The top-level boxes of a file.
    ///
    /// - Parameter isWhole: whether a damaged box is an error; otherwise it ends the list.
    package static func entries(_ descriptor: Int32, isWhole: Bool = true) throws(BoxError) -> [Entry] {
        // All other access is positioned, so the descriptor's file offset may change.
        let length = lseek(descriptor, 0, SEEK_END)
        guard length >= 0 else { throw failure(errno) }
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

    /// The bytes of a file up to the end of its movie box; none where there is no such box, or samples precede it.
    package static func head(_ descriptor: Int32) -> [UInt8] {
        guard let entries = try? Self.entries(descriptor, isWhole: false),
            let index = entries.firstIndex(where: { $0.type == "moov" }), entries[index].end <= maxMovieSize,
            !entries[..<index].contains(where: { $0.type == "mdat" })
        else { return [] }
        return (try? read(descriptor, at: 0, Int(entries[index].end))) ?? []
    }

    /// Reads and parses the movie box at `entry`.
    package static func movie(_ descriptor: Int32, _ entry: Entry) throws(BoxError) -> Box {
        guard entry.size <= maxMovieSize else { throw BoxError("the moov box has \(entry.size) bytes") }
        guard let box = try Box.parse(try read(descriptor, at: entry.offset, Int(entry.size))[...]).first else {
            throw BoxError("the moov box is empty")
        }
        return box
    }

    /// Reads bytes that the file has.
    package static func read(_ descriptor: Int32, at offset: UInt64, _ count: Int) throws(BoxError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        let error = bytes.withUnsafeMutableBytes { PositionedIO.read(descriptor, into: $0, at: Int64(offset)) }
        guard error == 0 else { throw failure(error) }
        return bytes
    }

    /// The error for an errno.
    package static func failure(_ error: Int32) -> BoxError {
        BoxError(MediaError.text(ofErrno: error), isIO: true)
    }
}
