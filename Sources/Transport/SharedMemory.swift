// SPDX-License-Identifier: MIT
internal import CHWDLinux
internal import Glibc
public import HWDModel

/// A sealed memfd, mapped: frames and packets lie in these.
///
/// The seals are what makes another process's memory safe to read: a file that cannot shrink cannot raise SIGBUS. Its
/// bytes can still change at any time, so what is checked must be copied first.
public final class SharedMemory: @unchecked Sendable {
    /// How a received memfd is mapped.
    public enum Access: Sendable {
        /// Reading only.
        case readOnly
        /// Reading and writing; refused when the sender sealed the file against it.
        case readWrite
    }

    /// The memory file, to be sent to another process.
    public let file: OwnedFD
    /// Whether `mutableBytes` is there.
    public let access: Access
    private let mapping: UnsafeMutableRawBufferPointer

    /// Makes a memfd of `size` bytes, all zero, maps it for writing and seals its size.
    ///
    /// - Parameters:
    ///   - name: shown in `/proc/PID/fd`, for people only.
    ///   - size: bytes, at least 1.
    ///   - readOnlyToOthers: adds `F_SEAL_FUTURE_WRITE`: this mapping writes, every later one can only read.
    public init(creating name: String, size: Int, readOnlyToOthers: Bool = false) throws(SystemError) {
        guard size > 0 else { throw SystemError(errno: EINVAL, call: "memfd_create", subject: name) }
        let memory = OwnedFD(try syscall("memfd_create") { hwd_memfd_create(name) })
        let number = memory.rawValue
        try syscall("ftruncate", name) { negated(ftruncate(number, size)) }
        let mapping = try Self.map(number, size, PROT_READ | PROT_WRITE)
        let seals = HWD_SEAL_SEAL | HWD_SEAL_SHRINK | HWD_SEAL_GROW | (readOnlyToOthers ? HWD_SEAL_FUTURE_WRITE : 0)
        let sealed = hwd_add_seals(number, Int32(bitPattern: UInt32(seals)))
        guard sealed == 0 else {
            munmap(mapping.baseAddress, mapping.count)
            throw SystemError(errno: -sealed, call: "fcntl(F_ADD_SEALS)", subject: name)
        }
        file = memory
        access = .readWrite
        self.mapping = mapping
    }

    /// Maps a memfd that another process sent, after checking that it cannot shrink under this one.
    ///
    /// - Parameters:
    ///   - minSize: bytes the file must have at least.
    ///   - maxSize: bytes it may have at most; the whole file is mapped.
    /// - Throws: `Parameter` for anything but a memfd with `F_SEAL_SHRINK` of a fitting size, `AllocationFailed` if
    ///   it cannot be mapped. The descriptor is closed in either case.
    public init(
        receiving memory: consuming OwnedFD, minSize: Int = 1, maxSize: Int, access: Access
    ) throws(SessionError) {
        let number = memory.rawValue
        var status = stat()
        guard fstat(number, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            throw SessionError(.parameter, "the file descriptor of a pool is not a memfd")
        }
        let seals = hwd_get_seals(number)
        guard seals >= 0 else {
            throw SessionError(
                .parameter, "the file descriptor of a pool is a file that takes no seals, not a memfd")
        }
        guard UInt32(seals) & UInt32(HWD_SEAL_SHRINK) != 0 else {
            throw SessionError(.parameter, "the memfd of a pool is not sealed against shrinking (F_SEAL_SHRINK)")
        }
        // Only now: until the seal was seen, its owner could shrink the file and seal it between the two looks.
        guard fstat(number, &status) == 0 else {
            throw SessionError(.parameter, "the size of a pool's memfd cannot be told")
        }
        let size = Int(status.st_size)
        guard size > 0 else { throw SessionError(.parameter, "the memfd of a pool is empty") }
        guard size >= minSize else {
            throw SessionError(.parameter, "the memfd of a pool has \(size) bytes, \(minSize) are needed")
        }
        guard size <= maxSize else {
            throw SessionError(
                .parameter, "the memfd of a pool has \(size) bytes, at most \(maxSize) are allowed")
        }
        let writes = UInt32(HWD_SEAL_WRITE | HWD_SEAL_FUTURE_WRITE)
        if access == .readWrite, UInt32(seals) & writes != 0 {
            throw SessionError(.parameter, "the memfd of a pool is sealed against writing, but must be written to")
        }
        do throws(SystemError) {
            mapping = try Self.map(number, size, access == .readWrite ? PROT_READ | PROT_WRITE : PROT_READ)
        } catch {
            switch error.errno {
            case EACCES, EPERM:
                throw SessionError(.parameter, "the memfd of a pool does not allow the access it is needed for")
            default: throw SessionError(.allocationFailed, "a pool cannot be mapped: \(error)")
            }
        }
        file = memory
        self.access = access
    }

    /// Whether a memfd that another process sent can only be mapped for reading.
    public static func isSealedAgainstWriting(_ memory: borrowing OwnedFD) -> Bool {
        let seals = hwd_get_seals(memory.rawValue)
        return seals >= 0 && UInt32(seals) & UInt32(HWD_SEAL_WRITE | HWD_SEAL_FUTURE_WRITE) != 0
    }

    /// Whether a memfd that another process sent can be mapped for writing: neither its seals nor its descriptor forbid it.
    public static func allowsWriting(_ memory: borrowing OwnedFD) -> Bool {
        let flags = fcntl(memory.rawValue, F_GETFL)
        return flags >= 0 && flags & O_ACCMODE == O_RDWR && !isSealedAgainstWriting(memory)
    }

    deinit { munmap(mapping.baseAddress, mapping.count) }

    /// Bytes of the file, all mapped.
    public var size: Int { mapping.count }

    /// The memory, page-aligned; valid as long as this object lives.
    public var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(mapping) }

    /// The memory for writing; nil when it is mapped read-only.
    public var mutableBytes: UnsafeMutableRawBufferPointer? { access == .readWrite ? mapping : nil }

    private static func map(
        _ fd: Int32, _ size: Int, _ protection: Int32
    ) throws(SystemError) -> UnsafeMutableRawBufferPointer {
        let start = mmap(nil, size, protection, MAP_SHARED, fd, 0)
        guard let start, start != MAP_FAILED else { throw SystemError(errno: Glibc.errno, call: "mmap") }
        return UnsafeMutableRawBufferPointer(start: start, count: size)
    }
}
