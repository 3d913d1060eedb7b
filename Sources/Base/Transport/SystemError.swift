// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// A failed system call: its name, its subject and the kernel's error number.
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The error number, positive (`ENOENT`, …).
    public let errno: Int32
    /// The call's name.
    public let call: String
    /// What it was called on (a path, an address), where that helps.
    public let subject: String?

    /// Describes a failure.
    public init(errno: Int32, call: String, subject: String? = nil) {
        self.errno = errno
        self.call = call
        self.subject = subject
    }

    /// `call subject: text (errno number)`.
    public var description: String {
        let text = String(cString: chwd_error_text(errno))
        return "\(call)\(subject.map { " \($0)" } ?? ""): \(text) (errno \(errno))"
    }
}

/// Runs a call that returns −errno, and repeats it while signals interrupt it.
@discardableResult
func syscall<R: SignedInteger>(
    _ call: String, _ subject: String? = nil, _ body: () -> R
) throws(SystemError) -> R {
    while true {
        let result = body()
        if result >= 0 { return result }
        if result != -R(EINTR) { throw SystemError(errno: Int32(-result), call: call, subject: subject) }
    }
}

/// Converts the C library's −1 to −errno.
func negated<R: SignedInteger>(_ result: R) -> R { result == -1 ? -R(Glibc.errno) : result }
