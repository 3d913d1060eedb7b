// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes

extension InputFile {
    /// Where a movie in fragments that ends within one, as that of a recorder that died can, is whole up to; nil for other files.
    ///
    /// What follows is not read: libavformat refuses a file that ends within the boxes of a fragment.
    func endOfWholeFragments() -> Int64? {
        guard isSeekable, kind == .media, bytes(at: 4, upTo: 4).elementsEqual("ftyp".utf8) else { return nil }
        var (position, hasMovie) = (Int64(0), false)
        // The last fragment whose data follows.
        var fragment: Int64?
        var count = 0
        while let header = BoxHeader(bytes(at: position, upTo: Box.largeHeaderSize), available: .max),
            let size = Int64(exactly: header.size), position <= .max - size
        {
            if header.type == "moov" { hasMovie = true }
            if header.type == "moof" {
                guard hasMovie else { return nil }
                count += 1
                fragment = position
            }
            let end = position + size
            if bytes(at: end - 1, upTo: 1).isEmpty {
                // Its own boxes, or their data, are cut off; the first fragment is left for the error that it causes.
                let isOfFragment = header.type == "moof" || header.type == "mdat"
                return isOfFragment && count > 1 ? fragment : nil
            }
            position = end
        }
        // The header of the next box is cut off.
        return nil
    }

    /// Says that the end of a recording is not read; nil where all of it is.
    var cutRecordingWarning: String? {
        guard endOfWholeFragments() != nil else { return nil }
        return "warning: \(name) ends within a fragment, which is left out; hwctl repair finishes the file and keeps more"
    }
}
