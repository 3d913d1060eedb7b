// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDModel
internal import HWDTransport
internal import Synchronization

/// A progress bar on standard error, drawn at most ten times a second and only on a terminal.
struct Progress {
    /// Whether bars are drawn at all.
    static let isWanted = Atomic<Bool>(true)

    private let total: Int?
    private let isShown = isatty(2) == 1 && isWanted.load(ordering: .relaxed) && Console.verbosity != .quiet
    private let start = MonotonicTime.now
    private var lastDrawn: MonotonicTime?
    /// Frames that are done, of all passes.
    private(set) var done = 0

    /// Columns of a terminal that does not report them.
    private static let defaultColumns = 80
    /// The shortest and the longest bar.
    private static let barLength = (least: 6, most: 30)

    /// A bar for `total` frames; nil where that is not known.
    init(total: Int?) { self.total = total }

    /// Seconds since the start.
    var seconds: Double { Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9 }

    /// Draws the bar, unless that happened less than a tenth of a second ago.
    mutating func update(done: Int) {
        self.done = done
        guard isShown else { return }
        let now = MonotonicTime.now
        if let lastDrawn, now.nanoseconds(since: lastDrawn) < 100_000_000 { return }
        lastDrawn = now
        Console.write(2, "\r\u{1B}[K" + Self.line(done, of: total, seconds: seconds, columns: Self.columns))
    }

    /// Erases the bar.
    func clear() {
        if isShown, lastDrawn != nil { Console.write(2, "\r\u{1B}[K") }
    }

    /// The line for a terminal of some columns: the last one stays free, as some terminals wrap there.
    ///
    /// What does not fit is left out: first the bar, then the rate, then the number of frames.
    static func line(_ done: Int, of total: Int?, seconds: Double, columns: Int) -> String {
        let room = max(0, columns - 1)
        let fps = Double(done) / max(seconds, 0.001)
        guard let total, total > 0 else {
            let all = "\(done) frames, \(decimal(fps, 1)) fps"
            return String((all.count <= room ? all : "\(done) frames").prefix(room))
        }
        let share = min(1, Double(done) / Double(total))
        let left = fps > 0 && total > done ? ", \(clock(Double(total - done) / fps)) left" : ""
        let percent = "\(Int(share * 100))%"
        let texts = [
            "\(percent) \(done)/\(total) frames, \(decimal(fps, 1)) fps\(left)",
            "\(percent) \(done)/\(total), \(decimal(fps, 1)) fps\(left)", "\(percent) \(done)/\(total)\(left)",
            "\(percent)\(left)",
        ]
        let text = texts.first { $0.count <= room } ?? String(percent.prefix(room))
        let length = min(barLength.most, room - text.count - 3)
        guard length >= barLength.least else { return text }
        let filled = Int(share * Double(length))
        let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: length - filled)
        return "[\(bar)] \(text)"
    }

    /// The columns of the terminal (ioctl_tty(2)).
    private static var columns: Int {
        var size = winsize()
        guard ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return defaultColumns }
        return Int(size.ws_col)
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
