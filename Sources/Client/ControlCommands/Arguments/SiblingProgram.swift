// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDSystem

/// The programs that `hwctl` executes for some commands.
package enum SiblingProgram {
    /// Executes a program beside this one, or at its installed path relative to this one, with the same arguments.
    ///
    /// - Returns: the system's error; nothing where it succeeds.
    package static func execute(_ name: String) -> Int32 {
        for path in ["\(Program.folder)/\(name)", "\(Program.folder)/../libexec/hwdaemon/\(name)"] {
            execv(path, CommandLine.unsafeArgv)
            if errno != ENOENT { break }
        }
        return errno
    }
}
