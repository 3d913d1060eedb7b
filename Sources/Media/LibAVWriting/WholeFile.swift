// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDHEVC
internal import HWDLibAVReading
public import HWDMetadata
public import HWDSystem

/// Reads and writes files in a single call; what is written gets its name when it is complete.
public enum WholeFile {
    /// Writes bytes.
    ///
    /// - Parameters:
    ///   - inputs: files that must not be replaced.
    ///   - replaces: whether a file of that name is replaced; otherwise it is an error.
    ///   - group: the group that gives the file its name; nil where it gets its name at once.
    /// - Throws: `cannotCreate`, `cannotWrite`; `usage` for a path that is one of `inputs`.
    public static func write(
        _ bytes: [UInt8], to path: String, inputs: [String] = [], replaces: Bool = true, group: FileGroup? = nil
    ) throws(MediaError) {
        let file: AtomicFile
        if let group {
            file = try group.file(path: path, inputs: inputs)
        } else {
            file = try AtomicFile(path: path, inputs: inputs, replaces: replaces)
        }
        let sink = ByteSink.file(file)
        try sink.write(bytes)
        try sink.finish(sync: false)
    }

    /// Writes coded pictures as a byte stream (H.265 Annex B).
    ///
    /// - Parameters:
    ///   - pictures: access units whose NAL units have 4-byte lengths, and whether decoding can start there.
    ///   - record: the hvcC record (ISO/IEC 14496-15 8.3.3.1) with their parameter sets.
    /// - Throws: `usage` for a damaged record or access unit; `cannotCreate`, `cannotWrite`.
    public static func write(
        _ pictures: [(bytes: [UInt8], isSync: Bool)], record: [UInt8], toAnnexB path: String, inputs: [String] = []
    ) throws(MediaError) {
        let parsed: DecoderConfigurationRecord
        do throws(BitstreamError) { parsed = try DecoderConfigurationRecord(bytes: record) } catch {
            throw MediaError(.usage, "the hvcC record is damaged: \(error.reason)")
        }
        var writer = AnnexBWriter(sink: .file(try AtomicFile(path: path, inputs: inputs)), record: parsed)
        for picture in pictures {
            let unit = picture.bytes.withUnsafeBytes { bytes -> Result<Void, MediaError> in
                do throws(MediaError) { return .success(try writer.write(bytes, isSync: picture.isSync)) } catch {
                    return .failure(error)
                }
            }
            try unit.get()
        }
        try writer.finish(sync: false)
    }

    /// Reads a small file, such as a profile or a document.
    ///
    /// - Throws: `noInput`, `noPermission`, `io`; `badInput` for an empty or a larger one.
    public static func read(_ path: String, most: Int) throws(MediaError) -> [UInt8] {
        try read(path) { (count) throws(MediaError) in
            guard count > 0, count <= most else {
                throw MediaError(.badInput, "\(path) has \(count) bytes; 1 to \(most) are possible")
            }
            return count
        }
    }

    /// Reads a file whose size is known.
    ///
    /// - Parameter content: what has that size, for the error.
    /// - Throws: `noInput`, `noPermission`, `io`; `badInput` for a file of another size.
    public static func read(_ path: String, exactly size: Int, for content: String) throws(MediaError) -> [UInt8] {
        try read(path) { (count) throws(MediaError) in
            guard count == size else {
                throw MediaError(.badInput, "\(path) has \(count) bytes; \(content) has \(size)")
            }
            return count
        }
    }

    /// Reads the first bytes of a file, `most` of them where it has more.
    ///
    /// - Throws: `noInput`, `noPermission`, `io`; `badInput` for what is no file.
    static func beginning(_ path: String, most: Int) throws(MediaError) -> [UInt8] {
        try read(path) { (count) throws(MediaError) in min(count, most) }
    }

    /// Whether a path names a file: not a pattern of names, nor a pipe.
    public static func isFile(_ path: String) -> Bool {
        var status = stat()
        return stat(FileName.bytes(path), &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    /// Reads as many of a file's first bytes as `extent` returns for its size.
    private static func read(
        _ path: String, extent: (Int) throws(MediaError) -> Int
    ) throws(MediaError) -> [UInt8] {
        // A FIFO without a writer does not block.
        let descriptor = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw .opening(path, errno: errno) }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw MediaError(.badInput, "\(path) is no file")
        }
        let count = try extent(Int(status.st_size))
        guard count > 0 else { return [] }
        var failure: Int32 = 0
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            failure = PositionedIO.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer), at: 0)
            filled = failure == 0 ? count : 0
        }
        guard failure == 0 else { throw MediaError(.io, "\(path): \(MediaError.text(ofErrno: failure))") }
        return bytes
    }
}
