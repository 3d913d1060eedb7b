// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDBoxes
internal import HWDSystem

/// The file of a recording, under its final name from the first byte on.
///
/// A lock (flock(2)) shows other processes that it is being written. Blocks for what `finish` writes are kept back behind its
/// end, so that a disk that becomes full does not keep the file from being finished.
final class RecordedFile {
    let path: String
    /// -1 once it is closed.
    private(set) var descriptor: Int32
    /// The folder of a file that this has created; -1 where it may not be read, and once the file is closed.
    private(set) var folder: Int32 = -1
    /// The byte behind the last that was written.
    private(set) var position: UInt64 = 0
    private let name: String
    /// When it was last changed before it was opened; nil for a file that this has created.
    private var opened: timespec?

    /// Creates a file, or empties one that exists.
    /// - Throws: `cannotCreate`, with the reason.
    init(creating path: String, replaces: Bool) throws(MovieError) {
        (name, self.path) = (path, FileName.printable(path))
        let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK
        descriptor = open(FileName.bytes(path), replaces ? flags : flags | O_EXCL, 0o666)
        guard descriptor >= 0 else { throw Self.cannotCreate(self.path, errno) }
        var error = Self.isRegular(descriptor) ? 0 : EINVAL
        if error == 0, flock(descriptor, LOCK_EX | LOCK_NB) != 0 { error = errno }
        if error == 0, ftruncate(descriptor, 0) != 0 { error = errno }
        guard error == 0 else {
            close()
            switch error {
            case EINVAL:
                throw MovieError(.cannotCreate, "\(self.path) cannot be created: it is not a regular file")
            case EWOULDBLOCK:
                throw MovieError(.cannotCreate, "\(self.path) cannot be created: it is being recorded")
            default: throw Self.cannotCreate(self.path, error)
            }
        }
        folder = Self.openFolder(path)
    }

    /// The folder that has the name of a file, which a symbolic link may lead to.
    private static func openFolder(_ path: String) -> Int32 {
        guard let resolved = realpath(FileName.bytes(path), nil) else { return -1 }
        defer { free(resolved) }
        guard let slash = strrchr(resolved, Int32(UInt8(ascii: "/"))) else { return -1 }
        slash[slash == resolved ? 1 : 0] = 0
        return open(resolved, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    }

    /// Opens a file that exists, at its end.
    /// - Throws: `unreadable`, with the reason.
    init(opening path: String) throws(MovieError) {
        (name, self.path) = (path, FileName.printable(path))
        guard !Self.hasWriter(path) else {
            descriptor = -1
            throw MovieError(.inUse, "\(self.path) is being written by another program")
        }
        descriptor = open(FileName.bytes(path), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { throw Self.unreadable(self.path, String(cString: strerror(errno))) }
        var status = stat()
        guard Self.isRegular(descriptor), fstat(descriptor, &status) == 0, status.st_size >= 0 else {
            close()
            throw Self.unreadable(self.path, "it is not a regular file")
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error = errno
            close()
            guard error == EWOULDBLOCK else { throw Self.unreadable(self.path, String(cString: strerror(error))) }
            throw MovieError(.inUse, "\(self.path) is being recorded")
        }
        position = UInt64(status.st_size)
        opened = status.st_mtim
    }

    /// Whether any program has a file open for writing: programs other than this take no lock.
    ///
    /// A read lease (fcntl(2)) is granted only without writers. False where the file system has no leases, and for the files of
    /// other users.
    private static func hasWriter(_ path: String) -> Bool {
        let descriptor = open(FileName.bytes(path), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)
        guard descriptor >= 0 else { return false }
        defer { Glibc.close(descriptor) }
        guard isRegular(descriptor) else { return false }
        // F_SETSIG and F_SETLEASE: without a signal of its own, a lease that is broken ends the program.
        guard fcntl(descriptor, 10, SIGURG) == 0 else { return false }
        // A child between fork and exec has all descriptors for a moment.
        for _ in 0..<20 {
            if fcntl(descriptor, 1024, Int32(F_RDLCK)) == 0 {
                _ = fcntl(descriptor, 1024, Int32(F_UNLCK))
                return false
            }
            guard errno == EAGAIN else { return false }
            usleep(10_000)
        }
        return true
    }

    /// Whether this is the file that was opened for reading, as long as it is.
    func isSame(as source: MovieFile) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && source.length == position
            && source.identity == (UInt64(status.st_dev), UInt64(status.st_ino))
    }

    /// Makes sure that no other program has changed a file that existed since it was opened.
    /// - Throws: `inUse`.
    private func checkUnchanged(sizeOnly: Bool) throws(MovieError) {
        guard let opened else { return }
        var status = stat()
        guard fstat(descriptor, &status) == 0, UInt64(clamping: status.st_size) == position,
            sizeOnly || (status.st_mtim.tv_sec == opened.tv_sec && status.st_mtim.tv_nsec == opened.tv_nsec)
        else { throw MovieError(.inUse, "\(path) was changed by another program while it was read") }
    }

    /// Replaces the header of the last box, so that it ends with the file and what is appended is not within it.
    /// - Throws: `inUse`; `io`.
    func end(_ header: [UInt8], at position: UInt64) throws(MovieError) {
        try checkUnchanged(sizeOnly: false)
        try replace(header, at: position)
        var status = stat()
        if fstat(descriptor, &status) == 0 { opened = status.st_mtim }
        try sync()
    }

    deinit { close() }

    /// Closes the file, which others may change from now on.
    func close() {
        for number in [descriptor, folder] where number >= 0 { Glibc.close(number) }
        (descriptor, folder) = (-1, -1)
    }

    private static func isRegular(_ descriptor: Int32) -> Bool {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
    }

    private static func cannotCreate(_ path: String, _ error: Int32) -> MovieError {
        MovieError(.cannotCreate, "\(path) cannot be created: \(String(cString: strerror(error)))")
    }

    private static func unreadable(_ path: String, _ reason: String) -> MovieError {
        MovieError(.unreadable, "\(path) cannot be changed: \(reason)")
    }

    private func io(_ error: Int32) -> MovieError {
        MovieError(.io, "\(path) cannot be written: \(String(cString: strerror(error)))")
    }

    /// Appends bytes with one write, and keeps `reserve` bytes free behind them.
    /// - Throws: `io`; the file is what it was before.
    func append(_ bytes: [UInt8], reserve: UInt64) throws(MovieError) {
        if let failure = hold(UInt64(bytes.count) + reserve) { throw io(failure) }
        guard let failure = put(bytes, at: position) else {
            position += UInt64(bytes.count)
            return
        }
        // What was written of them would be a box that is cut off; blocks kept back behind the end go with it.
        _ = ftruncate(descriptor, off_t(position))
        _ = hold(reserve)
        throw io(failure)
    }

    /// Replaces bytes that were written before.
    func replace(_ bytes: [UInt8], at position: UInt64) throws(MovieError) {
        if let failure = put(bytes, at: position) { throw io(failure) }
    }

    private func hold(_ count: UInt64) -> Int32? {
        let failure = PositionedIO.holdBlocks(descriptor, at: Int64(position), count: Int64(count))
        return failure == 0 ? nil : failure
    }

    private func put(_ bytes: [UInt8], at position: UInt64) -> Int32? {
        let failure = bytes.withUnsafeBytes { PositionedIO.write(descriptor, $0, at: Int64(position)) }
        return failure == 0 ? nil : failure
    }

    /// Waits until all is on the disk.
    /// - Throws: `io`.
    private func sync() throws(MovieError) {
        guard fsync(descriptor) != 0, errno != EINVAL else { return }
        throw io(errno)
    }

    /// Gives the blocks that were kept back to others.
    func release() { _ = ftruncate(descriptor, off_t(position)) }

    /// Removes the file where nothing was written, while its name is still this file's.
    func removeEmpty() {
        var (file, named) = (stat(), stat())
        guard position == 0, fstat(descriptor, &file) == 0, lstat(FileName.bytes(name), &named) == 0,
            (file.st_dev, file.st_ino) == (named.st_dev, named.st_ino)
        else { return }
        unlink(FileName.bytes(name))
    }

    /// Makes a plain movie of one with fragments, without moving media: boxes, the last of them the movie's, are appended, and one
    /// write of 16 bytes turns what began with the first movie box into media data.
    ///
    /// At any time before that write the file is the movie with fragments, whose readers pass over a second movie box.
    /// - Parameter start: where the first movie box begins.
    /// - Throws: `io`.
    func finish(_ boxes: [Box], over start: UInt64) throws(MovieError) {
        try checkUnchanged(sizeOnly: false)
        let end = position + UInt64(boxes.dropLast().reduce(0) { $0 + $1.size })
        do throws(MovieError) { try append(boxes.flatMap(\.bytes), reserve: 0) } catch {
            release()
            throw error
        }
        try sync()
        try checkUnchanged(sizeOnly: true)
        var head = [UInt8](bigEndian: [1, ("mdat" as FourCC).rawValue])
        head.appendBigEndian(end - start)
        try replace(head, at: start)
        release()
        try sync()
        if folder >= 0, DiskSync.flush(folder: folder) != 0 { throw io(EIO) }
    }
}
