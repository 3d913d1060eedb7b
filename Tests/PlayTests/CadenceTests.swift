// SPDX-License-Identifier: GPL-2.0-or-later
import HWDControlCommands
import HWDModel
import HWDPlaying
import Testing

/// An ideal cadence over 60 s, computed with exact fractions.
struct IdealCase: CustomTestStringConvertible, Sendable {
    var video: Rational
    var display: Rational
    var frames: [Int: Int]

    init(_ video: String, _ display: String, _ frames: [Int: Int]) {
        (self.video, self.display) = (Rational(text: video) ?? Rational(1), Rational(text: display) ?? Rational(1))
        self.frames = frames
    }

    var testDescription: String { "\(video) at \(display)" }

    static let all = [
        IdealCase("24", "60", [2: 720, 3: 720]), IdealCase("25", "60", [2: 900, 3: 600]),
        IdealCase("24000/1001", "60", [2: 715, 3: 723]), IdealCase("30", "60", [2: 1800]),
        IdealCase("50", "60", [1: 2400, 2: 600]), IdealCase("24", "60000/1001", [2: 723, 3: 716]),
        IdealCase("24", "144", [6: 1440]), IdealCase("60", "144", [2: 2160, 3: 1440]),
        IdealCase("24000/1001", "144", [6: 1429, 7: 9]), IdealCase("120", "60", [1: 3600]),
    ]
}

struct CadenceTests {
    /// The last frame is cut by the end, so one more or less may stay for any number of refreshes.
    @Test(arguments: IdealCase.all) func theIdealIsExact(_ example: IdealCase) {
        let (rate, display) = (example.video, example.display)
        let count = Int(60 * display.value)
        let play = IdealPlay(
            times: (0..<Int64(60 * rate.value + 1)).map { $0 * Int64(rate.denominator) },
            timeBase: Rational(1, rate.numerator) ?? rate, start: 0, rate: 1_000_000,
            refreshes: Refreshes(rate: display))
        let found = play.cadence(0..<count).frames
        let difference = Set(found.keys).union(example.frames.keys).reduce(0) {
            $0 + abs(found[$1, default: 0] - example.frames[$1, default: 0])
        }
        #expect(difference <= 2, "\(found)")
    }

    @Test func framesStayUntilTheNextOne() {
        var cadence = Cadence()
        for refresh in [0, 2, 5, 7] { cadence.show(at: refresh) }
        cadence.end(at: 10)
        cadence.end(at: 12)
        #expect(cadence.frames == [2: 2, 3: 2])
    }

    @Test func reversePlayShowsTheSameFrames() {
        let play = IdealPlay(
            times: (0..<48).map { Int64($0) }, timeBase: Rational(1, 24) ?? Rational(1), start: 2_000_000_000,
            rate: -1_000_000, refreshes: Refreshes(rate: Rational(60)))
        // The first frame may be shown at a later refresh.
        #expect(play.cadence(60..<180) == play.cadence(0..<120))
        let frames = play.cadence(0..<120).frames
        #expect(frames.values.reduce(0, +) == 48)
        #expect(frames.reduce(0) { $0 + $1.key * $1.value } == 120)
    }

    @Test(arguments: [("12.5", 12_500_000_000), ("1:02", 62_000_000_000), ("1:00:00.25", 3_600_250_000_000)])
    func timesAreRead(_ text: String, _ nanoseconds: Int64) {
        #expect(PlayArguments.nanoseconds(text) == nanoseconds)
    }

    @Test(arguments: ["", "x", "-1", "1:60", "1.5:00", "1e300", "nan", "1:2:3:4", "1::2"])
    func otherTextsAreNoTimes(_ text: String) { #expect(PlayArguments.nanoseconds(text) == nil) }
}
