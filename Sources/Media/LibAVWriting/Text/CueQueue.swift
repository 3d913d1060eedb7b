// SPDX-License-Identifier: GPL-2.0-or-later

/// Cues of one track that is shown one sample at a time, as timed text is (3GPP TS 26.245 5.1): where cues overlap, a part
/// with the lines of all of them is shown.
struct CueQueue {
    /// Text that is shown from one time to another, in ticks.
    struct Part: Hashable {
        var start: Int64
        var end: Int64
        var text: String
    }

    /// Cues that a part leaves out, because too many are shown at a time.
    private(set) var excess = 0

    private let joins: ([String]) -> String
    private var shown: [Part] = []
    private var position = Int64.min

    /// The most cues that are shown at a time.
    private static let maxShown = 32

    /// - Parameter joins: makes the text of several cues.
    init(joins: @escaping ([String]) -> String) { self.joins = joins }

    /// Adds a cue; returns the parts before it, which are complete.
    mutating func add(_ cue: Part) -> [Part] {
        // A cue that comes late begins where the parts that are complete end.
        let start = max(cue.start, position)
        guard start < cue.end else { return [] }
        let parts = parts(upTo: start)
        guard shown.count < Self.maxShown else {
            excess += 1
            return parts
        }
        shown.append(Part(start: start, end: cue.end, text: cue.text))
        return parts
    }

    /// The parts that are left at the end.
    mutating func finish() -> [Part] { parts(upTo: .max) }

    /// Removes what is shown before a time.
    private mutating func parts(upTo limit: Int64) -> [Part] {
        var parts: [Part] = []
        while let start = shown.map(\.start).min(), start < limit {
            let end = min(limit, shown.map(\.end).min() ?? limit)
            parts.append(Part(start: start, end: end, text: joins(shown.map(\.text))))
            shown = shown.filter { $0.end > end }.map { Part(start: end, end: $0.end, text: $0.text) }
        }
        position = max(position, limit == .max ? position : limit)
        return parts
    }
}
