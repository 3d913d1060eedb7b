// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
public import HWDModel

/// A dma-buf that another process sent, mapped: the exception to the rule of sealed memory.
///
/// A dma-buf cannot be sealed, and cannot change its size either: the kernel fixes it when the buffer is exported. Its
/// owner and devices may change the bytes at any time, so a codec reads a private copy of them.
public final class DMABuffer: @unchecked Sendable {
    private let file: OwnedFD
    private let start: UnsafeMutableRawPointer
    private let isWritable: Bool

    /// Maps a dma-buf.
    ///
    /// - Parameters:
    ///   - maxSize: the most bytes of the buffer.
    ///   - isWritable: whether it is written, too.
    /// - Throws: `Parameter` for anything but a dma-buf of 1 to `maxSize` bytes, `AllocationFailed` where its driver does
    ///   not let the CPU access it. The descriptor is closed in either case.
    public init(receiving buffer: consuming OwnedFD, maxSize: Int, isWritable: Bool) throws(SessionError) {
        let number = buffer.rawValue
        guard chwd_is_dma_buf(number) != 0 else {
            throw SessionError(
                .parameter, "a file descriptor of a picture is not a dma-buf; memfds are registered by addPool")
        }
        let end = lseek(number, 0, SEEK_END)
        guard end > 0, let size = Int(exactly: end), size <= maxSize else {
            throw SessionError(.parameter, "a dma-buf has \(end) bytes, not 1 to \(maxSize)")
        }
        let protection = isWritable ? PROT_READ | PROT_WRITE : PROT_READ
        guard let start = mmap(nil, size, protection, MAP_SHARED, number, 0), start != MAP_FAILED else {
            let reason = SystemError(errno: Glibc.errno, call: "mmap")
            throw SessionError(
                reason.errno == EACCES || reason.errno == EPERM ? .parameter : .allocationFailed,
                "a dma-buf cannot be mapped for \(isWritable ? "writing" : "reading"): \(reason)")
        }
        (self.start, self.size) = (start, size)
        file = buffer
        self.isWritable = isWritable
    }

    deinit { munmap(start, size) }

    /// Bytes of the buffer, as the kernel says.
    public let size: Int

    /// Whether no device writes it, and for writing none reads it; an access where that is unknown says why.
    public func isIdle(for writing: Bool) -> Bool {
        (try? HWDTransport.wait(file.rawValue, for: writing ? POLLOUT : POLLIN, until: .now)) ?? false
    }

    /// Waits until no device writes it, and for writing none reads it.
    ///
    /// - Parameter deadline: what is left of the frame's `SyncFile.timeout`.
    /// - Throws: `Parameter` where a device uses it longer, `AllocationFailed` where that is unknown.
    public func wait(for writing: Bool, until deadline: MonotonicTime) throws(SessionError) {
        var isIdle = false
        do throws(SystemError) {
            isIdle = try HWDTransport.wait(file.rawValue, for: writing ? POLLOUT : POLLIN, until: deadline)
        } catch { throw SessionError(.allocationFailed, "a dma-buf cannot be waited for: \(error)") }
        guard isIdle else {
            throw SessionError(.parameter, "a device did not release a dma-buf within \(SyncFile.limit)")
        }
    }

    /// Calls `body` with the memory while the CPU's view of it is coherent; after `wait`, as this would wait without a limit.
    ///
    /// - Parameter writing: whether the memory is written, too.
    /// - Throws: `AllocationFailed` where the driver refuses the access.
    public func access(writing: Bool, _ body: (UnsafeMutableRawPointer) -> Void) throws(SessionError) {
        try synchronize(begins: true, writing)
        body(start)
        try synchronize(begins: false, writing)
    }

    private func synchronize(begins: Bool, _ writing: Bool) throws(SessionError) {
        let result = chwd_dma_buf_sync(file.rawValue, begins ? 1 : 0, writing ? 1 : 0)
        guard result == 0 else {
            throw SessionError(
                .allocationFailed,
                "a dma-buf cannot be accessed: \(SystemError(errno: -result, call: "DMA_BUF_IOCTL_SYNC"))")
        }
    }
}

/// A fence that another process sent as a sync file.
public final class SyncFile: Sendable {
    /// Time that all devices together may take for one frame: never a reason to hang, nor to be killed as a process that hangs.
    public static let timeout = Duration.seconds(2)
    fileprivate static let limit = "the \(timeout.components.seconds) s that a frame waits for all devices"

    private let file: OwnedFD

    /// - Throws: `Parameter` for a descriptor that is no sync file.
    public init(receiving fence: consuming OwnedFD) throws(SessionError) {
        guard chwd_is_sync_file(fence.rawValue) != 0 else {
            throw SessionError(.parameter, "the file descriptor of a fence is not a sync file")
        }
        file = fence
    }

    /// Whether the fence is signaled; a wait for one that cannot be asked says why.
    public var isSignaled: Bool {
        (try? HWDTransport.wait(file.rawValue, for: POLLIN, until: .now)) ?? false
    }

    /// Waits until the fence is signaled.
    ///
    /// - Parameter deadline: what is left of the frame's `timeout`.
    /// - Throws: `Parameter` for one that is not signaled before.
    public func wait(until deadline: MonotonicTime) throws(SessionError) {
        var isReady = false
        do throws(SystemError) {
            isReady = try HWDTransport.wait(file.rawValue, for: POLLIN, until: deadline)
        } catch { throw SessionError(.allocationFailed, "a fence cannot be waited for: \(error)") }
        guard isReady else {
            throw SessionError(.parameter, "a fence was not signaled within \(Self.limit)")
        }
    }
}
