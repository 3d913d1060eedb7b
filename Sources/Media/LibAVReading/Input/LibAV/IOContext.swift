// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
internal import Glibc

/// What libavformat reads or writes through an `IOContext`, which it owns.
package protocol IOStream: AnyObject {
    /// Of the next byte.
    var position: Int64 { get set }
    /// In bytes, or an AVERROR.
    var size: Int64 { get }

    /// Reads bytes at the position and moves it; returns their number, or an AVERROR.
    func read(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> Int32
    /// Writes bytes at the position and moves it; returns their number, or an AVERROR.
    func write(_ bytes: UnsafePointer<UInt8>?, _ count: Int32) -> Int32
}

extension IOStream {
    package func read(_ bytes: UnsafeMutablePointer<UInt8>?, _ count: Int32) -> Int32 { clibav_error(EBADF) }
    package func write(_ bytes: UnsafePointer<UInt8>?, _ count: Int32) -> Int32 { clibav_error(EBADF) }

    fileprivate func seek(_ offset: Int64, _ whence: Int32) -> Int64 {
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
}

/// Owner of an AVIOContext.
package final class IOContext {
    package private(set) var pointer: UnsafeMutablePointer<AVIOContext>?
    private unowned let stream: any IOStream

    /// Allocates a context; nil when memory runs out.
    package init?(_ stream: any IOStream, bufferSize: Int32, isWriting: Bool, isSeekable: Bool) {
        self.stream = stream
        guard let buffer = av_malloc(Int(bufferSize)) else { return nil }
        let seek: @convention(c) (UnsafeMutableRawPointer?, Int64, Int32) -> Int64 = { opaque, offset, whence in
            IOContext.stream(opaque).seek(offset, whence)
        }
        pointer = avio_alloc_context(
            buffer.assumingMemoryBound(to: UInt8.self), bufferSize, isWriting ? 1 : 0,
            Unmanaged.passUnretained(self).toOpaque(),
            { opaque, bytes, count in IOContext.stream(opaque).read(bytes, count) },
            { opaque, bytes, count in IOContext.stream(opaque).write(bytes, count) }, isSeekable ? seek : nil)
        if pointer == nil {
            av_free(buffer)
            return nil
        }
    }

    deinit {
        // libavformat may have replaced the buffer, so the context's current one is freed.
        av_free(pointer?.pointee.buffer)
        avio_context_free(&pointer)
    }

    private static func stream(_ opaque: UnsafeMutableRawPointer?) -> any IOStream {
        // `init` set `opaque`; libavformat passes nothing else.
        Unmanaged<IOContext>.fromOpaque(opaque.unsafelyUnwrapped).takeUnretainedValue().stream
    }
}
