// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc

/// An AVIOContext that reads an `InputFile` with its own position.
final class InputIO: IOStream {
    private var io: IOContext?
    private let file: InputFile
    private let cancelFlag: CancelFlag
    var position: Int64 = 0
    /// Where the file ends for its readers; nil for its own end.
    private let end: Int64?

    /// Bytes per read, as in libavformat's file protocol.
    private static let bufferSize: Int32 = 1 << 15

    /// Creates the context; nil for pictures, which have no bytes of their own, and when memory is exhausted.
    init?(_ file: InputFile, _ cancelFlag: CancelFlag) {
        guard file.kind != .pictures else { return nil }
        self.file = file
        self.cancelFlag = cancelFlag
        end = file.endOfWholeFragments()
        io = IOContext(self, bufferSize: Self.bufferSize, isWriting: false, isSeekable: file.isSeekable)
        guard io != nil else { return nil }
    }

    var context: UnsafeMutablePointer<AVIOContext>? { io?.pointer }

    func read(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> Int32 {
        if cancelFlag.isSet { return clibav_exit() }
        let room = end.map { max(0, $0 - position) } ?? Int64(count)
        guard room > 0 else { return clibav_eof() }
        let target = UnsafeMutableRawBufferPointer(start: bytes, count: Int(min(Int64(count), room)))
        if let contents = file.contents { return copy(contents, to: target) }
        if position < Int64(file.held.count) { return copy(file.held, to: target) }
        guard let descriptor = file.descriptor else { return clibav_error(EBADF) }
        if let head = file.head, head.hasMore { return advance(head.take(into: target)) }
        while true {
            if cancelFlag.isSet { return clibav_exit() }
            if !file.isSeekable, !cancelFlag.waitUntilReadable(descriptor) { continue }
            let done =
                file.isSeekable
                ? pread(descriptor, bytes, target.count, off_t(position))
                : Glibc.read(descriptor, bytes, target.count)
            if done > 0 {
                file.head?.record(UnsafeRawBufferPointer(rebasing: target[..<done]))
                return advance(done)
            }
            if done == 0 { return clibav_eof() }
            if errno != EINTR { return clibav_error(errno) }
        }
    }

    private func advance(_ count: Int) -> Int32 {
        position += Int64(count)
        return Int32(count)
    }

    /// Reads from memory.
    private func copy(_ contents: [UInt8], to target: UnsafeMutableRawBufferPointer) -> Int32 {
        guard position < Int64(contents.count) else { return clibav_eof() }
        let count = min(target.count, contents.count - Int(position))
        contents.withUnsafeBytes {
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[Int(position)..<Int(position) + count]))
        }
        return advance(count)
    }

    var size: Int64 {
        if let end { return end }
        if let contents = file.contents { return Int64(contents.count) }
        var status = stat()
        guard let descriptor = file.descriptor, fstat(descriptor, &status) == 0 else {
            return Int64(clibav_error(errno))
        }
        return Int64(status.st_size)
    }
}
