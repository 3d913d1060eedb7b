// SPDX-License-Identifier: MIT
internal import Glibc

/// The unique owner of a file descriptor, which it closes when it is destroyed.
public struct OwnedFD: ~Copyable, Sendable {
    /// The descriptor's number; valid as long as this owner exists.
    public let rawValue: Int32

    /// Takes ownership of a descriptor; no one else may close it.
    public init(_ rawValue: Int32) { self.rawValue = rawValue }

    deinit {
        // Linux releases the number even if close is interrupted.
        _ = close(rawValue)
    }

    /// Releases ownership without closing the descriptor.
    public consuming func take() -> Int32 {
        let number = rawValue
        discard self
        return number
    }

    /// A close-on-exec duplicate, numbered `minimum` or above.
    public func duplicate(atLeast minimum: Int32 = 0) throws(SystemError) -> OwnedFD {
        try Self.duplicate(rawValue, atLeast: minimum)
    }

    /// A close-on-exec duplicate of a descriptor with another owner.
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
