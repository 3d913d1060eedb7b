// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem

/// The file of a device's compiled pipelines: `$XDG_CACHE_HOME/hwdaemon/vulkan-<uuid>.bin`, or under `~/.cache`.
///
/// Drivers do not validate their cache, so the file has a checksum, and a damaged one is ignored.
struct PipelineCacheFile {
    /// The size in bytes above which a cache is neither read nor written.
    static let maxSize = 16 << 20
    private static let magic: [UInt8] = Array("HWDVKC1\n".utf8)

    private let folder: String?
    private let name: String

    /// The file of a device; without a path where neither variable is set.
    init(uuid: String) {
        func variable(_ name: String) -> String? {
            guard let value = Environment.value(name), value.hasPrefix("/") else { return nil }
            return value
        }
        folder = (variable("XDG_CACHE_HOME") ?? variable("HOME").map { $0 + "/.cache" }).map { $0 + "/hwdaemon" }
        name = "vulkan-\(uuid).bin"
    }

    /// The path; nil where there is no cache directory.
    var path: String? { folder.map { "\($0)/\(name)" } }

    /// The cache; nil when there is none or it is damaged.
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

    /// Writes the cache to a temporary file and renames it, so that readers never see a partial file.
    ///
    /// Failures are ignored.
    func write(_ content: [UInt8]) {
        guard let folder, let path, content.count <= Self.maxSize else { return }
        mkdir(String(folder.dropLast("/hwdaemon".count)), 0o700)
        mkdir(folder, 0o700)
        let temporary = "\(path).\(getpid())"
        let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return }
        let bytes = Self.magic + Self.checksum(content) + content
        let isWritten = Glibc.write(file, bytes, bytes.count) == bytes.count
        close(file)
        if !isWritten || rename(temporary, path) != 0 { unlink(temporary) }
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        let sum = FNV1a(bytes).value
        return (0..<8).map { UInt8(truncatingIfNeeded: sum >> (8 * $0)) }
    }
}
