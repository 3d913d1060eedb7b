// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDWire

/// The table of sessions, with what each has put out since the table before.
struct SessionList {
    /// Whether all columns are shown, which need more than the 80 of a narrow terminal.
    let isLong: Bool
    /// The most columns of a user's name in the narrow table.
    private static let userWidth = 10

    /// What a session had put out at an age of so many milliseconds.
    private struct Reading {
        var ageMs: UInt64 = 0
        var frames: UInt64 = 0
        var bytes: UInt64 = 0

        init() {}

        init(_ session: SessionInfo) {
            (ageMs, frames, bytes) = (session.ageMs, session.framesOut, session.bytesOut)
        }
    }

    private var readings: [String: Reading] = [:]
    private var users: [UInt32: String] = [:]

    init(isLong: Bool = false) { self.isLong = isLong }

    /// The sessions, one for each line, below a line of titles.
    mutating func table(_ sessions: [SessionInfo]) -> String {
        guard !sessions.isEmpty else {
            readings = [:]
            return "no sessions"
        }
        var rows = [isLong ? Self.longTitles : Self.titles]
        var latest: [String: Reading] = [:]
        for session in sessions {
            let now = Reading(session)
            let rates = Self.rates(from: readings[session.session] ?? Reading(), to: now)
            latest[session.session] = now
            rows.append(isLong ? longRow(session, rates) : row(session, rates))
        }
        readings = latest
        return Console.table(rows)
    }

    private static let titles = ["USER", "PID", "KIND", "SIZE", "BY", "FPS", "MBIT/S", "MEMORY", "AGE"]
    private static let longTitles = [
        "USER", "PID", "KIND", "SIZE", "FORMAT", "HARDWARE", "BY", "FPS", "MBIT/S", "IN", "OUT", "MEMORY", "AGE",
        "SESSION",
    ]

    private mutating func row(_ session: SessionInfo, _ rates: (frames: String, megabits: String)) -> [String] {
        let kinds: [SessionKind: String] = [.compression: "encode", .decompression: "decode", .transfer: "convert"]
        return [
            String(user(session.uid).prefix(Self.userWidth)), "\(session.pid)",
            kinds[session.kind] ?? session.kind.rawValue,
            Self.size(session), Self.codec(session), rates.frames, rates.megabits, Self.memory(session),
            Self.age(session.ageMs),
        ]
    }

    private mutating func longRow(_ session: SessionInfo, _ rates: (frames: String, megabits: String)) -> [String] {
        [
            user(session.uid), "\(session.pid)", session.kind.rawValue, Self.size(session), session.pixelFormat,
            session.usingHardware.map { $0 ? "yes" : "no" } ?? "-", session.codecID ?? "-", rates.frames,
            rates.megabits,
            "\(session.framesIn)", "\(session.framesOut)", Self.memory(session), Self.age(session.ageMs),
            session.session,
        ]
    }

    private static func size(_ session: SessionInfo) -> String { "\(session.width)x\(session.height)" }

    private static func memory(_ session: SessionInfo) -> String {
        session.memoryBytes.map { "\($0 >> 20) MiB" } ?? "-"
    }

    /// The last part of a codec's id: a library, or a GPU's node.
    private static func codec(_ session: SessionInfo) -> String {
        session.codecID.map { String($0.split(separator: ".").last?.prefix(userWidth) ?? "-") } ?? "-"
    }

    /// Frames and megabits a second; `-` where no time has passed, or the counters are another process's.
    private static func rates(from past: Reading, to now: Reading) -> (frames: String, megabits: String) {
        guard now.ageMs > past.ageMs, now.frames >= past.frames, now.bytes >= past.bytes else { return ("-", "-") }
        let seconds = Double(now.ageMs - past.ageMs) / 1000
        return (
            oneDecimal(Double(now.frames - past.frames) / seconds),
            oneDecimal(Double(now.bytes - past.bytes) * 8 / seconds / 1e6)
        )
    }

    private static func oneDecimal(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }

    /// Two units at most: `42 s`, `3m 20s`, `2h 5m`.
    private static func age(_ milliseconds: UInt64) -> String {
        let seconds = milliseconds / 1000
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60)m \(seconds % 60)s" }
        return "\(seconds / 3600)h \(seconds / 60 % 60)m"
    }

    /// A user's name, or the number of one without a name.
    private mutating func user(_ id: UInt32) -> String {
        if let known = users[id] { return known }
        let name = getpwuid(id).map { String(cString: $0.pointee.pw_name) } ?? "\(id)"
        users[id] = name
        return name
    }
}
