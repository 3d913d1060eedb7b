// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDBoxes
internal import HWDEdits
public import HWDMetadata
internal import HWDSystem

/// An input, opened once: every reader of its bytes uses the same descriptor.
///
/// Readers of a seekable file use pread(2), each with its own position, so several can work on it at the same time.
/// The exception is `Y4MSource`, which uses read(2) and moves the descriptor's position. Only one can read a pipe; its
/// first bytes are recorded while it is opened, and `recorded` has them.
public final class InputFile: @unchecked Sendable {
    /// The code that reads an input.
    public enum Kind: Hashable, Sendable {
        /// YUV4MPEG2, parsed by this module: pipes that begin like it, and names that end in `.y4m`.
        case y4m
        /// A container or an elementary stream, demuxed by libavformat.
        case media
        /// One picture or a numbered series, which libavformat opens by name, file by file.
        case pictures
    }

    /// The path it was opened with; "-" is standard input.
    public let path: String
    /// The code that reads it.
    public let kind: Kind
    /// Whether it can be read more than once: not a pipe, and not pictures.
    public let isSeekable: Bool

    /// The files of a pattern like `frame-%04d.png`; nil for one file.
    let series: ImageSeries?
    /// The open file; nil for pictures, and for bytes in memory.
    let descriptor: Int32?
    /// The first bytes of a pipe; nil for other inputs.
    let head: PipeHead?
    /// The bytes of an input in memory; nil for files.
    let contents: [UInt8]?
    /// The bytes up to the end of the movie box, which every reader gets as they were when the file was opened; empty
    /// where readers read them from the file.
    package let held: [UInt8]

    /// Opens the file at `path`, standard input for "-", or finds the files of a pattern like `frame-%04d.png`.
    ///
    /// The first bytes of a pipe are read to recognize its format.
    /// - Parameter holdsMovie: whether a movie box in front of the samples is read at once, and never again.
    /// - Throws: `noInput`, `noPermission`, `badInput` for an empty file, `usage` for a URL, or `io`.
    public init(_ path: String, holdsMovie: Bool = false) throws(MediaError) {
        self.path = path
        contents = nil
        guard path != "-" else {
            held = []
            guard StandardDescriptors.isInputOpen else { throw MediaError(.noInput, "standard input is closed") }
            (series, descriptor) = (nil, STDIN_FILENO)
            isSeekable = Self.isFileAtBeginning(STDIN_FILENO)
            let first = try Self.firstBytes(STDIN_FILENO, isSeekable: isSeekable, name: "standard input")
            guard !first.isEmpty else { throw MediaError(.badInput, "standard input is empty") }
            kind = Self.isY4M(first) ? .y4m : .media
            head = isSeekable ? nil : PipeHead(first)
            return
        }
        let isY4M = path.lowercased().hasSuffix(".y4m")
        series = isY4M ? nil : try ImageSeries(path)
        if series == nil { try Self.checkReadable(path) }
        guard series == nil, isY4M || !Self.isPicture(path) else {
            (kind, descriptor, isSeekable, head, held) = (.pictures, nil, false, nil, [])
            return
        }
        let opened = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { throw .opening(path, errno: errno) }
        descriptor = opened
        isSeekable = lseek(opened, 0, SEEK_CUR) >= 0
        held = holdsMovie && isSeekable ? MovieFile.head(opened) : []
        guard !isSeekable else {
            (kind, head) = (isY4M ? .y4m : .media, nil)
            return
        }
        // Before anything can throw, every property has a value, so that deinit closes the file.
        let first: [UInt8]
        do throws(MediaError) {
            first = try Self.firstBytes(opened, isSeekable: false, name: path)
        } catch {
            close(opened)
            throw error
        }
        kind = isY4M || Self.isY4M(first) ? .y4m : .media
        head = PipeHead(first)
    }

    /// Bytes in memory, as the beginning of another input.
    private init(_ contents: [UInt8], path: String) {
        (self.path, self.contents) = (path, contents)
        (kind, isSeekable, series, descriptor, head, held) = (.media, true, nil, nil, nil, [])
    }

    deinit { if let descriptor, descriptor != STDIN_FILENO { close(descriptor) } }

    /// Whether a name is that of a pipe, a socket or a device, which gives its bytes only once; it is not opened.
    public static func isReadOnce(_ path: String) -> Bool {
        var status = stat()
        return stat(FileName.bytes(path), &status) == 0
            && [S_IFIFO, S_IFSOCK, S_IFCHR].contains(status.st_mode & S_IFMT)
    }

    /// Refuses a pipe, a socket or a device, whose bytes can be read only once, except standard input.
    ///
    /// It is not opened, because opening a FIFO waits for a writer.
    /// - Throws: `unsupported`.
    public static func requireFile(_ path: String) throws(MediaError) {
        guard path == "-" || !isReadOnce(path) else {
            throw MediaError(.unsupported, "\(path) is no regular file: it can be read only once")
        }
    }

    /// The name in messages.
    public var name: String { path == "-" ? "standard input" : path }

    /// An input that can be read again from its beginning: itself, or of a pipe what was recorded; nil for pictures.
    var rereadable: InputFile? {
        if isSeekable { return self }
        return head.map { InputFile($0.bytes, path: path) }
    }

    /// Up to `count` bytes at `offset`; fewer at the end of the file, none if they cannot be read.
    func bytes(at offset: Int64, upTo count: Int) -> [UInt8] {
        if let known = contents ?? head?.bytes {
            guard offset >= 0, offset < Int64(known.count) else { return [] }
            return Array(known.dropFirst(Int(offset)).prefix(count))
        }
        guard isSeekable, let descriptor else { return [] }
        var bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            repeat {
                filled = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            } while filled < 0 && errno == EINTR
            filled = max(0, filled)
        }
        if offset >= 0, offset < Int64(held.count) {
            let known = held[Int(offset)...].prefix(bytes.count)
            bytes.replaceSubrange(..<known.count, with: known)
        }
        return bytes
    }

    /// Whether a descriptor is a file that nobody has read from.
    private static func isFileAtBeginning(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
            && lseek(descriptor, 0, SEEK_CUR) == 0
    }

    /// As many bytes as a format's first ones need; fewer at the end.
    ///
    /// A pipe's are then gone from it.
    private static func firstBytes(
        _ descriptor: Int32, isSeekable: Bool, name: String
    ) throws(MediaError) -> [UInt8] {
        // A larger pipe costs fewer switches between the writer and this process; fails on other files, harmlessly.
        if !isSeekable { _ = fcntl(descriptor, clibav_f_setpipe_sz(), 1 << 20) }
        var bytes = [UInt8](repeating: 0, count: Y4MHeader.magic.utf8.count)
        var filled = 0
        while filled < bytes.count {
            let left = bytes.count - filled
            let count = bytes.withUnsafeMutableBytes { buffer in
                let target = buffer.baseAddress.map { $0 + filled }
                return isSeekable ? pread(descriptor, target, left, off_t(filled)) : read(descriptor, target, left)
            }
            if count == 0 { break }
            if count > 0 {
                filled += count
            } else if errno != EINTR {
                throw errno == EISDIR
                    ? .opening(name, errno: EISDIR)
                    : MediaError(.io, "\(name) cannot be read: \(MediaError.text(ofErrno: errno))")
            }
        }
        return Array(bytes.prefix(filled))
    }

    private static func isY4M(_ first: [UInt8]) -> Bool { first.starts(with: Y4MHeader.magic.utf8) }

    /// Whether libavformat reads a file of this name with a demuxer that opens files itself.
    ///
    /// avformat_open_input makes the same decision with the same score.
    private static func isPicture(_ path: String) -> Bool {
        var score = AVPROBE_SCORE_MAX / 4
        return url(path).withUnsafeBufferPointer { name in
            var data = AVProbeData()
            data.filename = name.baseAddress
            return av_probe_input_format2(&data, 0, &score) != nil
        }
    }

    /// The URL for libavformat; without the prefix it takes a name like "take:2.mov" for a protocol.
    static func url(_ path: String) -> [CChar] { FileName.bytes("file:\(path)") }

    /// Checks that a file exists, may be read and is not empty; libavformat's errors would not name the cause.
    private static func checkReadable(_ path: String) throws(MediaError) {
        var status = stat()
        guard stat(FileName.bytes(path), &status) == 0 else {
            let error = errno
            if OutputPath.isURL(path) {
                throw MediaError(
                    .usage,
                    "URLs are not opened: use ffmpeg -i '\(path)' -c copy -f nut - | hwctl encode - OUTPUT")
            }
            throw .opening(path, errno: error)
        }
        if status.st_mode & S_IFMT == S_IFDIR { throw .opening(path, errno: EISDIR) }
        guard access(FileName.bytes(path), R_OK) == 0 else { throw .opening(path, errno: errno) }
        if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 {
            throw MediaError(.badInput, "\(path) is empty")
        }
    }
}

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
        return "warning: \(name) ends within a fragment, which is left out; "
            + "hwctl repair finishes the file and keeps more"
    }

    /// Says that a recording was cut or may not have been finished; nil for other files.
    package var unfinishedRecordingWarning: String? {
        if let cutRecordingWarning { return cutRecordingWarning }
        guard beginsAsRecording else { return nil }
        return "warning: \(name) is a movie in fragments; if its recorder died, hwctl repair finishes it"
    }

    /// How much of a movie in fragments is in its file.
    package enum Fragments: String, Encodable {
        /// The file ends within a fragment.
        case cut
        /// All fragments are whole, and a recorder may have more to write.
        case whole
    }

    /// For a movie in fragments that a recorder may not have finished; nil for other files.
    package var fragments: Fragments? {
        endOfWholeFragments() != nil ? .cut : beginsAsRecording ? .whole : nil
    }

    /// Whether a file begins as those that `MovieRecorder` has not finished: with free space between the movie box and the
    /// fragments.
    ///
    /// Movies of other programs that are meant to stay in fragments may, too.
    private var beginsAsRecording: Bool {
        guard isSeekable, kind == .media else { return false }
        var position: Int64 = 0
        for type in ["ftyp", "moov", "free", "moof"] as [FourCC] {
            guard let header = BoxHeader(bytes(at: position, upTo: Box.largeHeaderSize), available: .max),
                header.type == type, let size = Int64(exactly: header.size), position <= .max - size
            else { return false }
            position += size
        }
        return true
    }
}
