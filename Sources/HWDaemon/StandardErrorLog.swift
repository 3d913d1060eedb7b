// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import Logging

/// Log lines on standard error: level, sentence, then what it is about as `key=value`.
///
/// Under systemd a line starts with its priority (`sd-daemon(3)`) and the journal adds the time; elsewhere it starts with
/// the time. A line that standard error has no room for is dropped, because the broker may never wait.
struct StandardErrorLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    var logLevel: Logger.Level
    private let isJournal: Bool

    init(level: Logger.Level) {
        logLevel = level
        isJournal = getenv("JOURNAL_STREAM") != nil
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let about = metadata.merging(event.metadata ?? [:]) { $1 }
        var line = isJournal ? "<\(Self.priority(event.level))>" : "\(Self.time()) \(event.level): "
        line += "\(event.message)"
        for (key, value) in about.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(value)" }
        line = SessionEnd.oneLine(line, maximum: 3000) + "\n"
        var room = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
        guard poll(&room, 1, 0) == 1 else { return }
        _ = line.withCString { write(2, $0, strlen($0)) }
    }

    /// The syslog priority of a level.
    private static func priority(_ level: Logger.Level) -> Int {
        switch level {
        case .critical: 2
        case .error: 3
        case .warning: 4
        case .notice: 5
        case .info: 6
        case .debug, .trace: 7
        }
    }

    private static func time() -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        gmtime_r(&now.tv_sec, &parts)
        var text = [CChar](repeating: 0, count: 32)
        let length = strftime(&text, text.count, "%Y-%m-%dT%H:%M:%S", &parts)
        let milliseconds = now.tv_nsec / 1_000_000
        let padding = milliseconds < 10 ? "00" : milliseconds < 100 ? "0" : ""
        let seconds = String(decoding: text.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return "\(seconds).\(padding)\(milliseconds)Z"
    }
}
