// SPDX-License-Identifier: MIT
internal import Glibc

/// The exclusive lock on a name, in a file beside it that no other user can open.
///
/// It is not a lock on the folder, because any user who can read that could hold it.
final class LockFile {
    /// How long another process may hold it; longer than one that starts needs.
    private static let timeout = Duration.seconds(10)

    private let path: String
    private let file: OwnedFD

    /// Waits for the lock.
    ///
    /// - Throws: `EPERM` if another user owns or can open the file, `EWOULDBLOCK` if it stays locked.
    init(beside name: String) throws(SystemError) {
        let path = name + ".lock"
        self.path = path
        file = try Self.lock(path)
    }

    /// Removes the file, and with the last reference the lock.
    func remove() { unlink(path) }

    private static func lock(_ path: String) throws(SystemError) -> OwnedFD {
        let deadline = MonotonicTime.now + timeout
        while true {
            // Nonblocking, because another user may have put a FIFO there.
            let flags = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC
            let file = OwnedFD(try syscall("open", path) { negated(open(path, flags, 0o600)) })
            let number = file.rawValue
            var opened = stat()
            try syscall("fstat", path) { negated(fstat(number, &opened)) }
            guard opened.st_mode & (S_IFMT | 0o077) == S_IFREG, opened.st_uid == geteuid() else {
                throw SystemError(errno: EPERM, call: "lock", subject: "\(path), which is not this user's alone")
            }
            let result = negated(flock(number, LOCK_EX | LOCK_NB))
            var present = stat()
            if result == 0, lstat(path, &present) == 0, present.st_dev == opened.st_dev,
                present.st_ino == opened.st_ino
            {
                return file
            }
            // The previous holder has removed the file, and the next process locks a new one: try again.
            if result == 0 { continue }
            guard result == -EWOULDBLOCK || result == -EINTR, MonotonicTime.now < deadline else {
                throw SystemError(errno: -result, call: "flock", subject: path)
            }
            usleep(10_000)
        }
    }
}
