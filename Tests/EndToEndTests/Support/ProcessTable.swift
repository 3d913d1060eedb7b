// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// A process as /proc shows it (proc(5)).
struct ProcessEntry: Hashable {
    var pid: Int32
    var parent: Int32
    /// 15 bytes at most.
    var name: String
    /// `Z` for a zombie.
    var state: Character
    /// Ticks after boot: distinguishes a process from a later one with the same number.
    var started: UInt64

    /// The process with this number now.
    init?(_ pid: Int32) {
        guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        // The name is in parentheses and may hold any character.
        guard let open = text.firstIndex(of: "("), let close = text.lastIndex(of: ")") else { return nil }
        let fields = text[text.index(after: close)...].split(separator: " ")
        guard fields.count > 19, let parent = Int32(fields[1]), let started = UInt64(fields[19]) else { return nil }
        self.pid = pid
        self.parent = parent
        self.started = started
        name = String(text[text.index(after: open)..<close])
        state = fields[0].first ?? "?"
    }

    /// All processes.
    static var all: [ProcessEntry] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap { Int32($0) }.compactMap { ProcessEntry($0) }
    }

    /// The children of a process, zombies among them.
    static func children(of pid: Int32) -> [ProcessEntry] { all.filter { $0.parent == pid } }

    /// Whether this process, not a later one with its number, still runs; a zombie does not.
    var isRunning: Bool {
        guard let now = ProcessEntry(pid) else { return false }
        return now.started == started && now.state != "Z"
    }

    /// Clock ticks of processor time that a process has used; nil when it has ended.
    static func processorTime(of pid: Int32) -> UInt64? {
        guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else { return nil }
        let text = String(decoding: data, as: UTF8.self)
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = UInt64(fields[12]), let system = UInt64(fields[13]) else { return nil }
        return user + system
    }

    /// Enables tests that count a daemon's descriptors: daemons are not dumpable, so /proc shows them to root only.
    static let canCountFiles: ConditionTrait = .enabled(
        if: geteuid() == 0, "only root may count a daemon's descriptors")

    /// File descriptors a process has open.
    static func fileCount(of pid: Int32) -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd"))?.count ?? 0
    }
}
