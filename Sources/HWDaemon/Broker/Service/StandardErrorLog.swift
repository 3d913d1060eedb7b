// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDSystem
internal import Logging
internal import Synchronization

/// Logs to standard error: level, message, then metadata as `key=value` (logfmt).
///
/// If standard error is the journal's stream, a line starts with its priority (`sd-daemon(3)`) and the journal adds the
/// time; otherwise it starts with the time. A line is dropped if writing it would block, because the broker must not.
struct StandardErrorLog: LogHandler {
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private static let isJournal = journalHasStandardError()
    /// Shared by all loggers, because a reload cannot reach their copies.
    private static let level = Mutex(Logger.Level.info)

    /// Sets the least severe level that is logged.
    static func setLevel(_ level: Logger.Level) { Self.level.withLock { $0 = level } }

    var logLevel: Logger.Level {
        get { Self.level.withLock { $0 } }
        set { Self.setLevel(newValue) }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let merged = metadata.merging(event.metadata ?? [:]) { $1 }
        let pairs = merged.sorted { $0.key < $1.key }.map { (key: $0.key, value: "\($0.value)") }
        let line = Self.line("\(event.message)", pairs)
        let start = Self.isJournal ? "<\(Self.priority(event.level))>" : "\(Self.time()) \(event.level): "
        var room = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
        guard poll(&room, 1, 0) == 1 else { return }
        _ = (start + line + "\n").withCString { write(2, $0, strlen($0)) }
    }

    /// A message and its metadata on one line of at most 3000 bytes.
    static func line(_ message: String, _ pairs: [(key: String, value: String)]) -> String {
        let text = pairs.reduce(into: message) { $0 += " \($1.key)=\(quoted($1.value))" }
        return text.printable(maxBytes: 3000)
    }

    /// A value, in quotation marks if it is not a single word.
    private static func quoted(_ value: String) -> String {
        let special: (Character) -> Bool = { $0 == " " || $0 == "\"" || $0 == "=" || $0 == "\\" || $0.isNewline }
        guard value.isEmpty || value.contains(where: special) else { return value }
        let escaped = value.flatMap { $0 == "\"" || $0 == "\\" ? "\\\($0)" : "\($0)" }
        return "\"\(String(escaped))\""
    }

    /// Whether standard error is still the stream that `JOURNAL_STREAM` names (systemd.exec(5)).
    private static func journalHasStandardError() -> Bool {
        var status = stat()
        guard let stream = Environment.value("JOURNAL_STREAM"), fstat(2, &status) == 0 else { return false }
        return stream == "\(status.st_dev):\(status.st_ino)"
    }

    /// The syslog(3) priority of a level.
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
