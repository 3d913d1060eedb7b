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
        /// Whether its colors were converted, so that only the pattern of luma can be compared.
        var isConverted: Bool
    }

    /// The faults that were found, at most `maxFaults`.
    private(set) var faults: [Fault] = []
    /// The number of faults.
    private(set) var count = 0

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

    /// Adds the next pair of pictures.
    ///
    /// - Parameter isConverted: whether the output's picture has other colors.
    mutating func add(_ time: Double, input: PictureSignature, output: PictureSignature, isConverted: Bool = false)
    {
        let next = Pair(time: time, input: input, output: output, isConverted: isConverted)
        if let last { classify(last, next) }
        (before, last) = (last, next)
    }

    /// Classifies the last pair.
    mutating func finish() {
        if let last { classify(last, nil) }
        last = nil
        closeRun()
    }

    /// The distance of one pair's input from another's output; `isFitted` where a conversion is between them.
    private func distance(_ input: Pair, _ output: Pair, isFitted: Bool) -> Double {
        isFitted ? input.input.fittedDistance(to: output.output) : input.input.distance(to: output.output)
    }

    private mutating func classify(_ pair: Pair, _ next: Pair?) {
        guard !isLastExplained else {
            isLastExplained = false
            return
        }
        if let next, isExchanged(pair, next) {
            note(.exchanged(pair.time, next.time))
            isLastExplained = true
            return closeRun()
        }
        let own = distance(pair, pair, isFitted: pair.isConverted)
        let toNext = next.flatMap { nearness(of: pair, to: $0) }
        let toPrevious = before.flatMap { nearness(of: pair, to: $0) }
        if own > Self.visible, toNext != nil || toPrevious != nil {
            return extend(isEarly: toNext ?? .infinity < toPrevious ?? .infinity, pair.time)
        }
        // The last picture has no next one to compare with.
        if next == nil, run?.isEarly ?? false, own > Self.visible { return extend(isEarly: true, pair.time) }
        closeRun()
        if isReplaced(pair, own) { return note(.replaced(pair.time, isBlank: isBlank(pair))) }
        if !pair.isConverted {
            usual.sum += own
            usual.count += 1
        }
    }

    /// The distance of a pair's output from its neighbor's input; nil where it is not nearer than to its own.
    private func nearness(of pair: Pair, to neighbor: Pair) -> Double? {
        let isFitted = pair.isConverted || neighbor.isConverted
        let (own, other) = (distance(pair, pair, isFitted: isFitted), distance(neighbor, pair, isFitted: isFitted))
        return other * other * Self.ratio < own * own ? other : nil
    }

    private func isExchanged(_ pair: Pair, _ next: Pair) -> Bool {
        let isFitted = pair.isConverted || next.isConverted
        func squared(_ first: Pair, _ second: Pair) -> Double {
            let distance = distance(first, second, isFitted: isFitted)
            return distance * distance
        }
        let straight = squared(pair, pair) + squared(next, next)
        return straight > Self.noise && (squared(pair, next) + squared(next, pair)) * Self.ratio < straight
    }

    private func isBlank(_ pair: Pair) -> Bool { pair.output.deviation < min(Self.blank, pair.input.deviation / 4) }

    private func isReplaced(_ pair: Pair, _ distance: Double) -> Bool {
        let contents = pair.input.deviation
        if contents > Self.structured, isBlank(pair) { return true }
        guard !pair.isConverted else { return contents > Self.structured && distance > 0.9 * contents }
        let expected = usual.count > 0 ? 3 * usual.sum / usual.count : 0
        return distance > max(Self.otherPicture, expected)
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
