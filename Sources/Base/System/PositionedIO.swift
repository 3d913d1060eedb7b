// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc

/// Whole transfers with pread(2) and pwrite(2), which continue after short ones and after EINTR.
public enum PositionedIO {
    /// Fills `buffer` from the file's byte `offset` on.
    /// - Returns: 0 or an errno; EIO where the file ends before.
    public static func read(_ descriptor: Int32, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
        -> Int32
    {
        transfer(buffer.count) { done, left in
            pread(descriptor, buffer.baseAddress.map { $0 + done }, left, off_t(offset) + done)
        }
    }

    /// Writes `bytes` to the file from byte `offset` on.
    /// - Returns: 0 or an errno.
    public static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int32 {
        transfer(bytes.count) { done, left in
            pwrite(descriptor, bytes.baseAddress.map { $0 + done }, left, off_t(offset) + done)
        }
    }

    /// Keeps disk blocks for `count` bytes from byte `offset` on without changing the file's size; truncation frees them.
    ///
    /// On file systems without reservations this only checks that so much is free.
    /// - Returns: 0 or an errno.
    public static func holdBlocks(_ descriptor: Int32, at offset: Int64, count: Int64) -> Int32 {
        guard count > 0 else { return 0 }
        var result: Int32
        repeat { result = chwd_hold_blocks(descriptor, offset, count) } while result == -EINTR
        guard result < 0 else { return 0 }
        guard [-EOPNOTSUPP, -ENOSYS, -EINVAL].contains(result) else { return -result }
        var status = statvfs()
        // Network file systems that do not know their size state none.
        guard fstatvfs(descriptor, &status) == 0, status.f_blocks > 0 else { return 0 }
        let (free, overflow) = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return overflow || free >= UInt64(count) ? 0 : ENOSPC
    }

    private static func transfer(_ count: Int, _ step: (_ done: Int, _ left: Int) -> Int) -> Int32 {
        var done = 0
        while done < count {
            let now = step(done, count - done)
            if now > 0 {
                done += now
            } else if now == 0 {
                return EIO
            } else if errno != EINTR {
                return errno
            }
        }
        return 0
    }
}
