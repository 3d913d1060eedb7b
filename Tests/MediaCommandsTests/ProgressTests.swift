// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import hwctl_media

/// The line that long work prints.
@Suite struct ProgressTests {
    private typealias State = hwctl_media.Progress.State

    @Test(arguments: [10, 20, 39, 40, 60, 80, 200])
    func fitsTheTerminal(columns: Int) {
        for total in [nil, 1, 100, 12_345_678] {
            for label in [nil, "3/7 clip.mov", String(repeating: "long name ", count: 30)] {
                for rate in [nil, 0.01, 30.85, 12_345] {
                    var state = State(label: label, done: 99, total: total, rate: rate)
                    (state.secondsLeft, state.bytes) = (rate.map { 100_000 / $0 }, rate.map { $0 * 1e9 })
                    let line = state.line(columns: columns)
                    #expect(line.count < columns && !line.isEmpty)
                }
            }
        }
    }

    @Test func saysWhatIsLeft() {
        let state = State(label: nil, done: 1234, total: 5000, rate: 30.85, secondsLeft: 122, bytes: 12_345_678)
        #expect(state.line(columns: 40) == "24% 1234/5000, 30.9 fps, 2:02 left")
        #expect(state.line(columns: 59) == "24% 1234/5000 frames, 30.9 fps, 2:02 left, about 11.77 MiB")
    }

    @Test("Of several files the line has the number, the name and the estimated size")
    func namesTheFile() {
        let state = State(label: "2/7 b.mkv", done: 50, total: 100, rate: 25, secondsLeft: 2, bytes: 2048)
        #expect(
            state.line(columns: 100)
                == "[===============               ] 2/7 b.mkv 50% 50/100 frames, 25.0 fps, 0:02 left, about 2.0 KiB"
        )
        #expect(state.line(columns: 30) == "2/7 b.mkv 50%, 0:02 left")
    }

    @Test("While too little is known, no time is announced, and then that of the last seconds")
    func settles() throws {
        var pace = Pace()
        // The session starts and its encoder fills up: 6 s without a frame.
        pace.add(done: 0, at: 3)
        #expect(pace.rate == nil)
        pace.add(done: 1, at: 6)
        #expect(pace.rate == nil && pace.secondsLeft(of: 501) == nil)
        // Then 25 frames a second.
        for step in 1...40 { pace.add(done: 1 + step * 5, at: 6 + Double(step) * 0.2) }
        let rate = try #require(pace.rate)
        #expect(abs(rate - 25) < 0.5)
        let left = try #require(pace.secondsLeft(of: 501))
        #expect(abs(left - 12) < 0.5)
    }

    @Test("A change of speed counts within seconds, and work that is done in few large steps has a rate, too")
    func follows() throws {
        var pace = Pace()
        for step in 1...100 { pace.add(done: step * 20, at: Double(step) * 0.2) }
        for step in 1...60 { pace.add(done: 2000 + step, at: 20 + Double(step) * 0.2) }
        let rate = try #require(pace.rate)
        #expect(abs(rate - 5) < 0.5, "\(rate)")
        var coarse = Pace()
        coarse.add(done: 500, at: 100)
        #expect(coarse.rate == 5)
        coarse.add(done: 1500, at: 200)
        #expect(coarse.rate == 10 && coarse.secondsLeft(of: 1500) == nil)
    }
}
