// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDLibAVReading
internal import HWDSystem

/// An AVIOContext that writes to a file, with its own position, or to standard output.
final class DescriptorIO: IOStream {
    private var io: IOContext?
    /// The errno of the first failed write; 0 without one.
    private(set) var failure: Int32 = 0
    private let sink: ByteSink
    var position: Int64 = 0

    private static let bufferSize: Int32 = 1 << 18

    /// Allocates a context; nil when memory runs out.
    init?(_ sink: ByteSink) {
        self.sink = sink
        io = IOContext(self, bufferSize: Self.bufferSize, isWriting: true, isSeekable: sink.isFile)
        guard io != nil else { return nil }
    }

    var context: UnsafeMutablePointer<AVIOContext>? { io?.pointer }

    func write(_ bytes: UnsafePointer<UInt8>?, _ count: Int32) -> Int32 {
        let buffer = UnsafeRawBufferPointer(start: bytes, count: Int(count))
        // After a failure nothing more is written: a reader would take what follows for what is missing.
        let error = failure != 0 ? failure : sink.write(buffer, at: position)
        guard error == 0 else {
            if failure == 0 { failure = error }
            return clibav_error(error)
        }
        position += Int64(count)
        return count
    }

    var size: Int64 {
        guard case .file(let file) = sink else { return Int64(clibav_error(ESPIPE)) }
        var status = stat()
        return Int64(fstat(file.descriptor, &status) == 0 ? Int(status.st_size) : Int(clibav_error(errno)))
    }
}
