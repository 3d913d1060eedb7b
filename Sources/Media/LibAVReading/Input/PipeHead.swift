// SPDX-License-Identifier: GPL-2.0-or-later

/// The first bytes of an input that cannot be read twice.
///
/// Some are read ahead, to recognize the format. Those that follow are recorded while the streams are probed, so that the
/// first picture can be read again.
package final class PipeHead {
    /// The most bytes that are recorded: more than libavformat reads to probe streams.
    private static let maxSize = 8 << 20

    /// What was read; empty once recording has ended and readers had all of it.
    private(set) var bytes: [UInt8]
    /// Bytes that readers have had.
    private var position = 0
    private var isRecording = true

    /// - Parameter bytes: what was read ahead.
    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether bytes are left that no reader has had.
    var hasMore: Bool { position < bytes.count }

    /// Moves bytes that were read ahead into `target`; returns how many.
    func take(into target: UnsafeMutableRawBufferPointer) -> Int {
        let count = min(target.count, bytes.count - position)
        guard count > 0 else { return 0 }
        bytes.withUnsafeBytes {
            target.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[position..<position + count]))
        }
        position += count
        releaseIfUnused()
        return count
    }

    /// Records bytes that a reader has read.
    func record(_ read: UnsafeRawBufferPointer) {
        guard isRecording else { return }
        let count = min(read.count, Self.maxSize - bytes.count)
        if count > 0 { bytes += read.prefix(count) }
        position = bytes.count
        // Bytes behind a gap would be of no use.
        if count < read.count { isRecording = false }
    }

    /// Ends recording, and releases the memory once readers have had all bytes.
    func endRecording() {
        isRecording = false
        releaseIfUnused()
    }

    private func releaseIfUnused() {
        if !isRecording, !hasMore { (bytes, position) = ([], 0) }
    }
}
