// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDModel
internal import HWDTransport

/// Access to the samples of frames one after another, wherever they are.
final class FrameSampleReader {
    private var scratch: UnsafeMutableRawBufferPointer?

    deinit { scratch?.deallocate() }

    /// A frame's samples and their layout, valid until the next call, and no longer than the frame.
    ///
    /// - Throws: why a frame of this process cannot be copied.
    func samples(of frame: SourceFrame) throws -> (memory: UnsafeRawBufferPointer, layout: FrameLayout) {
        switch frame.place {
        case .shared(let memory, _, let layout): return (memory.bytes, layout)
        case .local:
            let packed = FrameLayout.packed(frame.format, width: frame.width, height: frame.height)
            if scratch?.count ?? 0 < packed.size {
                scratch?.deallocate()
                scratch = .allocate(byteCount: packed.size, alignment: FrameLayout.rowAlignment)
            }
            guard let scratch else { throw CommandFailure(.software, "there is no memory for a picture") }
            try frame.copy(to: scratch, packed.layout)
            return (UnsafeRawBufferPointer(scratch), packed.layout)
        }
    }
}
