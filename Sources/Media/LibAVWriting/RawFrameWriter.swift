// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDMetadata
internal import HWDSystem

/// Writes concatenated raw frames to a file, which gets its name when it is complete, or to standard output ("-").
public final class RawFrameWriter {
    /// Frames written.
    public private(set) var frames = 0
    /// Bytes written.
    public private(set) var bytes = 0
    private let sink: ByteSink

    /// Opens an output.
    ///
    /// - Parameters:
    ///   - inputs: files that must not be the output.
    ///   - replaces: whether a file of that name is replaced; otherwise it is an error at the end.
    /// - Throws: `usage` for an output that is an input, or a terminal; `cannotCreate`.
    public init(path: String, inputs: [String], replaces: Bool = true) throws(MediaError) {
        sink =
            path == "-"
            ? try .standardOutputNotTerminal()
            : .file(try AtomicFile(path: path, inputs: inputs, replaces: replaces))
    }

    /// Writes a frame.
    ///
    /// - Throws: `cannotWrite`.
    public func write(_ frame: UnsafeRawBufferPointer) throws(MediaError) {
        try sink.write([frame])
        frames += 1
        bytes += frame.count
    }

    /// Completes the output: a file gets its name.
    public func finish() throws(MediaError) { try sink.finish(sync: false) }
}
