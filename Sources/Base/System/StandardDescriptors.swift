// SPDX-License-Identifier: MIT
internal import Glibc

/// The descriptors of standard input, output and error.
public enum StandardDescriptors {
    /// Opens /dev/null in place of those that are closed, so that no file of this program gets one of their numbers.
    ///
    /// Standard input is opened for writing and the others for reading: using them fails with EBADF, as if they were
    /// closed, also in a program that this one executes.
    public static func reserve() {
        for descriptor in STDIN_FILENO...STDERR_FILENO where fcntl(descriptor, F_GETFD) < 0 {
            // open(2) returns the lowest free number; the ones below this are in use.
            _ = open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY)
        }
    }

    /// Whether standard input can be read.
    public static var isInputOpen: Bool { isOpen(STDIN_FILENO, except: O_WRONLY) }

    /// Whether standard output can be written.
    public static var isOutputOpen: Bool { isOpen(STDOUT_FILENO, except: O_RDONLY) }

    private static func isOpen(_ descriptor: Int32, except mode: Int32) -> Bool {
        let flags = fcntl(descriptor, F_GETFL)
        return flags >= 0 && flags & O_ACCMODE != mode
    }
}
