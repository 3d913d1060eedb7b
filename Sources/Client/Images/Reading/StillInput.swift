// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDBoxes
package import HWDHEIF
internal import HWDSystem

/// A file of still pictures: HEIC and its relatives (ISO/IEC 23008-12).
package final class StillInput: Sendable {
    /// The path it was opened with.
    package let path: String
    /// Its structure.
    package let file: HEIFFile
    /// Its bytes, which are read as they are needed.
    package let source: StillBytes

    /// Opens a file of this process alone.
    ///
    /// - Throws: `noInput`, `noPermission`, `io`; `damaged` or `unsupported` for a file that is no HEIF file or damaged.
    package convenience init(path: String) throws(ImageError) {
        // A FIFO without a writer does not block.
        let descriptor = Glibc.open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw Self.opening(path, errno) }
        let owner = Descriptor(descriptor)
        guard let source = StillBytes(descriptor, owner: owner) else {
            throw ImageError(.damaged, "\(path) is no file, or empty")
        }
        do throws(HEIFError) {
            guard Self.isHEIF(try source.read(0..<min(UInt64(Self.headSize), source.length))) else {
                throw HEIFError(.malformed, "it is no HEIF file")
            }
            try self.init(path, source)
        } catch { throw ImageError(error, path) }
    }

    /// An open descriptor.
    private final class Descriptor: Sendable {
        let number: Int32
        init(_ number: Int32) { self.number = number }
        deinit { close(number) }
    }

    private static func opening(_ path: String, _ error: Int32) -> ImageError {
        let code: ImageError.Code =
            switch error {
            case ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG: .noInput
            case EACCES, EPERM: .noPermission
            default: .io
            }
        return ImageError(code, "\(path) cannot be opened: \(String(cString: strerror(error)))")
    }

    /// A file that `isHEIF` recognized.
    package init(_ path: String, _ source: StillBytes) throws(HEIFError) {
        (self.path, self.source) = (path, source)
        file = try HEIFFile(source)
    }

    private init(_ path: String, _ source: StillBytes, _ file: HEIFFile) {
        (self.path, self.source, self.file) = (path, source, file)
    }

    /// One picture of the image sequence, from 1, with its alpha.
    ///
    /// - Throws: `damaged` without a sequence or for a number without a picture; `unsupported` for pictures that refer to
    ///   each other.
    package func picture(ofSequence number: Int) throws(ImageError) -> StillInput {
        let picture = try naming { () throws(HEIFError) in try file.picture(ofSequence: number) }
        return StillInput(path, source, picture)
    }

    /// Whether the file shows pictures one after another first of all, as a video does.
    package var isSequence: Bool {
        guard file.sequence != nil else { return false }
        return file.primary == nil
            || ["msf1", "hevc", "hevx", "hevm", "hevs", "avis", "avcs"].contains(file.majorBrand)
    }

    /// Calls `body`, whose errors become ones that name the file.
    package func naming<Value>(_ body: () throws(HEIFError) -> Value) throws(ImageError) -> Value {
        do throws(HEIFError) { return try body() } catch { throw ImageError(error, path) }
    }

    /// Bytes of the first box that are looked at.
    package static let headSize = 256
    /// Major brands of HEIF; a movie may list them as compatible ones.
    private static let majorBrands = [
        "mif1", "mif2", "mif3", "msf1", "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "avif",
        "avis", "avci", "avcs", "jpeg", "jpgs",
    ]

    /// Whether a file that begins with these bytes is a HEIF file, by its major brand.
    package static func isHEIF(_ head: [UInt8]) -> Bool {
        guard head.count >= 16, head[4..<8].elementsEqual("ftyp".utf8) else { return false }
        return majorBrands.contains(String(decoding: head[8..<12], as: UTF8.self))
    }
}

/// The bytes of an open file.
package struct StillBytes: ByteSource, Sendable {
    /// Keeps the descriptor open.
    private let owner: any Sendable & AnyObject
    private let descriptor: Int32
    /// Bytes of the file.
    package let length: UInt64

    /// nil for a descriptor of anything but a file, and for an empty one.
    package init?(_ descriptor: Int32, owner: any Sendable & AnyObject) {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return nil
        }
        (self.owner, self.descriptor, length) = (owner, descriptor, UInt64(status.st_size))
    }

    /// Reads a range with pread(2).
    package func read(_ range: Range<UInt64>) throws(HEIFError) -> [UInt8] {
        guard range.upperBound <= length else {
            throw HEIFError(.truncated, "the file ends before byte \(range.upperBound)")
        }
        var failure: Int32 = 0
        let count = Int(range.upperBound - range.lowerBound)
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            failure = PositionedIO.read(
                descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: Int64(range.lowerBound))
            filled = failure == 0 ? count : 0
        }
        guard failure == 0 else { throw HEIFError(.unreadable, String(cString: strerror(failure))) }
        return bytes
    }
}
