// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import HWDWire

/// What probes have verified, remembered in memory and, where there is a place for it, on disk.
///
/// The file is only ever a saving of time: a damaged one, or one of another version, is ignored.
struct ProbeCache {
    private struct Document: Codable {
        var schema = currentSchema
        var records: [String: ProbeRecord]
    }

    private static let currentSchema = 1
    private static let maxFile = 1 << 20
    /// Subjects remembered: every node there can be, the software, and Vulkan.
    private static let maxRecords = 64

    private let path: String?
    private var records: [String: ProbeRecord] = [:]

    /// Remembers what the file in a folder says; nil remembers in memory only.
    init(folder: String?) {
        path = folder.map { "\($0)/probe-cache.json" }
        guard let path, let bytes = Self.read(path) else { return }
        guard let document = try? JSON.decode(Document.self, from: bytes), document.schema == Self.currentSchema
        else { return }
        records = document.records
    }

    /// What was verified of a subject.
    subscript(subject: ProbeRequest.Subject) -> ProbeRecord? { records[Self.name(subject)] }

    /// Remembers what a probe verified; false when it could not be written to disk.
    mutating func keep(_ record: ProbeRecord, of subject: ProbeRequest.Subject) -> Bool {
        let name = Self.name(subject)
        guard records[name] != record else { return true }
        if records[name] == nil, records.count >= Self.maxRecords { records = [:] }
        records[name] = record
        guard let path else { return true }
        return write(path)
    }

    private static func name(_ subject: ProbeRequest.Subject) -> String {
        switch subject {
        case .software: "software"
        case .vulkan: "vulkan"
        case .node(let path): path
        }
    }

    private static func read(_ path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        // Only a file of one's own tells one what works.
        guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
            1...maxFile ~= Int(status.st_size)
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
        return Glibc.read(file, &bytes, bytes.count) == bytes.count ? bytes : nil
    }

    /// Writes a new file and puts it in the old one's place.
    private func write(_ path: String) -> Bool {
        // A driver that was busy, or that crashed, gets another chance from the next daemon.
        let lasting = records.compactMapValues(\.lasting)
        guard let bytes = try? JSON.encode(Document(records: lasting), pretty: true) else { return false }
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

    /// Where a daemon keeps what it remembers; nil where there is no such place.
    ///
    /// For a private daemon the user's cache, which is made; for the machine's the directory that the service manager
    /// gave it, else `/var/lib/hwdaemon` if it is there.
    static func folder(isPrivate: Bool) -> String? {
        if let state = Environment.value("STATE_DIRECTORY")?.split(separator: ":").first {
            return String(state)
        }
        guard isPrivate else {
            return access("/var/lib/hwdaemon", W_OK) == 0 ? "/var/lib/hwdaemon" : nil
        }
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
