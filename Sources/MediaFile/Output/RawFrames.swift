// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc

/// Reads raw frames of one size, one after the other, from a file or standard input ("-").
public final class RawFrameReader {
    /// How many there are; nil where that shows only at the end.
    public let frameCount: Int?
    /// The path it was opened with, or "-".
    public let path: String

    private let descriptor: Int32
    private let frameSize: Int
    private var frames = 0

    /// Opens an input.
    ///
    /// - Parameter frameSize: bytes of a frame, above 0.
    /// - Throws: `noInput`; `badInput` for a file that is no whole number of frames.
    public init(path: String, frameSize: Int) throws(MediaError) {
        self.path = path
        self.frameSize = frameSize
        descriptor = path == "-" ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else {
            throw .opening(path, errno: errno)
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT != S_IFDIR else {
            close(descriptor)
            throw MediaError(.noInput, "\(path) is no file that frames could be read from")
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

    /// Reads the next frame to the start of `memory`; false at the end.
    ///
    /// - Parameter isInterrupted: asked when a signal ended a wait for a pipe.
    /// - Throws: `badInput` for an input that ends within a frame or has none, `io`, `interrupted`.
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

/// Writes raw frames, one after the other, to a file that appears when it is whole, or to standard output ("-").
public final class RawFrameWriter {
    /// Frames written.
    public private(set) var frames = 0
    /// Bytes written.
    public private(set) var bytes = 0
    private let sink: ByteSink

    /// Opens an output.
    ///
    /// - Parameter inputs: files that may not be the output.
    /// - Throws: `usage` for an output that is an input, or a terminal; `cannotCreate`.
    public init(path: String, inputs: [String]) throws(MediaError) {
        guard path == "-" else {
            sink = .file(try OutputFile(path: path, inputs: inputs))
            return
        }
        guard isatty(STDOUT_FILENO) == 0 else {
            throw MediaError(.usage, "standard output is a terminal; send it to a file or a program")
        }
        sink = .standardOutput
    }

    /// Writes a frame.
    ///
    /// - Throws: `io`.
    public func write(_ frame: UnsafeRawBufferPointer) throws(MediaError) {
        try sink.write([frame])
        frames += 1
        bytes += frame.count
    }

    /// Gives the file its name.
    public func finish() throws(MediaError) { try sink.finish(sync: false) }
}
