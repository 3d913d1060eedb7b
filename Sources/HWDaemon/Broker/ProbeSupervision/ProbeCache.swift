// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDWire

/// The file that keeps what probes verified from one daemon to the next.
///
/// It only saves time: a damaged file, or one of another version, is ignored.
struct ProbeCache {
    private struct Document: Codable {
        var schema = currentSchema
        var records: [String: ProbeRecord]
    }

    private static let currentSchema = 1
    /// Bytes of a file that is read.
    private static let maxSize = 1 << 20

    /// nil where nothing is stored.
    private let path: String?

    /// Uses the file in a folder; nil stores nothing.
    init(folder: String?) { path = folder.map { "\($0)/probe-cache.json" } }

    /// The records in the file; none if it cannot be read.
    func load() -> [ProbeRequest.Subject: ProbeRecord] {
        guard let path, let bytes = Self.read(path),
            let document = try? JSON.decode(Document.self, from: bytes), document.schema == Self.currentSchema
        else { return [:] }
        let pairs = document.records.map { (ProbeRequest.Subject(cacheKey: $0.key), $0.value) }
        return Dictionary(pairs) { first, _ in first }
    }

    /// Replaces the file by one with the lasting results of these records; false if it cannot be written.
    func save(_ records: [ProbeRequest.Subject: ProbeRecord]) -> Bool {
        guard let path else { return true }
        // Devices that were busy and drivers that crashed are tried again by the next daemon.
        let pairs = records.compactMap { subject, record in record.lasting.map { (subject.cacheKey, $0) } }
        // Not unique if a list of devices names a node "software".
        let document = Document(records: Dictionary(pairs) { first, _ in first })
        guard let bytes = try? JSON.encode(document, pretty: true) else { return false }
        return Self.write(bytes, path)
    }

    private static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        // Another user's file must not decide which drivers are used.
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            1...maxSize ~= Int(status.st_size)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        return Glibc.read(file, &bytes, bytes.count) == bytes.count ? bytes : nil
    }

    /// Writes a new file and renames it to `path`.
    private static func write(_ bytes: [UInt8], _ path: String) -> Bool {
        let new = "\(path).\(getpid()).new"
        unlink(new)
        let file = open(new, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard file >= 0 else { return false }
        let isWhole = Glibc.write(file, bytes, bytes.count) == bytes.count
        guard close(file) == 0, isWhole, rename(new, path) == 0 else {
            unlink(new)
            return false
        }
        return true
    }

    /// The folder of a daemon's file; nil if there is none.
    ///
    /// A private daemon uses the user's cache folder, which is created; others use the folder that the service manager
    /// passed, else `/var/lib/hwdaemon` if it exists.
    static func folder(isPrivate: Bool) -> String? {
        if let state = Environment.value("STATE_DIRECTORY")?.split(separator: ":").first {
            return String(state)
        }
        guard isPrivate else {
            return access("/var/lib/hwdaemon", W_OK) == 0 ? "/var/lib/hwdaemon" : nil
        }
        return userFolder
    }

    /// The folder of this process's user, which is created; nil if that fails.
    static var userFolder: String? {
        let home = Environment.value("HOME").map { "\($0)/.cache" }
        guard let cache = Environment.value("XDG_CACHE_HOME") ?? home, cache.hasPrefix("/") else {
            return nil
        }
        let folder = "\(cache)/hwdaemon"
        mkdir(cache, 0o700)
        mkdir(folder, 0o700)
        return access(folder, W_OK) == 0 ? folder : nil
    }
}

extension ProbeRequest.Subject {
    /// The subject's key in the file: a node's path, or a word that is no absolute path.
    fileprivate var cacheKey: String {
        switch self {
        case .software: "software"
        case .vulkan: "vulkan"
        case .node(let path): path
        }
    }

    fileprivate init(cacheKey: String) {
        switch cacheKey {
        case "software": self = .software
        case "vulkan": self = .vulkan
        default: self = .node(cacheKey)
        }
    }
}
