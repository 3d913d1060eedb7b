// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
package import HWDTransport
internal import Synchronization

/// What a person or another program asks of a recording that runs.
package enum CaptureControl: Hashable, Sendable {
    case pause
    case resume
    /// Pauses, or resumes where the recording is paused.
    case toggle
    /// A chapter begins; nil for one without a title of its own.
    case mark(String?)
    /// A file gets what `--last` keeps.
    case save
    /// The newest frame becomes a picture of its own.
    case still
    /// The recording ends, and its file is finished.
    case stop

    /// How a control is asked for: by a line, by a key of a terminal, and by a signal.
    package struct Binding: Sendable {
        package var word: String
        package var key: UInt8?
        package var signal: Int32?
        package var control: CaptureControl

        init(_ word: String, key: Character? = nil, signal: Int32? = nil, _ control: CaptureControl) {
            (self.word, self.key, self.signal, self.control) = (word, key?.asciiValue, signal, control)
        }
    }

    package static let bindings = [
        Binding("pause", .pause),
        Binding("resume", .resume),
        Binding("toggle", key: "p", signal: SIGUSR2, .toggle),
        Binding("mark", key: "m", signal: realTimeSignal(0), .mark(nil)),
        Binding("save", key: "s", signal: SIGUSR1, .save),
        // Real-time signals are queued, so that each of a burst counts.
        Binding("still", key: "c", signal: realTimeSignal(1), .still),
        Binding("stop", key: "q", .stop),
    ]

    /// A real-time signal, which `kill -s RTMIN+NUMBER` sends.
    private static func realTimeSignal(_ number: Int32) -> Int32 { __libc_current_sigrtmin() + number }

    /// Bytes of a title at most.
    static let greatestTitle = 255

    /// The control of a line: a word, and behind `mark` a title.
    package init?(line: String) {
        let parts = line.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        guard let word = parts.first, let binding = Self.bindings.first(where: { $0.word == word }) else {
            return nil
        }
        let rest = parts.count > 1 ? Self.title(parts[1]) : nil
        switch binding.control {
        case .mark: self = .mark(rest)
        default:
            guard rest == nil else { return nil }
            self = binding.control
        }
    }

    /// The control of a key, in either case.
    package init?(key: UInt8) {
        let letter = UInt8(ascii: "A")...UInt8(ascii: "Z") ~= key ? key | 0x20 : key
        guard let binding = Self.bindings.first(where: { $0.key == letter }) else { return nil }
        self = binding.control
    }

    package init?(signal: Int32) {
        guard let binding = Self.bindings.first(where: { $0.signal == signal }) else { return nil }
        self = binding.control
    }

    /// A title without control characters, of as many bytes as are kept; nil for an empty one.
    private static func title(_ text: Substring) -> String? {
        let clean = text.map { $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0 }
        var title = String(String(clean).drop(while: \.isWhitespace))
        while title.last?.isWhitespace ?? false || title.utf8.count > greatestTitle { title.removeLast() }
        return title.isEmpty ? nil : title
    }
}

/// Lines of a stream of bytes.
package struct CaptureLines: Sendable {
    private var rest: [UInt8] = []
    /// Whether what comes belongs to a line that is too long.
    private var isSkipping = false

    /// Bytes of a line at most.
    package static let greatestLength = 1024

    package init() {}

    /// The lines that bytes complete; nil for each one that is too long.
    package mutating func add(_ bytes: some Sequence<UInt8>) -> [String?] {
        var lines: [String?] = []
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                if !isSkipping { lines.append(String(decoding: rest, as: UTF8.self)) }
                (rest, isSkipping) = ([], false)
            } else if !isSkipping {
                rest.append(byte)
                guard rest.count > Self.greatestLength else { continue }
                lines.append(nil)
                (rest, isSkipping) = ([], true)
            }
        }
        return lines
    }

    /// The line that the end of the stream completes.
    package mutating func end() -> String? {
        defer { rest = [] }
        return rest.isEmpty ? nil : String(decoding: rest, as: UTF8.self)
    }
}

/// The controls that were asked for and that the recording has not followed yet.
package final class CaptureControls: Sendable {
    /// A control, and when it was asked for, in nanoseconds of CLOCK_MONOTONIC.
    package struct Request: Sendable {
        package var control: CaptureControl
        package var time: UInt64
    }

    private struct Waiting {
        var requests: [Request] = []
        var ignored = 0
    }

    private let waiting = Mutex(Waiting())
    private let wake: EventFD

    package static let greatestCount = 1024

    /// - Parameter wake: signaled with each control.
    package init(wake: EventFD) { self.wake = wake }

    /// Adds a control; those that nobody follows are bounded.
    package func add(_ control: CaptureControl) {
        let time = MonotonicTime.now.nanoseconds
        waiting.withLock { waiting in
            guard waiting.requests.count < Self.greatestCount else { return waiting.ignored += 1 }
            waiting.requests.append(Request(control: control, time: time))
        }
        wake.signal()
    }

    /// Takes what was asked for, in order, and the number of controls for which there was no room.
    package func take() -> (requests: [Request], ignored: Int) {
        waiting.withLock { waiting in
            defer { waiting = Waiting() }
            return (waiting.requests, waiting.ignored)
        }
    }
}

/// A thread that reads controls from standard input: keys of a terminal, or lines.
final class CaptureInput: Sendable {
    private let follow: @Sendable (CaptureControl) -> Void
    /// What a terminal did before; nil for lines.
    private let before: Mutex<termios?>
    /// Whether keys are read.
    var isTerminal: Bool { before.withLock { $0 != nil } }

    /// Reads as long as the program runs; nil where standard input is not read.
    /// - Parameter isLines: whether lines are read, and not a terminal's keys.
    init?(isLines: Bool, _ follow: @escaping @Sendable (CaptureControl) -> Void) {
        self.follow = follow
        var terminal = termios()
        if isLines {
            before = Mutex(nil)
        } else {
            // The terminal of another process group is left alone.
            guard isatty(0) == 1, tcgetpgrp(0) == getpgrp(), tcgetattr(0, &terminal) == 0 else { return nil }
            before = Mutex(terminal)
            terminal.c_lflag &= ~tcflag_t(ICANON | ECHO)
            tcsetattr(0, TCSANOW, &terminal)
        }
        guard (try? Thread.spawn(name: "controls", { [self] in run(isLines: isLines) })) != nil else {
            restore()
            return nil
        }
    }

    /// Makes a terminal do what it did before.
    func restore() {
        before.withLock { before in
            guard var terminal = before else { return }
            before = nil
            if tcgetpgrp(0) == getpgrp() { tcsetattr(0, TCSANOW, &terminal) }
        }
    }

    private func run(isLines: Bool) {
        // In the background, a read then fails with EIO, and does not stop the process.
        var signals = sigset_t()
        sigemptyset(&signals)
        sigaddset(&signals, SIGTTIN)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        var lines = CaptureLines()
        var bytes = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(0, &bytes, bytes.count)
            if count < 0, [EINTR, EAGAIN, EIO].contains(errno) {
                usleep(100_000)
                continue
            }
            guard count > 0 else { break }
            if isLines {
                for line in lines.add(bytes[..<count]) { take(line: line) }
            } else {
                for control in bytes[..<count].compactMap({ CaptureControl(key: $0) }) { follow(control) }
            }
        }
        // A program that goes away does not end the recording.
        if isLines, let line = lines.end() { take(line: line) }
    }

    private func take(line: String?) {
        guard let line else {
            return Console.note("warning: a control of more than \(CaptureLines.greatestLength) bytes is ignored")
        }
        guard !line.allSatisfy(\.isWhitespace) else { return }
        guard let control = CaptureControl(line: line) else {
            return Console.note("warning: there is no control '\(line)'")
        }
        follow(control)
    }
}
