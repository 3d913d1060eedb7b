// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// One thread's wait for many descriptors (level-triggered).
public final class Epoll: Sendable {
    /// What a descriptor is ready for.
    public struct Events: OptionSet, Hashable, Sendable {
        /// The kernel's bits.
        public let rawValue: UInt32
        /// Wraps the kernel's bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// Something to read, or the end.
        public static let readable = Events(rawValue: UInt32(HWD_EPOLL_IN))
        /// Room to write.
        public static let writable = Events(rawValue: UInt32(HWD_EPOLL_OUT))
        /// Both directions are closed; always told.
        public static let hangUp = Events(rawValue: UInt32(HWD_EPOLL_HUP))
        /// An error waits; always told.
        public static let error = Events(rawValue: UInt32(HWD_EPOLL_ERR))
    }

    /// A descriptor that is ready.
    public struct Event: Hashable, Sendable {
        /// The number it was added with.
        public let token: UInt64
        /// What it is ready for.
        public let events: Events

        /// Names one.
        public init(token: UInt64, events: Events) {
            self.token = token
            self.events = events
        }
    }

    private let epoll: OwnedFD

    /// Waits for nothing yet.
    public init() throws(SystemError) { epoll = OwnedFD(try syscall("epoll_create1") { hwd_epoll_create() }) }

    /// Adds a descriptor, which stays the caller's; `token` comes back with its events.
    public func add(_ fd: Int32, token: UInt64, events: Events) throws(SystemError) {
        try control(Int32(HWD_EPOLL_ADD), fd, token, events)
    }

    /// Changes what is waited for.
    public func modify(_ fd: Int32, token: UInt64, events: Events) throws(SystemError) {
        try control(Int32(HWD_EPOLL_MOD), fd, token, events)
    }

    /// Removes a descriptor; to be done before it is closed if a duplicate lives on.
    public func remove(_ fd: Int32) throws(SystemError) { try control(Int32(HWD_EPOLL_DEL), fd, 0, []) }

    /// Waits for up to 64 events, until the deadline (nil: none); empty at the deadline.
    public func wait(until deadline: MonotonicTime?) throws(SystemError) -> [Event] {
        try withBuffers { tokens, events throws(SystemError) in
            while true {
                let timeout = MonotonicTime.pollTimeout(until: deadline)
                let count = hwd_epoll_wait(epoll.rawValue, tokens, events, 64, timeout)
                if count > 0 {
                    return (0..<Int(count)).map { Event(token: tokens[$0], events: Events(rawValue: events[$0])) }
                }
                if count < 0, count != -EINTR { throw SystemError(errno: -count, call: "epoll_wait") }
                if let deadline, MonotonicTime.now >= deadline { return [] }
            }
        }
    }

    /// Waits for up to 64 events, for as long as `timeout` (nil: for ever).
    public func wait(timeout: Duration?) throws(SystemError) -> [Event] {
        try wait(until: timeout.map { MonotonicTime.now + $0 })
    }

    private func control(
        _ operation: Int32, _ fd: Int32, _ token: UInt64, _ events: Events
    ) throws(SystemError) {
        try syscall("epoll_ctl") { hwd_epoll_control(epoll.rawValue, operation, fd, events.rawValue, token) }
    }

    private func withBuffers(
        _ body: (UnsafeMutablePointer<UInt64>, UnsafeMutablePointer<UInt32>) throws(SystemError) -> [Event]
    ) throws(SystemError) -> [Event] {
        let tokens = UnsafeMutablePointer<UInt64>.allocate(capacity: 64)
        let events = UnsafeMutablePointer<UInt32>.allocate(capacity: 64)
        defer {
            tokens.deallocate()
            events.deallocate()
        }
        return try body(tokens, events)
    }
}

/// Signals as a descriptor.
public final class SignalFD: Sendable {
    private let fd: OwnedFD

    /// Blocks the signals in the calling thread and in those it starts later: make it first thing in `main`.
    public init(_ signals: [Int32]) throws(SystemError) {
        fd = OwnedFD(try syscall("signalfd") { hwd_signalfd(signals, signals.count) })
    }

    /// Readable when a signal waits; valid as long as this object lives.
    public var fileDescriptor: Int32 { fd.rawValue }

    /// The next signal's number, nil when none waits.
    public func next() throws(SystemError) -> Int32? {
        do throws(SystemError) {
            return try syscall("read(signalfd)") { hwd_signalfd_next(fd.rawValue) }
        } catch {
            if error.errno == EAGAIN { return nil }
            throw error
        }
    }
}

/// A descriptor by which one thread wakes another out of epoll.
public final class EventFD: Sendable {
    private let fd: OwnedFD

    /// Makes one that is not signalled.
    public init() throws(SystemError) { fd = OwnedFD(try syscall("eventfd") { hwd_eventfd() }) }

    /// Readable while signalled; valid as long as this object lives.
    public var fileDescriptor: Int32 { fd.rawValue }

    /// Signals it; from any thread, as often as liked.
    public func signal() {
        var one: UInt64 = 1
        _ = write(fd.rawValue, &one, 8)
    }

    /// Takes the signal back; true if there was one.
    @discardableResult
    public func clear() -> Bool {
        var value: UInt64 = 0
        return read(fd.rawValue, &value, 8) == 8
    }
}
