// SPDX-License-Identifier: GPL-2.0-or-later
// The members of stat belong to the first C module of the target that includes its header.
internal import CHWDLibAV
internal import Glibc
internal import HWDHEIF
package import HWDMetadata
internal import HWDSystem
package import HWImages

extension StillInput {
    /// Opens an input; nil for one that is no HEIF file, or cannot be read twice.
    ///
    /// - Throws: `badInput`, `unsupported` or `io` for a HEIF file that cannot be read.
    package convenience init?(_ input: InputFile) throws(MediaError) {
        guard input.isSeekable, let descriptor = input.descriptor,
            let source = StillBytes(descriptor, owner: input),
            Self.isHEIF(input.bytes(at: 0, upTo: Self.headSize))
        else { return nil }
        do throws(HEIFError) {
            try self.init(input.path, source)
        } catch { throw MediaError(error, input.path) }
    }

    /// Opens a file by its name; nil for what is no HEIF file.
    ///
    /// Pipes are not touched: their first bytes cannot be read twice.
    /// - Throws: as for an open input.
    package static func open(_ path: String) throws(MediaError) -> StillInput? {
        var status = stat()
        guard path != "-", stat(FileName.bytes(path), &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size > 0
        else { return nil }
        return try StillInput(try InputFile(path))
    }

    /// The TIFF structure of an Exif item.
    ///
    /// - Throws: `badInput` where it is damaged.
    package func tiff(of item: UInt32) throws(MediaError) -> [UInt8] {
        do throws(HEIFError) { return try file.exif(item, from: source) } catch { throw MediaError(error, path) }
    }
}

extension MediaError {
    /// The error for a HEIF file that cannot be read.
    package init(_ error: HEIFError, _ path: String) { self.init(ImageError(error, path)) }

    /// An error of reading or writing pictures.
    init(_ error: ImageError) {
        let kind: Kind =
            switch error.code {
            case .noInput: .noInput
            case .noPermission: .noPermission
            case .unsupported: .unsupported
            case .parameter: .usage
            case .cannotCreate: .cannotCreate
            case .cancelled: .interrupted
            case .io, .noHardware, .client, .fault: .io
            case .damaged, .noSuchPicture: .badInput
            }
        self.init(kind, error.reason)
    }
}
