// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEIF
internal import HWDLibAVReading
public import HWDMetadata
internal import HWImages

/// Reads the Exif of files: TIFF structures, JPEG, PNG and HEIF files.
public enum ExifSource {
    /// The most bytes of a file that are searched, and of Exif.
    private static let maxBytes = 64 << 20

    /// The most bytes of a TIFF file, whose fields may be behind its samples.
    private static let maxTIFF = 1 << 30

    /// The TIFF structure of a file; nil where it has none.
    ///
    /// - Throws: `noInput`, `noPermission`, `io`; `badInput` for a damaged HEIF file, and a TIFF file of more than 1 GiB.
    public static func read(_ path: String) throws(MediaError) -> [UInt8]? {
        if let still = try StillInput.open(path) {
            guard let primary = still.file.primary,
                let item = still.file.metadata(of: primary).first(where: { $0.kind == .exif })
            else { return nil }
            return try still.tiff(of: item.id)
        }
        let head = try WholeFile.beginning(path, most: 4)
        if head.starts(with: [0xFF, 0xD8]) { return jpeg(try WholeFile.beginning(path, most: maxBytes)) }
        switch head {
        case [0x89, 0x50, 0x4E, 0x47]: return png(try WholeFile.beginning(path, most: maxBytes))
        case [0x49, 0x49, 42, 0], [0x4D, 0x4D, 0, 42]:
            let bytes = try WholeFile.read(path, most: maxTIFF)
            return ExifFields(tiff: bytes) == nil ? nil : bytes
        default: return nil
        }
    }

    /// Whether a JPEG file has a gain map beside its picture: Ultra HDR's (XMP `hdrgm:`, in the picture that it is for), that of
    /// ISO 21496-1 (APP2), or Apple's.
    public static func hasGainMap(_ path: String) -> Bool {
        guard let head = try? WholeFile.beginning(path, most: 2), head == [0xFF, 0xD8],
            let bytes = try? WholeFile.beginning(path, most: maxBytes)
        else { return false }
        let marks: [(marker: UInt8, text: String)] = [
            (0xE1, "hdrgm:Version"), (0xE1, "HDRGainMapVersion"), (0xE2, "urn:iso:std:iso:ts:21496:-1"),
        ]
        return segments(bytes).contains { marker, contents in
            marks.contains { $0.marker == marker && contents.firstRange(of: $0.text.utf8) != nil }
        }
    }

    /// The segments of a JPEG file before its samples (ITU-T T.81 B.1.1.4), with their markers.
    private static func segments(_ bytes: [UInt8]) -> [(marker: UInt8, contents: ArraySlice<UInt8>)] {
        var (place, segments) = (2, [(UInt8, ArraySlice<UInt8>)]())
        while place + 4 <= bytes.count, bytes[place] == 0xFF, bytes[place + 1] != 0xDA {
            let length = Int(bytes[place + 2]) << 8 | Int(bytes[place + 3])
            let end = place + 2 + length
            guard length >= 2, end <= bytes.count else { break }
            segments.append((bytes[place + 1], bytes[(place + 4)..<end]))
            place = end
        }
        return segments
    }

    /// APP1 of a JPEG file (Exif 2.32 4.7.2).
    private static func jpeg(_ bytes: [UInt8]) -> [UInt8]? {
        segments(bytes).first { $0.marker == 0xE1 && $0.contents.starts(with: Array("Exif".utf8) + [0, 0]) }
            .map { Array($0.contents.dropFirst(6)) }
    }

    /// `eXIf` of a PNG file (PNG 3rd edition 11.3.4.5).
    private static func png(_ bytes: [UInt8]) -> [UInt8]? {
        var place = 8
        while place + 12 <= bytes.count {
            let length = bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
            guard length <= bytes.count - place - 12 else { return nil }
            if bytes[place + 4..<place + 8].elementsEqual("eXIf".utf8) {
                return Array(bytes[place + 8..<place + 8 + length])
            }
            place += 12 + length
        }
        return nil
    }
}
