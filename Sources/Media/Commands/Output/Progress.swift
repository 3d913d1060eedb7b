// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import Synchronization

/// A progress bar on standard error, drawn at most ten times a second and only on a terminal.
struct Progress {
    /// Whether bars are drawn at all.
    static let isWanted = Atomic<Bool>(true)

    private static let fileLabel = Mutex<String?>(nil)

    /// What stands before the bar: of several files, the number and the name.
    static var label: String? {
        get { fileLabel.withLock { $0 } }
        set { fileLabel.withLock { $0 = newValue.map(FileName.printable) } }
    }

    private let total: Int?
    private let isShown = isatty(2) == 1 && isWanted.load(ordering: .relaxed) && Console.verbosity != .quiet
    private let start = MonotonicTime.now
    private var lastDrawn: MonotonicTime?
    /// Frames that are done, of all passes.
    private(set) var done = 0
    /// Those of them that were not written.
    private var unsizedFrames = 0
    private var pace = Pace()

    /// Columns of a terminal that does not report them.
    private static let defaultColumns = 80
    /// The shortest and the longest bar.
    private static let barLength = (least: 6, most: 30)

    /// A bar for `total` frames; nil where that is not known.
    init(total: Int?) { self.total = total }

    /// Seconds since the start.
    var seconds: Double { Double(MonotonicTime.now.nanoseconds(since: start)) / 1e9 }

    /// Draws the bar, unless that happened less than a tenth of a second ago.
    ///
    /// - Parameter bytes: what the frames have become so far; nil where nothing is written, as in the first of two passes.
    mutating func update(done: Int, bytes: Int? = nil) {
        self.done = done
        if bytes == nil { unsizedFrames = done }
        guard isShown else { return }
        let now = MonotonicTime.now
        if let lastDrawn, now.nanoseconds(since: lastDrawn) < 100_000_000 { return }
        lastDrawn = now
        pace.add(done: done, at: seconds)
        var state = State(label: Self.label, done: done, total: total, rate: pace.rate)
        state.secondsLeft = total.flatMap(pace.secondsLeft)
        if let total, let bytes, done > unsizedFrames, pace.rate != nil {
            state.bytes = Double(bytes) / Double(done - unsizedFrames) * Double(total - unsizedFrames)
        }
        Console.write(2, "\r\u{1B}[K" + state.line(columns: Self.columns))
    }

    /// Erases the bar.
    func clear() {
        if isShown, lastDrawn != nil { Console.write(2, "\r\u{1B}[K") }
    }

    /// What a line says.
    struct State {
        /// The file, of several.
        var label: String?
        var done: Int
        var total: Int?
        /// Frames per second; nil where too little is known.
        var rate: Double?
        var secondsLeft: Double?
        /// The output's estimated size.
        var bytes: Double?

        /// The line for a terminal of some columns: the last one stays free, as some terminals wrap there.
        ///
        /// What does not fit is left out: first the bar, then the size, the rate, the number of frames and most of the name.
        func line(columns: Int) -> String {
            let room = max(0, columns - 1)
            let texts = texts(room)
            let text = texts.first { $0.count <= room } ?? String((texts.last ?? "").prefix(room))
            let length = min(barLength.most, room - text.count - 3)
            guard let total, total > 0, length >= barLength.least else { return text }
            let filled = Int(min(1, Double(done) / Double(total)) * Double(length))
            let bar = String(repeating: "=", count: filled) + String(repeating: " ", count: length - filled)
            return "[\(bar)] \(text)"
        }

        /// The texts from the longest to the shortest.
        private func texts(_ room: Int) -> [String] {
            let speed = rate.map { ", \(decimal($0, 1)) fps" } ?? ""
            let left = secondsLeft.map { ", \(clock($0)) left" } ?? ""
            // The frames that a damaged file declares may have any number.
            let size = bytes.map { ", about \(Progress.size(Int(min($0, 1e18))))" } ?? ""
            let name = label.map { "\(Self.shortened($0, to: max(8, room / 3))) " } ?? ""
            guard let total, total > 0 else { return ["\(name)\(done) frames\(speed)", "\(done) frames"] }
            let percent = "\(Int(min(1, Double(done) / Double(total)) * 100))%"
            return [
                "\(name)\(percent) \(done)/\(total) frames\(speed)\(left)\(size)",
                "\(name)\(percent) \(done)/\(total)\(speed)\(left)\(size)",
                "\(name)\(percent) \(done)/\(total)\(speed)\(left)", "\(name)\(percent) \(done)/\(total)\(left)",
                "\(name)\(percent)\(left)", "\(percent)\(left)", percent,
            ]
        }

        /// A name whose middle is left out where it is longer than `length`.
        private static func shortened(_ name: String, to length: Int) -> String {
            guard name.count > length else { return name }
            let end = (length - 1) / 2
            return "\(name.prefix(length - 1 - end))…\(name.suffix(end))"
        }
    }

    /// The columns of the terminal (ioctl_tty(2)).
    private static var columns: Int {
        var size = winsize()
        guard ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return defaultColumns }
        return Int(size.ws_col)
    }

    /// A number with `digits` decimals.
    static func decimal(_ value: Double, _ digits: Int) -> String { DecimalText.text(value, digits) }

    /// A number of bytes as KiB or MiB.
    static func size(_ bytes: Int) -> String {
        bytes < 1 << 20
            ? "\(decimal(Double(bytes) / 1024, 1)) KiB" : "\(decimal(Double(bytes) / 1_048_576, 2)) MiB"
    }

    /// Seconds as `m:ss` or `h:mm:ss`.
    static func clock(_ seconds: Double) -> String {
        let whole = Int(min(seconds, 359_999))
        let two = { (value: Int) in value < 10 ? "0\(value)" : "\(value)" }
        return whole >= 3600
            ? "\(whole / 3600):\(two(whole / 60 % 60)):\(two(whole % 60))" : "\(whole / 60):\(two(whole % 60))"
    }
}
