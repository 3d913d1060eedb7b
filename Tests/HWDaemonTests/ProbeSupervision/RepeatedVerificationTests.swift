// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDWire
import Testing

@testable import HWDaemon

@Suite("Second attempts of verifications")
struct RepeatedVerificationTests {
    private static let request = ProbeRequest(.node("/dev/a"))

    private static func answer(_ results: ProbeRecord.Result...) -> ProbeAnswer {
        let key = ProbeRecord.Key(device: "d", driver: "v", kernel: "k", libraries: "l", catalogue: "c")
        return ProbeAnswer(record: ProbeRecord(key: key, results: results))
    }

    private static func failed(_ id: String, _ reason: String) -> ProbeRecord.Result {
        ProbeRecord.Result(id: id, verified: false, reason: reason)
    }

    private static let good = ProbeRecord.Result(id: "a", verified: true, reason: nil)

    @Test func believesAFailureThatIsRepeated() throws {
        let first = Self.answer(Self.good, Self.failed("b", "wrong"))
        let again = try #require(RepeatedVerification.firstAttempt.next(after: first, to: Self.request))
        // Only the failure is tried again.
        #expect(again.request.verification == .unlessKnown)
        #expect(again.request.known?.results == [Self.good])
        #expect(again.state.next(after: first, to: again.request) == nil)
    }

    @Test func callsDifferingOutcomesUnstable() throws {
        let first = Self.answer(Self.failed("a", "too large"), Self.failed("b", "wrong"))
        let again = try #require(RepeatedVerification.firstAttempt.next(after: first, to: Self.request))
        let second = Self.answer(Self.good, Self.failed("b", "damaged"))
        let last = try #require(again.state.next(after: second, to: again.request))
        let results = try #require(last.request.known?.results)
        #expect(results.map(\.verified) == [false, false] && results.map(\.passing) == [.unstable, .unstable])
        #expect(results[0].reason == "unstable: first too large, then frames came back intact")
        #expect(results[1].reason == "unstable: first wrong, then damaged")
        // The third process tries nothing and composes the answer.
        #expect(last.state.next(after: second, to: last.request) == nil)
    }

    /// A crash must stay known as one, or the driver is tried again at once.
    @Test func keepsASecondOutcomeThatIsPassing() throws {
        let first = Self.answer(Self.failed("a", "too large"))
        let again = try #require(RepeatedVerification.firstAttempt.next(after: first, to: Self.request))
        for passing in [ProbeRecord.Result.Passing.fatal, .busy] {
            let result = ProbeRecord.Result(id: "a", verified: false, reason: "another", passing: passing)
            #expect(again.state.next(after: Self.answer(result), to: again.request) == nil)
        }
    }

    @Test func repeatsNothingThatWasKnownOrIsPassing() {
        let busy = ProbeRecord.Result(id: "a", verified: false, reason: "busy", passing: .busy)
        let wrong = Self.failed("b", "wrong")
        var request = Self.request
        request.known = Self.answer(wrong).record
        #expect(RepeatedVerification.firstAttempt.next(after: Self.answer(busy, wrong), to: request) == nil)
        request.verification = .always
        #expect(RepeatedVerification.firstAttempt.next(after: Self.answer(wrong), to: request) != nil)
        #expect(RepeatedVerification.firstAttempt.next(after: Self.answer(wrong), to: ProbeRequest(.vulkan)) == nil)
    }

    @Test func keepsLittleOfWhatAProbePrints() {
        func kept(_ text: String) -> String? { ProbeMessages.lastLines(of: Array(text.utf8)) }
        #expect(kept("") == nil && kept("\n \r\n") == nil)
        #expect(kept("x265 [error]: a trial's\n") == nil)
        #expect(kept("a\nb\nb\nc\nd\n") == "b; c; d")
        let long = kept(String(repeating: "\u{1B}[2J\u{202E}", count: 99_999) + "\n")
        #expect((long?.utf8.count ?? 0) <= 310)
        #expect(long?.unicodeScalars.contains { $0.value < 0x20 } == false)
    }
}
