// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMetadata
internal import HWDModel

/// Whether files are all segments of one source, each once.
enum PartCheck {
    /// A file and its record.
    struct Part: Hashable {
        var path: String
        var record: PartRecord
    }

    /// The parts in the order of their segments.
    ///
    /// - Parameters:
    ///   - parts: in any order; not empty.
    ///   - source: the digest of the source's video, and its name.
    /// - Throws: `badInput` for parts of another source or of other options, for a segment that is missing or there twice,
    ///   and for times that overlap or leave a gap.
    static func ordered(_ parts: [Part], source: (digest: String, path: String)) throws(MediaError) -> [Part] {
        guard let first = parts.first else { throw MediaError(.usage, "there are no parts") }
        for part in parts {
            guard part.record.source == source.digest else {
                throw MediaError(.badInput, "\(part.path) is a segment of another source than \(source.path)")
            }
            guard (part.record.count, part.record.timeBase) == (first.record.count, first.record.timeBase) else {
                throw MediaError(
                    .badInput,
                    "\(part.path) is \(name(part)), \(first.path) is \(name(first)): encode all with one count")
            }
            guard part.record.options == first.record.options else {
                throw MediaError(
                    .badInput,
                    "\(part.path) was encoded \(part.record.optionsText), \(first.path) \(first.record.optionsText)"
                )
            }
            try checkPreset(part, first)
        }
        let sorted = parts.sorted { $0.record.segment < $1.record.segment }
        for (one, next) in zip(sorted, sorted.dropFirst()) where one.record.segment == next.record.segment {
            throw MediaError(
                .badInput, "segment \(one.record.segment) is there twice: \(one.path) and \(next.path)")
        }
        let present = Set(sorted.map(\.record.segment))
        let missing = (1...first.record.count).filter { !present.contains($0) }
        guard missing.isEmpty else {
            let isOne = missing.count == 1
            throw MediaError(
                .badInput,
                "\(isOne ? "segment" : "segments") \(ranges(missing)) of \(first.record.count) \(isOne ? "is" : "are") missing"
            )
        }
        try checkTimes(sorted)
        return sorted
    }

    private static func checkPreset(_ part: Part, _ first: Part) throws(MediaError) {
        guard part.record.preset == first.record.preset else {
            throw MediaError(
                .badInput, "\(part.path) and \(first.path) were encoded with presets of one name and other values")
        }
        guard part.record.sound == first.record.sound else {
            throw MediaError(
                .badInput,
                "\(part.path) was encoded \(part.record.soundText), \(first.path) \(first.record.soundText)")
        }
    }

    private static func checkTimes(_ parts: [Part]) throws(MediaError) {
        let tick = parts.first.flatMap { Rational(text: $0.record.timeBase)?.value } ?? 0
        func seconds(_ ticks: Int64) -> String { "\(Progress.decimal(Double(ticks) * tick, 3)) s" }
        for (one, next) in zip(parts, parts.dropFirst()) where one.record.end != next.record.start {
            let fault = one.record.end > next.record.start ? "they overlap" : "there is a gap"
            throw MediaError(
                .badInput,
                "\(one.path) ends at \(seconds(one.record.end)) and \(next.path) begins at \(seconds(next.record.start)): \(fault)"
            )
        }
    }

    private static func name(_ part: Part) -> String { "segment \(part.record.segment) of \(part.record.count)" }

    /// Numbers such as `2, 5-7`, which ascend; a long list is cut.
    static func ranges(_ numbers: [Int]) -> String {
        var runs: [(first: Int, last: Int)] = []
        for number in numbers {
            if let last = runs.last, last.last + 1 == number {
                runs[runs.count - 1].last = number
            } else {
                runs.append((number, number))
            }
        }
        let texts = runs.prefix(10).map { $0.first == $0.last ? "\($0.first)" : "\($0.first)-\($0.last)" }
        return texts.joined(separator: ", ") + (runs.count > 10 ? " and more" : "")
    }
}
