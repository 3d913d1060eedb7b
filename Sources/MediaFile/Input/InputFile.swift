// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDSystem

/// An input, opened once: every reader of its bytes uses the same descriptor.
///
/// Readers of a seekable file use pread(2), each with its own position, so several can work on it at the same time.
/// The exception is `Y4MSource`, which uses read(2) and moves the descriptor's position. Only one can read a pipe.
public final class InputFile: @unchecked Sendable {
    /// The code that reads an input.
    public enum Kind: Hashable, Sendable {
        /// YUV4MPEG2, parsed by this module: standard input, and names that end in `.y4m`.
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
    /// The open file; nil for pictures.
    let descriptor: Int32?

    /// Opens the file at `path`, standard input for "-", or finds the files of a pattern like `frame-%04d.png`.
    /// - Throws: `noInput`, `noPermission`, `badInput` for an empty file, or `io`.
    public init(_ path: String) throws(MediaError) {
        self.path = path
        guard path != "-" else {
            guard StandardDescriptors.isInputOpen else { throw MediaError(.noInput, "standard input is closed") }
            (kind, series, descriptor, isSeekable) = (.y4m, nil, STDIN_FILENO, false)
            return
        }
        let isY4M = path.lowercased().hasSuffix(".y4m")
        series = isY4M ? nil : try ImageSeries(path)
        if series == nil { try Self.checkReadable(path) }
        guard series == nil, isY4M || !Self.isPicture(path) else {
            (kind, descriptor, isSeekable) = (.pictures, nil, false)
            return
        }
        let opened = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC)
        guard opened >= 0 else { throw .opening(path, errno: errno) }
        (kind, descriptor) = (isY4M ? .y4m : .media, opened)
        isSeekable = lseek(opened, 0, SEEK_CUR) >= 0
    }

    deinit { if let descriptor, descriptor != STDIN_FILENO { close(descriptor) } }

    /// Up to `count` bytes at `offset`; fewer at the end of the file, none if pread(2) fails.
    func bytes(at offset: Int64, upTo count: Int) -> [UInt8] {
        guard isSeekable, let descriptor else { return [] }
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            repeat {
                filled = pread(descriptor, buffer.baseAddress, count, off_t(offset))
            } while filled < 0 && errno == EINTR
            filled = max(0, filled)
        }
    }

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
        guard stat(FileName.bytes(path), &status) == 0 else { throw .opening(path, errno: errno) }
        if status.st_mode & S_IFMT == S_IFDIR { throw .opening(path, errno: EISDIR) }
        guard access(FileName.bytes(path), R_OK) == 0 else { throw .opening(path, errno: errno) }
        if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 {
            throw MediaError(.badInput, "\(path) is empty")
        }
    }
}
