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

    /// APP1 of a JPEG file (Exif 2.32 4.7.2).
    private static func jpeg(_ bytes: [UInt8]) -> [UInt8]? {
        var place = 2
        while place + 4 <= bytes.count, bytes[place] == 0xFF, bytes[place + 1] != 0xDA {
            let length = Int(bytes[place + 2]) << 8 | Int(bytes[place + 3])
            let end = place + 2 + length
            guard length >= 2, end <= bytes.count else { return nil }
            let contents = bytes[(place + 4)..<end]
            if bytes[place + 1] == 0xE1, contents.starts(with: Array("Exif".utf8) + [0, 0]) {
                return Array(contents.dropFirst(6))
            }
            place = end
        }
        return nil
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
