// SPDX-License-Identifier: GPL-2.0-or-later
import HWDTransport

/// Seconds after which something has hung, on a busy machine as well.
let hang = 60

/// Milliseconds from `start` to now.
func milliseconds(since start: MonotonicTime) -> Double {
    Double(MonotonicTime.now.nanoseconds(since: start)) / 1e6
}

/// The value that `share` of the values do not exceed.
func percentile(_ values: [Double], _ share: Double) -> Double {
    let sorted = values.sorted()
    return sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
}

/// A figure with two decimals.
func rounded(_ value: Double) -> Double { (value * 100).rounded() / 100 }
