// SPDX-License-Identifier: MIT
internal import Synchronization

/// The host's clock, in nanoseconds: what an output plays by.
public protocol OutputClock: Sendable {
    /// The present time, in nanoseconds from any start.
    var now: Int64 { get }
}

/// A clock that stands until it is set: for tests, and for programs that render faster or slower than real time.
public final class ManualClock: OutputClock {
    private let time: Mutex<Int64>

    /// Makes a clock that stands at a time, in nanoseconds.
    public init(_ time: Int64 = 0) { self.time = Mutex(time) }

    public var now: Int64 { time.withLock { $0 } }

    /// Sets the time, in nanoseconds.
    public func set(_ new: Int64) { time.withLock { $0 = new } }
}
