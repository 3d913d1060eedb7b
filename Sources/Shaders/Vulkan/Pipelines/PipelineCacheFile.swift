// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// Where a device's compiled pipelines lie between processes: `$XDG_CACHE_HOME/hwdaemon/vulkan-<uuid>.bin`, or under
/// `~/.cache`.
///
/// Drivers trust what they are given, so a checksum stands before it: a damaged file counts as none.
struct PipelineCacheFile {
    /// Larger ones are neither read nor written.
    static let maxSize = 16 << 20
    private static let magic: [UInt8] = Array("HWDVKC1\n".utf8)

    private let folder: String?
    private let name: String

    /// The file of a device; none where there is no home to have one in.
    init(uuid: String) {
        func variable(_ name: String) -> String? {
            guard let value = Environment.value(name), value.hasPrefix("/") else { return nil }
            return value
        }
        folder = (variable("XDG_CACHE_HOME") ?? variable("HOME").map { $0 + "/.cache" }).map { $0 + "/hwdaemon" }
        name = "vulkan-\(uuid).bin"
    }

    /// The path; nil where there is nowhere to keep it.
    var path: String? { folder.map { "\($0)/\(name)" } }

    /// What was kept; nil when there is nothing or it is damaged.
    func read() -> [UInt8]? {
        guard let path else { return nil }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size > 16,
            status.st_size <= Self.maxSize + 16
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        guard Glibc.read(file, &bytes, bytes.count) == bytes.count, Array(bytes.prefix(8)) == Self.magic else {
            return nil
        }
        let content = Array(bytes[16...])
        return Array(bytes[8..<16]) == Self.checksum(content) ? content : nil
    }

    /// Keeps bytes: written beside, then renamed, so that no reader sees half of them.
    ///
    /// What fails is left out.
    func write(_ content: [UInt8]) {
        guard let folder, let path, content.count <= Self.maxSize else { return }
        mkdir(String(folder.dropLast("/hwdaemon".count)), 0o700)
        mkdir(folder, 0o700)
        let beside = "\(path).\(getpid())"
        let file = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return }
        let bytes = Self.magic + Self.checksum(content) + content
        let isWritten = Glibc.write(file, bytes, bytes.count) == bytes.count
        close(file)
        if !isWritten || rename(beside, path) != 0 { unlink(beside) }
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        let sum = FNV1a(bytes).value
        return (0..<8).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
    }
}
