// SPDX-License-Identifier: GPL-2.0-or-later

/// How fast frames are done: over the last seconds, and not before the first one is done, so that neither the start of a session
/// nor its encoder's delay counts.
struct Pace {
    private struct Sample {
        var seconds: Double
        var done: Int
    }

    private var samples: [Sample] = []
    private var last = Sample(seconds: 0, done: 0)

    /// Seconds that the rate is measured over at most, where frames are done often.
    private static let window = 8.0
    /// Seconds between two samples that are kept.
    private static let spacing = 0.25
    /// The shortest time that says anything.
    private static let least = 1.0
    /// After so many seconds without another rate, the one since the start is used.
    private static let longStart = 10.0

    /// Notes how many frames are done so many seconds after the start.
    mutating func add(done: Int, at seconds: Double) {
        guard done > 0 else { return }
        last = Sample(seconds: seconds, done: done)
        if let newest = samples.last, seconds - newest.seconds < Self.spacing { return }
        samples.append(last)
        while samples.count > 2, samples[1].seconds <= seconds - Self.window { samples.removeFirst() }
    }

    /// Frames per second; nil where too little is known.
    var rate: Double? {
        if let first = samples.first, last.seconds - first.seconds >= Self.least, last.done > first.done {
            return Double(last.done - first.done) / (last.seconds - first.seconds)
        }
        return last.seconds >= Self.longStart ? Double(last.done) / last.seconds : nil
    }

    /// Seconds until all frames are done; nil where that is unknown.
    func secondsLeft(of total: Int) -> Double? {
        rate.flatMap { total > last.done ? Double(total - last.done) / $0 : nil }
    }
}
