// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc

/// An AVIOContext that writes to a descriptor that belongs to someone else, with a position of its own.
final class DescriptorIO {
    private(set) var context: UnsafeMutablePointer<AVIOContext>?
    /// The errno of the first write that failed; 0 while none has.
    private(set) var failure: Int32 = 0
    private let descriptor: Int32
    private var position: off_t = 0

    private static let bufferSize: Int32 = 1 << 18

    /// Sets a context up; nil when memory ran out.
    init?(_ descriptor: Int32) {
        self.descriptor = descriptor
        guard let buffer = av_malloc(Int(Self.bufferSize)) else { return nil }
        context = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), Self.bufferSize, 1,
            Unmanaged.passUnretained(self).toOpaque(), nil,
            { opaque, bytes, count in DescriptorIO.from(opaque).write(bytes, count) },
            { opaque, offset, whence in DescriptorIO.from(opaque).seek(offset, whence) })
        if context == nil {
            av_free(buffer)
            return nil
        }
    }

    deinit {
        // The buffer may have been replaced since, so the context's own is freed.
        av_free(context?.pointee.buffer)
        avio_context_free(&context)
    }

    private static func from(_ opaque: UnsafeMutableRawPointer?) -> DescriptorIO {
        // `opaque` is what `init` gave; libavformat never calls with anything else.
        Unmanaged<DescriptorIO>.fromOpaque(opaque.unsafelyUnwrapped).takeUnretainedValue()
    }

    private func write(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> Int32 {
        var written = 0
        while written < Int(count) {
            let done = pwrite(descriptor, bytes.map { $0 + written }, Int(count) - written, position)
            if done > 0 {
                written += done
                position += off_t(done)
            } else if done == 0 || errno != EINTR {
                let error = done == 0 ? EIO : errno
                if failure == 0 { failure = error }
                return clibav_error(error)
            }
        }
        return count
    }

    private func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
        var status = stat()
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE:
            guard fstat(descriptor, &status) == 0 else { return Int64(clibav_error(errno)) }
            return Int64(status.st_size)
        case SEEK_SET: position = off_t(offset)
        case SEEK_CUR: position += off_t(offset)
        case SEEK_END:
            guard fstat(descriptor, &status) == 0 else { return Int64(clibav_error(errno)) }
            position = status.st_size + off_t(offset)
        default: return Int64(clibav_error(EINVAL))
        }
        return Int64(position)
    }
}
