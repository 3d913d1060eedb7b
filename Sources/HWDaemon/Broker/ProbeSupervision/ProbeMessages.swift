// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDTransport

/// What a probe's process and the drivers in it print on their standard error: untrusted text, of which the first 64 KiB
/// are read, and little is reported.
final class ProbeMessages {
    /// Bytes that are read; the pipe refuses what it cannot hold, so that no driver waits for a reader.
    private static let maxBytes = 1 << 16
    /// The last lines that are reported, and their bytes together.
    private static let (maxLines, maxText) = (3, 300)
    /// Bytes that are logged.
    private static let maxLogged = 1 << 13
    /// Lines of x265, whose streams the trials of decoders use.
    private static let ignoredPrefix = "x265 ["

    private let readEnd: OwnedFD
    private var writeEnd: OwnedFD?

    /// Creates the pipe.
    init() throws(SystemError) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemError(errno: errno, call: "pipe") }
        readEnd = OwnedFD(ends[0])
        writeEnd = OwnedFD(ends[1])
        for end in ends where fcntl(end, F_SETFD, FD_CLOEXEC) != 0 || fcntl(end, F_SETFL, O_NONBLOCK) != 0 {
            throw SystemError(errno: errno, call: "fcntl")
        }
    }

    /// The end that becomes the process's standard error; nil once it is closed.
    var childEnd: Int32? {
        switch writeEnd {
        case .some(let end): end.rawValue
        case nil: nil
        }
    }

    /// Closes this process's copy of the writing end.
    func closeChildEnd() { writeEnd = nil }

    /// What was printed until now.
    func read() -> [UInt8] {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while bytes.count < Self.maxBytes {
            let count = Glibc.read(readEnd.rawValue, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { break }
            bytes += buffer.prefix(count)
        }
        return bytes
    }

    /// The lines of a text for the log, separated by `; ` and bounded; nil if there is none.
    static func allLines(of bytes: [UInt8]) -> String? {
        let lines = bytes.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }
        let texts = lines.map { String(decoding: $0, as: UTF8.self) }.filter { !$0.hasPrefix(ignoredPrefix) }
        return texts.isEmpty ? nil : texts.joined(separator: "; ").printable(maxBytes: maxLogged)
    }

    /// The last distinct lines of a text, joined and bounded; nil if there is none.
    static func lastLines(of bytes: [UInt8]) -> String? {
        var lines: [String] = []
        for line in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }).reversed()
        {
            let text = String(decoding: line.prefix(Self.maxText), as: UTF8.self)
            let words = text.printable(maxBytes: Self.maxText).split(separator: " ").joined(separator: " ")
            guard !words.isEmpty, !words.hasPrefix(Self.ignoredPrefix), !lines.contains(words) else { continue }
            lines.insert(words, at: 0)
            if lines.count == Self.maxLines { break }
        }
        return lines.isEmpty ? nil : lines.joined(separator: "; ").printable(maxBytes: Self.maxText)
    }
}
