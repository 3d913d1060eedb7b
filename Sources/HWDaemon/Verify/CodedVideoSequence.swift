// SPDX-License-Identifier: GPL-2.0-or-later

/// The coded pictures since an IDR picture, so that a decoder that was drained can be replaced.
struct CodedVideoSequence {
    struct Picture {
        var pts: Int64
        /// NAL units with 4-byte lengths.
        var bytes: [UInt8]

        /// Whether its first slice is of an IDR picture: nal_unit_type 19 or 20 (H.265 table 7-1).
        var isIDR: Bool {
            var start = 0
            while start + 4 < bytes.count {
                let type = bytes[start + 4] >> 1 & 0x3F
                if type < 32 { return type == 19 || type == 20 }
                start += 4 + bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
            }
            return false
        }
    }

    /// The hvcC record of the decoder, in hexadecimal.
    let record: String
    /// Nil where they are too many.
    private var pictures: [Picture]? = []
    private var byteCount = 0
    /// Pictures of the stream so far, and how many of them were decoded again.
    private var total = 0
    private var repeated = 0

    private static let maxBytes = 16 << 20
    /// Decoding again may cost so many pictures for each of the stream, and so many at once at the beginning.
    private static let maxRepeats = 4, sparedRepeats = 120

    init(record: String = "") { self.record = record }

    mutating func add(_ picture: Picture) {
        total += 1
        // A CRA picture's leading pictures need what is before it.
        if picture.isIDR { (pictures, byteCount) = ([], 0) }
        // With what describes it.
        byteCount += picture.bytes.count + 128
        pictures = byteCount > Self.maxBytes ? nil : pictures
        pictures?.append(picture)
    }

    /// The pictures that another decoder needs; nil where they would cost too much.
    ///
    /// A client that waits after each frame makes a decoder return all pictures each time, which would be quadratic.
    mutating func takePictures() -> [Picture]? {
        guard let pictures, repeated + pictures.count <= Self.maxRepeats * total + Self.sparedRepeats else {
            return nil
        }
        repeated += pictures.count
        return pictures
    }
}
