// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
public import HWDMetadata
internal import HWDSystem

/// Reads concatenated raw frames of one size from a file or standard input ("-").
public final class RawFrameReader {
    /// The number of frames; nil for pipes.
    public let frameCount: Int?
    /// The path it was opened with, or "-".
    public let path: String

    private let descriptor: Int32
    private let frameSize: Int
    private var frames = 0

    /// Opens an input.
    ///
    /// - Parameter frameSize: bytes per frame, above 0.
    /// - Throws: `noInput`; `badInput` for a file that is no whole number of frames.
    public init(path: String, frameSize: Int) throws(MediaError) {
        self.path = path
        self.frameSize = frameSize
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(FileName.bytes(path), O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .opening(path, errno: errno) }
        guard path != "-" || StandardDescriptors.isInputOpen else {
            close(descriptor)
            throw MediaError(.noInput, "standard input is closed")
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            throw MediaError(.noInput, "\(path) is a directory, not a file of frames")
        }
        guard status.st_mode & S_IFMT == S_IFREG, path != "-" else {
            frameCount = nil
            return
        }
        let size = Int(status.st_size)
        guard size > 0, size % frameSize == 0 else {
            close(descriptor)
            throw MediaError(
                .badInput, "\(path) has \(size) bytes, which is no whole number of frames of \(frameSize) bytes")
        }
        frameCount = size / frameSize
    }

    deinit { close(descriptor) }

    /// Reads the next frame into the start of `memory`; false at the end.
    ///
    /// - Parameter isInterrupted: called when a signal interrupts read(2).
    /// - Throws: `badInput` for an input that ends within a frame or is empty, `io`, `interrupted`.
    public func read(
        into memory: UnsafeMutableRawBufferPointer, isInterrupted: () -> Bool = { false }
    ) throws(MediaError) -> Bool {
        var done = 0
        while done < frameSize, let base = memory.baseAddress {
            let count = Glibc.read(descriptor, base + done, frameSize - done)
            if count > 0 {
                done += count
            } else if count == 0 {
                if done == 0, frames > 0 { return false }
                throw MediaError(
                    .badInput,
                    frames == 0 && done == 0
                        ? "\(path) has no frames"
                        : "\(path) ends \(done) bytes into a frame of \(frameSize), after \(frames) whole ones")
            } else if errno != EINTR {
                throw MediaError(.io, "\(path) cannot be read: \(MediaError.text(ofErrno: errno))")
            } else if isInterrupted() {
                throw MediaError(.interrupted, "interrupted")
            }
        }
        frames += 1
        return true
    }
}
