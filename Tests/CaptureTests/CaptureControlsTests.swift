// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import Glibc
import HWClient
import HWDCapturing
import HWDControlCommands
import HWDTransport
import Testing

/// SplitMix64 (Steele, Lea and Flood 2014).
struct SeededGenerator: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ value >> 30) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
        return value ^ value >> 31
    }
}

struct CaptureControlsTests {
    @Test(
        arguments: [
            ("pause", CaptureControl.pause), (" resume\r", .resume), ("toggle", .toggle), ("save", .save),
            ("stop", .stop), ("mark", .mark(nil)), ("mark   ", .mark(nil)), ("mark Über uns ", .mark("Über uns")),
            ("mark a\u{1b}[2Jb\u{0}", .mark("a [2Jb")),
        ])
    func linesAreControls(line: String, control: CaptureControl) {
        #expect(CaptureControl(line: line) == control)
    }

    @Test(arguments: ["", " ", "p", "Pause", "pause now", "stop 1", "marks", "\u{0}", "mark\u{0}x"])
    func otherLinesAreNone(line: String) { #expect(CaptureControl(line: line) == nil) }

    @Test func titlesAreBounded() {
        // Characters are kept whole.
        for (title, count) in [
            (String(repeating: "x", count: 1000), 255), (String(repeating: "é", count: 300), 127),
        ] {
            #expect(CaptureControl(line: "mark " + title) == .mark(String(title.prefix(count))))
        }
        #expect(CaptureControl(line: "mark \u{1}\u{2}") == .mark(nil))
    }

    @Test func keysAndSignalsAreControls() {
        let keys = (UInt8.min...UInt8.max).compactMap { key in CaptureControl(key: key).map { (key, $0) } }
        #expect(keys.map { String(UnicodeScalar($0.0)) }.joined() == "CMPQScmpqs")
        #expect(keys.suffix(5).map(\.1) == [.still, .mark(nil), .toggle, .stop, .save])
        let signals = (Int32(1)...64).compactMap { signal in CaptureControl(signal: signal).map { (signal, $0) } }
        #expect(signals.map(\.0) == [SIGUSR1, SIGUSR2, __libc_current_sigrtmin(), __libc_current_sigrtmin() + 1])
        #expect(signals.map(\.1) == [.save, .toggle, .mark(nil), .still])
    }

    /// By its key, its signal and its word, in one row.
    @Test func everyControlIsInTheHelp() throws {
        let help = CaptureCommand.configuration.discussion
        let lines = help.split(separator: "\n", omittingEmptySubsequences: false)
        let rows = lines.drop { $0 != "CONTROLS" }.prefix { $0 != "LAST" }.map { row in
            row.split { $0 == " " || $0 == "," }.map(String.init)
        }
        let first = __libc_current_sigrtmin()
        let names = [SIGUSR1: "SIGUSR1", SIGUSR2: "SIGUSR2", first: "SIGRTMIN", first + 1: "SIGRTMIN+1"]
        for binding in CaptureControl.bindings {
            var words = [binding.word]
            if let key = binding.key { words.append(String(UnicodeScalar(key))) }
            if let signal = binding.signal { words.append(try #require(names[signal])) }
            #expect(rows.contains { row in words.allSatisfy(row.contains) }, "\(words)")
        }
    }

    @Test func controlsThatNobodyFollowsAreCounted() throws {
        let controls = CaptureControls(wake: try EventFD())
        for _ in 0..<CaptureControls.greatestCount + 6 { controls.add(.save) }
        controls.add(.stop)
        let (requests, ignored) = controls.take()
        #expect(requests.map(\.control) == Array(repeating: .save, count: CaptureControls.greatestCount))
        #expect(ignored == 7)
        controls.add(.pause)
        #expect(controls.take().requests.map(\.control) == [.pause])
        #expect(controls.take().ignored == 0)
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func linesComeInParts(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var (bytes, expected) = ([UInt8](), [String?]())
        for _ in 0..<200 {
            let count = Int.random(
                in: 0...(Int.random(in: 0..<10, using: &generator) == 0 ? 3000 : 40), using: &generator)
            let line = (0..<count).map { _ in UInt8.random(in: 32...126, using: &generator) }
            bytes += line + [10]
            expected.append(count > CaptureLines.greatestLength ? nil : String(decoding: line, as: UTF8.self))
        }
        bytes += Array("last".utf8)
        var (lines, found, rest) = (CaptureLines(), [String?](), bytes[...])
        while !rest.isEmpty {
            let part = rest.prefix(Int.random(in: 1...500, using: &generator))
            rest = rest.dropFirst(part.count)
            found += lines.add(part)
        }
        #expect(found == expected)
        #expect(lines.end() == "last")
        #expect(lines.end() == nil)
    }

    @Test(
        arguments: [
            ["--last", "60s"], ["--last", "60"], ["--last", "1:00"], ["--last", "1", "--max-size", "10M"],
            ["--control", "stdin", "--receipt", "b.json"], ["--control", "off"],
        ])
    func optionsOfControls(options: [String]) throws {
        let arguments = try CaptureArguments.parse(["--source", "test", "a.mov"] + options)
        if arguments.last?.contains("60") ?? false { #expect(arguments.lastTime == 60_000_000_000) }
    }

    @Test(
        arguments: [
            (["--last", "0"], "--last takes"), (["--last", "s"], "--last takes"),
            (["--last", "1:00:01"], "--last takes"),
            (["--last", "60ss"], "--last takes"), (["--last", "60", "--segment-time", "10"], "contradict"),
            (["--receipt", "a.mov"], "--receipt takes"), (["--receipt", ""], "--receipt takes"),
            (["--control", "none"], "--control"),
        ])
    func optionsThatAreRefused(options: [String], reason: String) throws {
        let error = #expect(throws: (any Error).self) {
            try CaptureArguments.parse(["--source", "test", "a.mov"] + options)
        }
        #expect(CaptureArguments.message(for: try #require(error)).contains(reason))
    }
}

struct CapturePausesTests {
    /// Compares with a count of each nanosecond of a short recording.
    @Test(arguments: 0..<50 as Range<UInt64>)
    func timesLeavePausesOut(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var pauses = CapturePauses()
        var isLeftOut = [Bool](repeating: false, count: 400)
        var (time, isPaused) = (0, false)
        while true {
            time += Int.random(in: 0..<60, using: &generator)
            guard time < isLeftOut.count else { break }
            // What is asked for twice changes nothing.
            if isPaused {
                #expect(pauses.pause(at: UInt64(time)) == nil)
                #expect(pauses.resume(at: UInt64(time)) == UInt64(time))
                for index in time..<isLeftOut.count { isLeftOut[index] = false }
            } else {
                #expect(pauses.resume(at: UInt64(time)) == nil)
                #expect(pauses.pause(at: UInt64(time)) == UInt64(time))
                for index in time..<isLeftOut.count { isLeftOut[index] = true }
            }
            isPaused.toggle()
            #expect(pauses.isPaused == isPaused)
        }
        // A recording begins with a frame, which no pause has.
        let first = Int.random(in: 0..<100, using: &generator)
        let origin = isLeftOut[first...].firstIndex(of: false) ?? isLeftOut.count
        var elapsed = 0
        for clock in isLeftOut.indices {
            #expect(pauses.contains(UInt64(clock)) == isLeftOut[clock])
            #expect(pauses.time(at: UInt64(clock), from: UInt64(origin)) == UInt64(elapsed))
            guard clock >= origin else { continue }
            // The first time of the clock that has it.
            if clock == origin || !isLeftOut[clock - 1] {
                #expect(pauses.clock(at: UInt64(elapsed), from: UInt64(origin)) == UInt64(clock))
            }
            if !isLeftOut[clock] { elapsed += 1 }
        }
    }

    @Test func pausesAreBounded() {
        var pauses = CapturePauses()
        for number in 0..<UInt64(CapturePauses.greatestCount) {
            #expect(pauses.pause(at: number) == number)
            // A clock that goes back ends them when they begin.
            #expect(pauses.resume(at: 0) == number)
        }
        #expect(pauses.pause(at: 5000) == nil)
        #expect(!pauses.isPaused)
    }
}

struct CaptureQueuePausesTests {
    private static let screen = CaptureFormat(.raw(pixelFormat: "NV12"), width: 64, height: 64, rate: nil)

    @Test func framesOfAPauseAreLeftOut() throws {
        let feed = try Feed(limit: 200_000_000)
        let time = { (milliseconds: UInt64) in feed.begin + milliseconds * 1_000_000 }
        for number in 0..<5 as Range<UInt64> { feed.send(number) }
        #expect(feed.queue.resume(at: time(45)) == nil)
        #expect(feed.queue.pause(at: time(55)) == time(55))
        #expect(feed.queue.pause(at: time(56)) == nil)
        // It was taken before the pause, and comes late.
        feed.send(5, late: 7)
        feed.send(6)
        feed.send(9)
        #expect(feed.queue.elapsed(at: time(90)) == 55_000_000)
        #expect(feed.queue.resume(at: time(95)) == time(95))
        // One that comes late was taken in the pause.
        feed.send(9, milliseconds: 94, late: 5)
        feed.send(10)
        #expect(feed.take() == [0, 10, 20, 30, 40, 50, 60].map { $0 * 1_000_000 })
        // Not before the last frame.
        #expect(feed.queue.pause(at: time(98)) == time(100) + 100_000)
        #expect(feed.queue.resume(at: time(0)) == time(100) + 100_000)
        for number in 11..<40 as Range<UInt64> {
            feed.send(number)
            _ = feed.take()
        }
        // Those that a source skips in a pause are not missed, and the duration leaves pauses out.
        let counts = feed.queue.counts
        #expect(counts.captured == 20)
        #expect(counts.log.total == 0)
        guard case .duration = feed.queue.end else { throw Unexpected() }
        let pauses = feed.queue.pauses(now: time(500))
        #expect(pauses.map(\.time) == [0.055, 0.0601])
        #expect(pauses.map(\.duration) == [0.04, 0])
    }

    @Test func aPauseMayPrecedeTheFirstFrame() throws {
        let feed = try Feed()
        #expect(feed.queue.pause(at: feed.begin - 5) == feed.begin - 5)
        for number in 0..<5 as Range<UInt64> { feed.send(number) }
        feed.queue.lost(3, at: feed.begin + 1, cause: "test")
        #expect(feed.queue.origin == nil)
        #expect(feed.queue.resume(at: feed.begin + 45_000_000) != nil)
        for number in 5..<8 as Range<UInt64> { feed.send(number) }
        #expect(feed.take() == [0, 10_000_000, 20_000_000])
        #expect(feed.queue.counts.captured == 3)
        #expect(feed.queue.pauses(now: 0).map(\.time) == [0])
    }

    @Test func whatIsShownAfterAPauseIsRecorded() throws {
        let feed = try Feed(Self.screen)
        let time = { (milliseconds: UInt64) in feed.begin + milliseconds * 1_000_000 }
        feed.send(0)
        #expect(feed.pictures() == [[0, 0]])
        // The file is as long as what precedes the pause.
        #expect(feed.queue.pause(at: time(400)) == time(400) + 100_000)
        #expect(feed.pictures() == [[0, 400]])
        feed.send(1, milliseconds: 500)
        feed.send(2, milliseconds: 600)
        feed.repeat(milliseconds: 2000)
        feed.repeat(milliseconds: 2000, isEnd: true)
        #expect(feed.pictures().isEmpty)
        #expect(feed.queue.resume(at: time(2400)) == time(2400))
        feed.repeat(milliseconds: 2500)
        #expect(feed.pictures() == [[2, 500]])
        let counts = feed.queue.counts
        #expect(counts.captured == 1)
        #expect(counts.repeated == 2)
        #expect(counts.log.total == 0)
        #expect(feed.queue.pool.freeCount == feed.queue.pool.slotCount - 1)
    }

    @Test func aStillScreenThatBeginsWithAPauseIsRecorded() throws {
        let feed = try Feed(Self.screen)
        _ = feed.queue.pause(at: feed.begin)
        feed.send(7, milliseconds: 100)
        #expect(feed.pictures().isEmpty)
        let end = feed.begin + 300_000_000
        #expect(feed.queue.resume(at: end) == end)
        #expect(feed.queue.origin == end)
        #expect(feed.pictures() == [[7, 0]])
        feed.repeat(milliseconds: 1400)
        #expect(feed.pictures() == [[7, 1100]])
        #expect(feed.queue.counts.captured == 0)
        #expect(feed.queue.counts.repeated == 2)
    }

    private struct Unexpected: Error {}
}
