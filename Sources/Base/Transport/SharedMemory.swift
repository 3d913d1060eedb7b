// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
public import HWDModel

/// A sealed, mapped memfd, for frames and packets.
///
/// The seals make another process's memory safe to read: a file that cannot shrink cannot raise SIGBUS. Its bytes can
/// still change at any time, so values must be copied before they are validated.
public final class SharedMemory: @unchecked Sendable {
    /// How a received memfd is mapped.
    public enum Access: Sendable {
        /// Reading only.
        case readOnly
        /// Reading and writing; refused if the file is sealed against writing.
        case readWrite
    }

    /// The memfd, for sending to another process.
    public let file: OwnedFD
    /// How the memfd is mapped; `mutableBytes` is nil for `readOnly`.
    public let access: Access
    private let mapping: UnsafeMutableRawBufferPointer

    /// Creates a memfd of `size` zero bytes, maps it for writing and seals its size.
    ///
    /// - Parameters:
    ///   - name: shown in `/proc/PID/fd`.
    ///   - size: bytes, at least 1.
    ///   - readOnlyToOthers: adds `F_SEAL_FUTURE_WRITE`: only this mapping can write.
    public init(creating name: String, size: Int, readOnlyToOthers: Bool = false) throws(SystemError) {
        guard size > 0 else { throw SystemError(errno: EINVAL, call: "memfd_create", subject: name) }
        try Self.checkLimit(size, name)
        let memory = OwnedFD(try syscall("memfd_create") { chwd_memfd_create(name) })
        let number = memory.rawValue
        try syscall("ftruncate", name) { negated(ftruncate(number, size)) }
        let mapping = try Self.map(number, size, PROT_READ | PROT_WRITE)
        let seals =
            CHWD_SEAL_SEAL | CHWD_SEAL_SHRINK | CHWD_SEAL_GROW | (readOnlyToOthers ? CHWD_SEAL_FUTURE_WRITE : 0)
        let sealed = chwd_add_seals(number, Int32(bitPattern: UInt32(seals)))
        guard sealed == 0 else {
            munmap(mapping.baseAddress, mapping.count)
            throw SystemError(errno: -sealed, call: "fcntl(F_ADD_SEALS)", subject: name)
        }
        file = memory
        access = .readWrite
        self.mapping = mapping
    }

    /// Maps a memfd that another process sent, after checking that the file cannot shrink.
    ///
    /// - Parameters:
    ///   - minSize: the least bytes of the file.
    ///   - maxSize: the most bytes of the file; the whole file is mapped.
    ///   - noun: what it is, for errors.
    /// - Throws: `Parameter` for anything but a memfd with `F_SEAL_SHRINK` of a size in range, `AllocationFailed` if it
    ///   cannot be mapped. The descriptor is closed in either case.
    public init(
        receiving memory: consuming OwnedFD, minSize: Int = 1, maxSize: Int, access: Access,
        as noun: String = "a pool"
    ) throws(SessionError) {
        let size = try Self.checkedSize(of: memory, min: minSize, max: maxSize, access, noun)
        do throws(SystemError) {
            let protection = access == .readWrite ? PROT_READ | PROT_WRITE : PROT_READ
            mapping = try Self.map(memory.rawValue, size, protection)
        } catch {
            switch error.errno {
            case EACCES, EPERM:
                throw SessionError(.parameter, "the memfd of \(noun) does not allow the access that is needed")
            default: throw SessionError(.allocationFailed, "\(noun) cannot be mapped: \(error)")
            }
        }
        file = memory
        self.access = access
    }

    /// The size of a memfd with the seals that `access` needs.
    private static func checkedSize(
        of memory: borrowing OwnedFD, min: Int, max: Int, _ access: Access, _ noun: String
    ) throws(SessionError) -> Int {
        let number = memory.rawValue
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SessionError(.parameter, "the file descriptor of \(noun) is not a memfd")
        }
        let seals = chwd_get_seals(number)
        guard seals >= 0 else {
            throw SessionError(.parameter, "the file descriptor of \(noun) is not a memfd: it cannot be sealed")
        }
        guard UInt32(seals) & UInt32(CHWD_SEAL_SHRINK) != 0 else {
            throw SessionError(.parameter, "the memfd of \(noun) is not sealed against shrinking (F_SEAL_SHRINK)")
        }
        // The size counts only once the seal was seen: before, the owner could shrink the file and then seal it.
        guard fstat(number, &status) == 0 else {
            throw SessionError(.parameter, "the size of \(noun)'s memfd cannot be read")
        }
        let size = Int(status.st_size)
        guard size > 0 else { throw SessionError(.parameter, "the memfd of \(noun) is empty") }
        guard size >= min else {
            throw SessionError(.parameter, "the memfd of \(noun) has \(size) bytes, \(min) are needed")
        }
        guard size <= max else {
            throw SessionError(
                .parameter, "the memfd of \(noun) has \(size) bytes, at most \(max) are allowed")
        }
        if access == .readWrite, UInt32(seals) & UInt32(CHWD_SEAL_WRITE | CHWD_SEAL_FUTURE_WRITE) != 0 {
            throw SessionError(.parameter, "the memfd of \(noun) is sealed against writing but must be writable")
        }
        return size
    }

    /// Whether the seals of a memfd that another process sent forbid writing.
    public static func isSealedAgainstWriting(_ memory: borrowing OwnedFD) -> Bool {
        let seals = chwd_get_seals(memory.rawValue)
        return seals >= 0 && UInt32(seals) & UInt32(CHWD_SEAL_WRITE | CHWD_SEAL_FUTURE_WRITE) != 0
    }

    /// Whether the seals and the descriptor of a memfd that another process sent allow mapping it for writing.
    public static func allowsWriting(_ memory: borrowing OwnedFD) -> Bool {
        let flags = fcntl(memory.rawValue, F_GETFL)
        return flags >= 0 && flags & O_ACCMODE == O_RDWR && !isSealedAgainstWriting(memory)
    }

    deinit { munmap(mapping.baseAddress, mapping.count) }

    /// Bytes of the file and of its mapping.
    public var size: Int { mapping.count }

    /// Bytes of the file that are in memory: pages that nobody has written to take none.
    public var allocatedBytes: UInt64 {
        var status = stat()
        return fstat(file.rawValue, &status) == 0 ? UInt64(status.st_blocks) * 512 : 0
    }

    /// The memory, page-aligned; valid as long as this object exists.
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(mapping) }

    /// The memory for writing; nil if it is mapped read-only.
    public var mutableBytes: UnsafeMutableRawBufferPointer? { access == .readWrite ? mapping : nil }

    /// Checks RLIMIT_FSIZE, beyond which ftruncate(2) raises SIGXFSZ too, which ends an app that does not ignore it.
    private static func checkLimit(_ size: Int, _ name: String) throws(SystemError) {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit) == 0, UInt64(size) > limit.rlim_cur
        else { return }
        throw SystemError(
            errno: EFBIG, call: "ftruncate",
            subject: "\(name) to \(size) bytes, of which RLIMIT_FSIZE (ulimit -f) allows \(limit.rlim_cur)")
    }

    private static func map(
        _ fd: Int32, _ size: Int, _ protection: Int32
    ) throws(SystemError) -> UnsafeMutableRawBufferPointer {
        let start = mmap(nil, size, protection, MAP_SHARED, fd, 0)
        guard let start, start != MAP_FAILED else { throw SystemError(errno: Glibc.errno, call: "mmap") }
        return UnsafeMutableRawBufferPointer(start: start, count: size)
    }
}
