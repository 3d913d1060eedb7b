// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDBoxes
public import HWDHEIF
internal import HWDSystem

/// A file of still pictures: HEIC and its relatives (ISO/IEC 23008-12).
public final class StillInput: Sendable {
    /// The path it was opened with.
    public let path: String
    /// Its structure.
    public let file: HEIFFile
    /// Its bytes, which are read as they are needed.
    public let source: StillBytes

    /// Opens an input; nil for one that is no HEIF file, or cannot be read twice.
    ///
    /// - Throws: `badInput`, `unsupported` or `io` for a HEIF file that cannot be read.
    public convenience init?(_ input: InputFile) throws(MediaError) {
        guard let source = StillBytes(input), Self.isHEIF(input.bytes(at: 0, upTo: Self.headSize)) else {
            return nil
        }
        do throws(HEIFError) {
            try self.init(input.path, source)
        } catch { throw MediaError(error, input.path) }
    }

    /// Opens a file by its name; nil for what is no HEIF file.
    ///
    /// Pipes are not touched: their first bytes cannot be read twice.
    /// - Throws: as for an open input.
    public static func open(_ path: String) throws(MediaError) -> StillInput? {
        var status = stat()
        guard path != "-", stat(FileName.bytes(path), &status) == 0, status.st_mode & S_IFMT == S_IFREG,
            status.st_size > 0
        else { return nil }
        return try StillInput(try InputFile(path))
    }

    private init(_ path: String, _ source: StillBytes) throws(HEIFError) {
        (self.path, self.source) = (path, source)
        file = try HEIFFile(source)
    }

    private init(_ path: String, _ source: StillBytes, _ file: HEIFFile) {
        (self.path, self.source, self.file) = (path, source, file)
    }

    /// One picture of the image sequence, from 1, with its alpha.
    ///
    /// - Throws: `badInput` without a sequence or for a number without a picture; `unsupported` for pictures that refer to
    ///   each other.
    public func picture(ofSequence number: Int) throws(MediaError) -> StillInput {
        let picture = try naming { () throws(HEIFError) in try file.picture(ofSequence: number) }
        return StillInput(path, source, picture)
    }

    /// Whether the file shows pictures one after another first of all, as a video does.
    public var isSequence: Bool {
        guard file.sequence != nil else { return false }
        return file.primary == nil
            || ["msf1", "hevc", "hevx", "hevm", "hevs", "avis", "avcs"].contains(file.majorBrand)
    }

    /// Calls `body`, whose errors become ones that name the file.
    public func naming<Value>(_ body: () throws(HEIFError) -> Value) throws(MediaError) -> Value {
        do throws(HEIFError) { return try body() } catch { throw MediaError(error, path) }
    }

    /// Bytes of the first box that are looked at.
    private static let headSize = 256
    /// Major brands of HEIF; a movie may list them as compatible ones.
    private static let majorBrands = [
        "mif1", "mif2", "mif3", "msf1", "heic", "heix", "heim", "heis", "hevc", "hevx", "hevm", "hevs", "avif",
        "avis", "avci", "avcs", "jpeg", "jpgs",
    ]

    /// Whether a file that begins with these bytes is a HEIF file, by its major brand.
    private static func isHEIF(_ head: [UInt8]) -> Bool {
        guard head.count >= 16, head[4..<8].elementsEqual("ftyp".utf8) else { return false }
        return majorBrands.contains(String(decoding: head[8..<12], as: UTF8.self))
    }
}

/// The bytes of an open file.
public struct StillBytes: ByteSource, Sendable {
    private let input: InputFile
    private let descriptor: Int32
    /// Bytes of the file.
    public let length: UInt64

    /// nil for an input that is no file.
    fileprivate init?(_ input: InputFile) {
        guard input.isSeekable, let descriptor = input.descriptor else { return nil }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 0 else {
            return nil
        }
        (self.input, self.descriptor, length) = (input, descriptor, UInt64(status.st_size))
    }

    /// Reads a range with pread(2).
    public func read(_ range: Range<UInt64>) throws(HEIFError) -> [UInt8] {
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
        guard failure == 0 else { throw HEIFError(.unreadable, MediaError.text(ofErrno: failure)) }
        return bytes
    }
}

extension MediaError {
    /// The error for a HEIF file that cannot be read.
    init(_ error: HEIFError, _ path: String) {
        let kind: Kind =
            switch error.code {
            case .unreadable: .io
            case .unsupported: .unsupported
            default: .badInput
            }
        self.init(kind, "\(path): \(error.reason)")
    }
}
