// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDWire

/// How far a failed verification has been repeated: a failure is repeated in a fresh process before it is reported.
enum RepeatedVerification {
    /// Nothing has failed yet.
    case firstAttempt
    /// These results failed once and are repeated.
    case repeating([ProbeRecord.Result])
    /// Both attempts have ended.
    case finished

    /// The request that follows an answer, and what is known then; nil if the answer is final.
    ///
    /// - Parameter request: the request that was answered.
    func next(after answer: ProbeAnswer, to request: ProbeRequest) -> (
        request: ProbeRequest, state: RepeatedVerification
    )? {
        guard case .node = request.subject, var record = answer.record else { return nil }
        switch self {
        case .firstAttempt:
            let known = request.verification == .always ? [] : request.known?.results ?? []
            let failed = record.results.filter { !$0.verified && $0.passing == nil && !known.contains($0) }
            guard !failed.isEmpty else { return nil }
            record.results.removeAll(where: failed.contains)
            return (Self.repeated(request, record), .repeating(failed))
        case .repeating(let failed):
            let differing = failed.compactMap { first in Self.unstable(first, record.results) }
            guard !differing.isEmpty else { return nil }
            record.results.removeAll { result in differing.contains { $0.id == result.id } }
            record.results += differing
            return (Self.repeated(request, record), .finished)
        case .finished: return nil
        }
    }

    private static func repeated(_ request: ProbeRequest, _ record: ProbeRecord) -> ProbeRequest {
        ProbeRequest(request.subject, verification: .unlessKnown, known: record)
    }

    /// The result of a path whose second attempt ended differently; nil if it ended alike, or in a failure that may not
    /// last: the daemon must know of a crash.
    private static func unstable(_ first: ProbeRecord.Result, _ results: [ProbeRecord.Result]) -> ProbeRecord
        .Result?
    {
        guard let second = results.first(where: { $0.id == first.id }), second.passing == nil,
            second.verified || second.reason != first.reason
        else { return nil }
        let outcome = second.verified ? "frames came back intact" : second.reason ?? "it failed"
        return ProbeRecord.Result(
            id: first.id, verified: false,
            reason: "unstable: first \(first.reason ?? "it failed"), then \(outcome)", passing: .unstable,
            cause: .unstable)
    }
}
