// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel
internal import HWDWire

/// The table of sessions, with what each has put out since the table before.
struct SessionList {
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

    /// The sessions, one for each line, below a line of titles.
    mutating func table(_ sessions: [SessionInfo]) -> String {
        guard !sessions.isEmpty else {
            readings = [:]
            return "no sessions"
        }
        var rows = [
            [
                "USER", "PID", "KIND", "SIZE", "FORMAT", "HARDWARE", "BY", "FPS", "MBIT/S", "IN", "OUT", "MEMORY",
                "AGE",
                "SESSION",
            ]
        ]
        var latest: [String: Reading] = [:]
        for session in sessions {
            let now = Reading(session)
            let rates = Self.rates(from: readings[session.session] ?? Reading(), to: now)
            latest[session.session] = now
            rows.append([
                user(session.uid), "\(session.pid)", session.kind.rawValue, "\(session.width)x\(session.height)",
                session.pixelFormat, session.usingHardware.map { $0 ? "yes" : "no" } ?? "-", session.codecID ?? "-",
                rates.frames, rates.megabits, "\(session.framesIn)", "\(session.framesOut)",
                session.memoryBytes.map { "\($0 >> 20) MiB" } ?? "-", Self.age(session.ageMs), session.session,
            ])
        }
        readings = latest
        return Console.table(rows)
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

    /// Two units at most: `42 s`, `3 min 20 s`, `2 h 5 min`.
    private static func age(_ milliseconds: UInt64) -> String {
        let seconds = milliseconds / 1000
        if seconds < 60 { return "\(seconds) s" }
        if seconds < 3600 { return "\(seconds / 60) min \(seconds % 60) s" }
        return "\(seconds / 3600) h \(seconds / 60 % 60) min"
    }

    /// A user's name, or the number of one without a name.
    private mutating func user(_ id: UInt32) -> String {
        if let known = users[id] { return known }
        let name = getpwuid(id).map { String(cString: $0.pointee.pw_name) } ?? "\(id)"
        users[id] = name
        return name
    }
}
