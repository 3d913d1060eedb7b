// SPDX-License-Identifier: MIT
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
