// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDSystem

/// An AVIOContext that writes to a file, with its own position, or to standard output.
final class DescriptorIO {
    private(set) var context: UnsafeMutablePointer<AVIOContext>?
    /// The errno of the first failed write; 0 without one.
    private(set) var failure: Int32 = 0
    private let sink: ByteSink
    private var position: off_t = 0

    private static let bufferSize: Int32 = 1 << 18

    /// Allocates a context; nil when memory runs out.
    init?(_ sink: ByteSink) {
        self.sink = sink
        guard let buffer = av_malloc(Int(Self.bufferSize)) else { return nil }
        context = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), Self.bufferSize, 1,
            Unmanaged.passUnretained(self).toOpaque(), nil,
            { opaque, bytes, count in DescriptorIO.from(opaque).write(bytes, count) },
            sink.isFile ? { opaque, offset, whence in DescriptorIO.from(opaque).seek(offset, whence) } : nil)
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

    private static func from(_ opaque: UnsafeMutableRawPointer?) -> DescriptorIO {
        // `init` set `opaque`; libavformat passes nothing else.
        Unmanaged<DescriptorIO>.fromOpaque(opaque.unsafelyUnwrapped).takeUnretainedValue()
    }

    private func write(_ bytes: UnsafePointer<UInt8>?, _ count: Int32) -> Int32 {
        let buffer = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        // After a failure nothing more is written: a reader would take what follows for what is missing.
        let error = failure != 0 ? failure : sink.write(buffer, at: Int64(position))
        guard error == 0 else {
            if failure == 0 { failure = error }
            return clibav_error(error)
        }
        position += off_t(count)
        return count
    }

    private func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
        guard case .file(let file) = sink else { return Int64(clibav_error(ESPIPE)) }
        var status = stat()
        switch whence & ~AVSEEK_FORCE {
        case AVSEEK_SIZE:
            guard fstat(file.descriptor, &status) == 0 else { return Int64(clibav_error(errno)) }
            return Int64(status.st_size)
        case SEEK_SET: position = off_t(offset)
        case SEEK_CUR: position += off_t(offset)
        case SEEK_END:
            guard fstat(file.descriptor, &status) == 0 else { return Int64(clibav_error(errno)) }
            position = status.st_size + off_t(offset)
        default: return Int64(clibav_error(EINVAL))
        }
        return Int64(position)
    }
}
