// SPDX-License-Identifier: MIT
internal import Glibc

/// The one owner of a file descriptor, which closes it when it goes.
public struct OwnedFD: ~Copyable, Sendable {
    /// The descriptor's number; valid as long as this owner lives.
    public let rawValue: Int32

    /// Takes over a descriptor, which nobody else may close from now on.
    public init(_ rawValue: Int32) { self.rawValue = rawValue }

    deinit {
        // Linux releases the number even when close is interrupted.
        _ = close(rawValue)
    }

    /// Gives the descriptor up without closing it.
    public consuming func take() -> Int32 {
        let number = rawValue
        discard self
        return number
    }

    /// A second, close-on-exec descriptor of the same file, numbered `minimum` or above.
    public func duplicate(atLeast minimum: Int32 = 0) throws(SystemError) -> OwnedFD {
        try Self.duplicate(rawValue, atLeast: minimum)
    }

    /// A close-on-exec duplicate of a descriptor that somebody else owns.
    public static func duplicate(_ number: Int32, atLeast minimum: Int32 = 0) throws(SystemError) -> OwnedFD {
        OwnedFD(try syscall("fcntl(F_DUPFD_CLOEXEC)") { negated(fcntl(number, F_DUPFD_CLOEXEC, minimum)) })
    }

    /// Sets or clears `O_NONBLOCK`, which all duplicates share.
    public func setNonblocking(_ on: Bool) throws(SystemError) {
        let number = rawValue
        let flags = try syscall("fcntl(F_GETFL)") { negated(fcntl(number, F_GETFL)) }
        let wanted = on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK
        try syscall("fcntl(F_SETFL)") { negated(fcntl(number, F_SETFL, wanted)) }
    }
}
