// SPDX-License-Identifier: MIT

/// Item times of host times: an anchor of both, and a rate between them.
///
/// All times are integers in nanoseconds.
struct TimeMap {
    /// Millionths.
    private(set) var rate: Int64 = 0
    /// Millionths that are in force when the hold ends.
    private var heldRate: Int64 = 0
    private(set) var anchor: (host: Int64, item: Int64) = (0, 0)
    /// Whether the item time stands until the first frame is there.
    private(set) var isHeld = true

    static let one: Int64 = 1_000_000
    /// Twice real time, in both directions.
    static let greatestRate = 2 * one

    /// The rate that was asked for, in force or not.
    var wantedRate: Int64 { isHeld ? heldRate : rate }

    /// The item time of a host time, rounded down.
    func item(at host: Int64) -> Int64 {
        let moved = (Int128(host) - Int128(anchor.host)) * Int128(rate)
        return Int64(clamping: Int128(anchor.item) + floorDivide(moved, Int128(Self.one)))
    }

    /// Lets time run at another rate from a host time on.
    mutating func setRate(_ new: Int64, at host: Int64) {
        if isHeld {
            heldRate = new
        } else {
            anchor = (host, item(at: host))
            rate = new
        }
    }

    /// Goes to an item time and stands there until `start`.
    mutating func hold(at item: Int64) {
        heldRate = wantedRate
        (isHeld, rate, anchor.item) = (true, 0, item)
    }

    /// Ends a hold: the item time at which it stands is that of the host time.
    mutating func start(at host: Int64) {
        guard isHeld else { return }
        (isHeld, rate, anchor.host) = (false, heldRate, host)
    }

    /// Moves every item time.
    mutating func shift(by nanoseconds: Int64) { anchor.item &+= nanoseconds }
}

/// Host times of display refreshes without their jitter.
///
/// Each step is a number of whole intervals, corrected by 1/32 of the error; a gap of more than 8 intervals starts again, and
/// so does a step back.
struct RefreshGrid {
    /// In 1/1024 ns, like `position`.
    private let interval: Int128
    private var position: Int128?
    private var last: (host: Int64, snapped: Int64) = (0, 0)

    private static let unit: Int128 = 1024

    init?(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        guard (0..<3600).contains(seconds) else { return nil }
        interval =
            (Int128(seconds) * 1_000_000_000_000_000_000 + Int128(attoseconds)) * Self.unit / 1_000_000_000
        guard interval > 0 else { return nil }
    }

    /// The interval in nanoseconds.
    var nanoseconds: Int64 { Int64(clamping: interval / Self.unit) }

    /// The refresh that a host time belongs to.
    mutating func snap(_ host: Int64) -> Int64 {
        let time = Int128(host) * Self.unit
        guard let position else { return restart(host) }
        // Both questions of one refresh have one answer.
        if host >= last.host, (Int128(host) - Int128(last.host)) * Self.unit < interval / 2 {
            return last.snapped
        }
        let steps = max(1, floorDivide(time - position + interval / 2, interval))
        let next = position + steps * interval
        guard steps <= 8, time >= position - interval / 2 else { return restart(host) }
        self.position = next + (time - next) / 32
        last = (host, Int64(clamping: (self.position ?? next) / Self.unit))
        return last.snapped
    }

    private mutating func restart(_ host: Int64) -> Int64 {
        position = Int128(host) * Self.unit
        last = (host, host)
        return host
    }
}

/// The unit of a stream's times.
struct TickScale {
    /// A tick is `numerator`/`denominator` seconds.
    let numerator: Int64
    let denominator: Int64

    private static let second: Int128 = 1_000_000_000

    /// The last tick at or before a time in nanoseconds; exact, so that comparing ticks is comparing times.
    func ticks(_ nanoseconds: Int64) -> Int64 {
        Int64(clamping: floorDivide(Int128(nanoseconds) * Int128(denominator), Int128(numerator) * Self.second))
    }

    /// The time of a tick, rounded up, so that `ticks` of it is the tick again.
    func nanoseconds(_ ticks: Int64) -> Int64 {
        let (time, unit) = (Int128(ticks) * Int128(numerator) * Self.second, Int128(denominator))
        return Int64(clamping: -floorDivide(-time, unit))
    }
}

/// Division that rounds down; the divisor is positive.
func floorDivide(_ dividend: Int128, _ divisor: Int128) -> Int128 {
    let (quotient, rest) = dividend.quotientAndRemainder(dividingBy: divisor)
    return rest < 0 ? quotient - 1 : quotient
}
