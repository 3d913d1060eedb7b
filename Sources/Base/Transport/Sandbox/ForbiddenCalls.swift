// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// The system calls of an ended process that its sandbox forbade, as the process recorded them.
///
/// A hostile process can hide in its page what it tried in vain.
public struct ForbiddenCalls: Hashable, Sendable {
    /// The first call's name; nil for one that no policy names, or that was not recorded.
    public let name: String?
    /// How many calls were forbidden.
    public let count: UInt64

    /// Reads the untrusted page, and how the process ended; nil if neither shows a forbidden call.
    ///
    /// SIGSYS ends a process without a record where the thread of the call blocks that signal, and where the call is one of
    /// another architecture.
    public init?(_ stats: StatsPage, _ exit: ChildProcess.Exit) {
        if let number = Int32(exactly: stats[.forbiddenCall]), number > 0 {
            name = chwd_call_name(number - 1).map { String(cString: $0) }
            count = stats[.forbiddenCalls]
        } else if exit == .signaled(SIGSYS) {
            (name, count) = (nil, 1)
        } else {
            return nil
        }
    }

    /// What was tried, for the end of a sentence: "start a program (execve)".
    private var attempt: String {
        guard let name else { return "make an unusual system call" }
        return CallTable.purpose(of: name).map { "\($0) (\(name))" } ?? "call \(name)"
    }

    /// The rest of a sentence about the process: "tried to start a program (execve), which its sandbox forbids".
    public var sentence: String { "tried to \(attempt), which its sandbox forbids" }
}
