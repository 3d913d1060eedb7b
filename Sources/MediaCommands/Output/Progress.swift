// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport

/// A progress bar on standard error, drawn at most ten times a second and only on a terminal.
struct Progress {
    private let total: Int?
    private let isTerminal = isatty(2) == 1
    private let start = MonotonicTime.now
    private var lastDrawn: MonotonicTime?

    /// A bar for `total` frames; nil where that is not known.
    init(total: Int?) { self.total = total }

    /// Seconds since the start.
    var seconds: Double { Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9 }

    /// Draws the bar, unless that happened less than a tenth of a second ago.
    mutating func update(done: Int) {
        guard isTerminal else { return }
        let now = MonotonicTime.now
        if let lastDrawn, now.nanoseconds(since: lastDrawn) < 100_000_000 { return }
        lastDrawn = now
        let fps = Double(done) / max(seconds, 0.001)
        var line = "\r\u{1B}[K"
        if let total, total > 0 {
            let share = min(1, Double(done) / Double(total))
            let filled = Int(share * 30)
            line += "[" + String(repeating: "=", count: filled) + String(repeating: " ", count: 30 - filled) + "] "
            line += "\(Int(share * 100))% \(done)/\(total) frames, \(Self.decimal(fps, 1)) fps"
            if fps > 0, total > done { line += ", \(Self.clock(Double(total - done) / fps)) left" }
        } else {
            line += "\(done) frames, \(Self.decimal(fps, 1)) fps"
        }
        Console.write(2, line)
    }

    /// Erases the bar.
    func clear() {
        if isTerminal, lastDrawn != nil { Console.write(2, "\r\u{1B}[K") }
    }

    /// A number with `digits` decimals.
    static func decimal(_ value: Double, _ digits: Int) -> String { DecimalText.text(value, digits) }

    /// Seconds as `m:ss` or `h:mm:ss`.
    static func clock(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 359_999))
        let two = { (value: Int) in value < 10 ? "0\(value)" : "\(value)" }
        return whole >= 3600
            ? "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))" : "\(whole / 60):\(two(whole % 60))"
    }
}
