// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc

/// An AVIOContext that reads an `InputFile` with its own position.
package final class InputIO {
    private(set) var context: UnsafeMutablePointer<AVIOContext>?
    private let file: InputFile
    private let cancelFlag: CancelFlag
    private var position: Int64 = 0
    /// Where the file ends for its readers; nil for its own end.
    private let end: Int64?

    /// Bytes per read, as in libavformat's file protocol.
    private static let bufferSize: Int32 = 1 << 15

    /// Creates the context; nil for pictures, which have no bytes of their own, and when memory is exhausted.
    init?(_ file: InputFile, _ cancelFlag: CancelFlag) {
        guard file.kind != .pictures, let buffer = av_malloc(Int(Self.bufferSize)) else { return nil }
        self.file = file
        self.cancelFlag = cancelFlag
        end = file.endOfWholeFragments()
        let seek: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = { opaque, offset, whence in
            InputIO.from(opaque).seek(offset, whence)
        }
        context = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), Self.bufferSize, 0,
            Unmanaged.passUnretained(self).toOpaque(),
            { opaque, bytes, count in InputIO.from(opaque).read(bytes, count) }, nil,
            file.isSeekable ? seek : nil)
        if context == nil {
            av_free(buffer)
            return nil
        }
    }

    deinit {
        // libavformat may have replaced the buffer, so the context's current one is freed.
        av_free(context?.pointee.buffer)
        avio_context_free(&context)
    }

    private static func from(_ opaque: UnsafeMutableRawPointer?) -> InputIO {
        // `opaque` is the pointer that `init` passed; libavformat passes no other.
        Unmanaged<InputIO>.fromOpaque(opaque.unsafelyUnwrapped).takeUnretainedValue()
    }

    private func read(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> Int32 {
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

    private func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
        var base: Int64 = 0
        switch whence & ~AVSEEK_FORCE {
        case SEEK_SET: break
        case SEEK_CUR: base = position
        case AVSEEK_SIZE, SEEK_END:
            base = size
            if base < 0 || whence & ~AVSEEK_FORCE == AVSEEK_SIZE { return base }
        default: return Int64(clibav_error(EINVAL))
        }
        let (target, overflows) = base.addingReportingOverflow(offset)
        guard !overflows, target >= 0 else { return Int64(clibav_error(EINVAL)) }
        position = target
        return target
    }

    /// The size in bytes, or an AVERROR.
    private var size: Int64 {
        if let end { return end }
        if let contents = file.contents { return Int64(contents.count) }
        var status = stat()
        guard let descriptor = file.descriptor, fstat(descriptor, &status) == 0 else {
            return Int64(clibav_error(errno))
        }
        return Int64(status.st_size)
    }
}
