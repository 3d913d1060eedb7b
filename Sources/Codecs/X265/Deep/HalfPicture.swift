// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLookAhead
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// A frame at half its size, and how well its blocks are predicted from other frames.
final class HalfPicture {
    private let pointer: OpaquePointer

    /// - Parameters:
    ///   - input: a frame of this request.
    ///   - size: the encoder's picture in luma samples, even.
    init(_ input: InputPicture, _ request: CompressionRequest, size: (width: Int, height: Int)) throws(SessionError)
    {
        let format = request.pixelFormat
        // P010 has its ten bits at the high end of the word.
        let shift: Int32 = format == .p010 ? 8 : Int32(format.bitDepth - 8)
        let luma = hwd_luma(
            base: input.planes[0].base, stride: input.planes[0].stride,
            bytes_per_sample: Int32(format.bytesPerSample), shift: shift, width: Int32(request.width),
            height: Int32(request.height))
        guard let pointer = hwd_lowres_new(luma, Int32(size.width), Int32(size.height)) else {
            throw SessionError(.allocationFailed, "no memory for the look-ahead of temporal levels")
        }
        self.pointer = pointer
    }

    deinit { hwd_lowres_free(pointer) }

    /// Finds each block's best prediction from the frames that the picture refers to.
    func predict(before: HalfPicture?, after: HalfPicture?) {
        hwd_lowres_predict(pointer, before?.pointer, after?.pointer)
    }

    /// Sets the propagated costs to 0.
    func clear() { hwd_lowres_clear(pointer) }

    /// Adds the propagated costs of the picture's blocks to those of the blocks that they are predicted from.
    ///
    /// The pictures are those of `predict`.
    func propagate(before: HalfPicture?, after: HalfPicture?) {
        hwd_lowres_propagate(pointer, before?.pointer, after?.pointer)
    }

    /// Writes an offset of the quantization parameter for each block of 16x16 samples of the frame, row by row.
    ///
    /// - Parameter base: the offset of a block that no other picture is predicted from.
    func writeOffsets(base: Float, to offsets: UnsafeMutableBufferPointer<Float>) {
        hwd_lowres_offsets(pointer, base, offsets.baseAddress, Int32(offsets.count))
    }
}
