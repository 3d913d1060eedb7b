// SPDX-License-Identifier: GPL-2.0-or-later

/// Finds pictures of an output that are not those of the input at their times: replaced, exchanged, repeated, displaced.
///
/// It compares each pair with its neighbors, so it holds three pairs of signatures.
struct PictureOrder {
    /// What is wrong with pictures.
    enum Fault: Hashable {
        /// Another picture, without contents where `isBlank`.
        case replaced(Double, isBlank: Bool)
        /// This one and the next one are exchanged.
        case exchanged(Double, Double)
        /// The picture before it is shown once more.
        case repeated(Double)
        /// So many pictures from this time on are shown one frame early: one before them is missing.
        case early(Double, count: Int)
        /// So many pictures from this time on are shown one frame late: one before them is there twice.
        case late(Double, count: Int)
    }

    private struct Pair {
        var time: Double
        var input: PictureSignature
        var output: PictureSignature
        var distance: Double
    }

    /// The faults that were found, at most `maxFaults`.
    private(set) var faults: [Fault] = []
    /// The number of faults.
    private(set) var count = 0

    /// Whether the colors of the output are converted.
    private let isConverted: Bool
    private var before: Pair?
    private var last: Pair?
    private var isLastExplained = false
    private var run: Run?
    /// Sum and number of the distances of pairs without a fault.
    private var usual = (sum: 0.0, count: 0.0)

    private struct Run {
        var isEarly: Bool
        var start: Double
        var count: Int
    }

    static let maxFaults = 100
    /// The squared distance, in 8-bit samples, below which pictures are taken to be equal.
    private static let noise = 0.1
    /// The distance of a picture that is another one: more than the coarsest quantization makes of a cell of 8x8 samples.
    private static let otherPicture = 14.0
    /// The distance from which a single displaced picture counts.
    private static let visible = 1.0
    /// A displaced picture is at least this much nearer to its neighbor, in squared distance.
    private static let ratio = 4.0
    /// The deviation from which a picture has contents, and the one below which it has none: coding leaves traces.
    private static let (structured, blank) = (4.0, 3.0)

    init(isConverted: Bool) { self.isConverted = isConverted }

    /// Adds the next pair of pictures.
    mutating func add(_ time: Double, input: PictureSignature, output: PictureSignature) {
        let next = Pair(time: time, input: input, output: output, distance: distance(input, output))
        if let last { judge(last, next) }
        (before, last) = (last, next)
    }

    /// Judges the last pair.
    mutating func finish() {
        if let last { judge(last, nil) }
        last = nil
        closeRun()
    }

    private func distance(_ input: PictureSignature, _ output: PictureSignature) -> Double {
        isConverted ? input.fittedDistance(to: output) : input.distance(to: output)
    }

    private mutating func judge(_ pair: Pair, _ next: Pair?) {
        guard !isLastExplained else {
            isLastExplained = false
            return
        }
        let own = pair.distance * pair.distance
        if let next, isExchanged(pair, next) {
            note(.exchanged(pair.time, next.time))
            isLastExplained = true
            return closeRun()
        }
        let toNext = next.map { distance($0.input, pair.output) } ?? .infinity
        let toPrevious = before.map { distance($0.input, pair.output) } ?? .infinity
        let nearest = min(toNext, toPrevious)
        if pair.distance > Self.visible, nearest * nearest * Self.ratio < own {
            return extend(isEarly: toNext < toPrevious, pair.time)
        }
        // The last picture has no next one to compare with.
        if next == nil, run?.isEarly ?? false, pair.distance > Self.visible {
            return extend(isEarly: true, pair.time)
        }
        closeRun()
        if isReplaced(pair) {
            return note(.replaced(pair.time, isBlank: isBlank(pair)))
        }
        usual.sum += pair.distance
        usual.count += 1
    }

    private func isExchanged(_ pair: Pair, _ next: Pair) -> Bool {
        let straight = pair.distance * pair.distance + next.distance * next.distance
        let (first, second) = (distance(pair.input, next.output), distance(next.input, pair.output))
        return straight > Self.noise && (first * first + second * second) * Self.ratio < straight
    }

    private func isBlank(_ pair: Pair) -> Bool { pair.output.deviation < min(Self.blank, pair.input.deviation / 4) }

    private func isReplaced(_ pair: Pair) -> Bool {
        let contents = pair.input.deviation
        if contents > Self.structured, isBlank(pair) { return true }
        guard !isConverted else { return contents > Self.structured && pair.distance > 0.9 * contents }
        let expected = usual.count > 0 ? 3 * usual.sum / usual.count : 0
        return pair.distance > max(Self.otherPicture, expected)
    }

    private mutating func extend(isEarly: Bool, _ time: Double) {
        if run?.isEarly == isEarly {
            run?.count += 1
        } else {
            closeRun()
            run = Run(isEarly: isEarly, start: time, count: 1)
        }
    }

    private mutating func closeRun() {
        guard let run else { return }
        self.run = nil
        switch (run.isEarly, run.count) {
        case (false, 1): note(.repeated(run.start))
        case (true, _): note(.early(run.start, count: run.count))
        case (false, _): note(.late(run.start, count: run.count))
        }
    }

    private mutating func note(_ fault: Fault) {
        count += 1
        if faults.count < Self.maxFaults { faults.append(fault) }
    }
}
