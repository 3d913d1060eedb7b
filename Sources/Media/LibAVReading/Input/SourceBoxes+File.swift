// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDMetadata

extension SourceBoxes {
    /// The largest `moov` of an input that is read into memory.
    private static let maxSize: UInt64 = 64 << 20

    /// Reads the movie box of a file; nil where there is none that can be parsed.
    ///
    /// Its absence is no error: libavformat decides whether the file is readable. Boxes after the movie box may be
    /// damaged or cut off.
    init?(_ file: InputFile) {
        if let known = file.contents ?? (file.held.isEmpty ? nil : file.held) {
            guard let movie = Self.movie(in: known) else { return nil }
            self.init(movie: movie)
            return
        }
        guard file.isSeekable, let descriptor = file.descriptor,
            let entry = (try? MovieFile.entries(descriptor, isWhole: false))?.first(where: { $0.type == "moov" }),
            entry.size <= Self.maxSize, let movie = try? MovieFile.movie(descriptor, entry)
        else { return nil }
        self.init(movie: movie)
    }

    /// The movie box in the beginning of a file; nil where it is not whole.
    private static func movie(in contents: [UInt8]) -> Box? {
        var position = 0
        while position < contents.count {
            let left = contents[position...]
            guard let header = BoxHeader(Array(left.prefix(Box.largeHeaderSize)), available: UInt64(left.count)),
                header.isWhole
            else { return nil }
            if header.type == "moov" { return (try? Box.parse(left.prefix(Int(header.size))))?.first }
            position += Int(header.size)
        }
        return nil
    }
}
