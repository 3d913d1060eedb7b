// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// A level-triggered epoll(7) instance, for use by one thread.
public final class Epoll: Sendable {
    /// What a descriptor is ready for.
    public struct Events: OptionSet, Hashable, Sendable {
        /// The bits of `epoll_event.events`.
        public let rawValue: UInt32
        /// Wraps the bits of `epoll_event.events`.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// There is data to read, or the end of the stream.
        public static let readable = Events(rawValue: UInt32(CHWD_EPOLL_IN))
        /// A write does not block.
        public static let writable = Events(rawValue: UInt32(CHWD_EPOLL_OUT))
        /// Both directions are closed; reported whether requested or not.
        public static let hangUp = Events(rawValue: UInt32(CHWD_EPOLL_HUP))
        /// The descriptor has an error; reported whether requested or not.
        public static let error = Events(rawValue: UInt32(CHWD_EPOLL_ERR))
    }

    /// A descriptor that is ready.
    public struct Event: Hashable, Sendable {
        /// The number it was added with.
        public let token: UInt64
        /// What it is ready for.
        public let events: Events

        /// Pairs a token and its events.
        public init(token: UInt64, events: Events) {
            self.token = token
            self.events = events
        }
    }

    private let epoll: OwnedFD

    /// Creates an instance without descriptors.
    public init() throws(SystemError) { epoll = OwnedFD(try syscall("epoll_create1") { chwd_epoll_create() }) }

    /// Readable while a descriptor of the instance is ready; valid as long as this object exists.
    public var fileDescriptor: Int32 { epoll.rawValue }

    /// Adds a descriptor, which the caller keeps; its events carry `token`.
    public func add(_ fd: Int32, token: UInt64, events: Events) throws(SystemError) {
        try control(Int32(CHWD_EPOLL_ADD), fd, token, events)
    }

    /// Adds a descriptor for one event: its hang-up or an error.
    ///
    /// The entry belongs to the open file description and stays after `close` as long as another process has a copy.
    public func addHangUp(_ fd: Int32, token: UInt64) throws(SystemError) {
        let events = Events(rawValue: UInt32(CHWD_EPOLL_ONESHOT))
        do throws(SystemError) {
            try control(Int32(CHWD_EPOLL_ADD), fd, token, events)
        } catch {
            // An earlier descriptor of the same description had this number.
            guard error.errno == EEXIST else { throw error }
            try control(Int32(CHWD_EPOLL_MOD), fd, token, events)
        }
    }

    /// Replaces a descriptor's token and events.
    public func modify(_ fd: Int32, token: UInt64, events: Events) throws(SystemError) {
        try control(Int32(CHWD_EPOLL_MOD), fd, token, events)
    }

    /// Removes a descriptor; needed before close if a duplicate stays open.
    public func remove(_ fd: Int32) throws(SystemError) { try control(Int32(CHWD_EPOLL_DEL), fd, 0, []) }

    /// Waits for up to 64 events.
    ///
    /// - Returns: no event at the deadline; a nil deadline waits forever.
    public func wait(until deadline: MonotonicTime?) throws(SystemError) -> [Event] {
        try withBuffers { tokens, events throws(SystemError) in
            while true {
                let timeout = MonotonicTime.pollTimeout(until: deadline)
                let count = chwd_epoll_wait(epoll.rawValue, tokens, events, 64, timeout)
                if count > 0 {
                    return (0..<Int(count)).map { Event(token: tokens[$0], events: Events(rawValue: events[$0])) }
                }
                if count < 0, count != -EINTR { throw SystemError(errno: -count, call: "epoll_wait") }
                if let deadline, MonotonicTime.now >= deadline { return [] }
            }
        }
    }

    private func control(
        _ operation: Int32, _ fd: Int32, _ token: UInt64, _ events: Events
    ) throws(SystemError) {
        try syscall("epoll_ctl") { chwd_epoll_control(epoll.rawValue, operation, fd, events.rawValue, token) }
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

/// Signals delivered through a descriptor (signalfd(2)).
public final class SignalFD: Sendable {
    private let fd: OwnedFD

    /// Blocks the signals in the calling thread and those it starts later: create it first in `main`.
    public init(_ signals: [Int32]) throws(SystemError) {
        fd = OwnedFD(try syscall("signalfd") { chwd_signalfd(signals, signals.count) })
    }

    /// Readable when a signal is pending; valid as long as this object exists.
    public var fileDescriptor: Int32 { fd.rawValue }

    /// The next pending signal's number; nil when there is none.
    public func next() throws(SystemError) -> Int32? {
        do throws(SystemError) {
            return try syscall("read(signalfd)") { chwd_signalfd_next(fd.rawValue) }
        } catch {
            if error.errno == EAGAIN { return nil }
            throw error
        }
    }
}

/// A descriptor that wakes another thread from epoll (eventfd(2)).
public final class EventFD: Sendable {
    private let fd: OwnedFD

    /// Creates a descriptor that is not signaled.
    public init() throws(SystemError) { fd = OwnedFD(try syscall("eventfd") { chwd_eventfd() }) }

    /// Readable while signaled; valid as long as this object exists.
    public var fileDescriptor: Int32 { fd.rawValue }

    /// Signals the descriptor; callable from any thread, any number of times.
    public func signal() {
        var one: UInt64 = 1
        _ = write(fd.rawValue, &one, 8)
    }

    /// Clears the signal; returns whether there was one.
    @discardableResult
    public func clear() -> Bool {
        var value: UInt64 = 0
        return read(fd.rawValue, &value, 8) == 8
    }
}
