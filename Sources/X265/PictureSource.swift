// SPDX-License-Identifier: GPL-2.0-or-later
internal import CX265
internal import Model
internal import Sessions

/// Hands frames to x265, which wants planar samples: planar ones in place, semi-planar chroma through a scratch buffer.
final class PictureSource {
    private let format: PixelFormat
    private let chromaWidth: Int
    private let chromaHeight: Int
    private let scratchStride: Int
    private let scratch: UnsafeMutableRawPointer?

    init(_ request: CompressionRequest) {
        format = request.pixelFormat
        chromaWidth = (request.width + 1) / 2
        chromaHeight = (request.height + 1) / 2
        let row = chromaWidth * format.bytesPerSample
        scratchStride = (row + FrameLayout.rowAlignment - 1) / FrameLayout.rowAlignment * FrameLayout.rowAlignment
        scratch =
            format.isSemiPlanar
            ? .allocate(byteCount: scratchStride * chromaHeight * 2, alignment: FrameLayout.rowAlignment) : nil
    }

    deinit { scratch?.deallocate() }

    /// Points `picture` at the frame's samples.
    func fill(_ picture: UnsafeMutablePointer<x265_picture>, from input: InputPicture) {
        let luma = input.planes[0]
        hwd_x265_set_plane(picture, 0, luma.base, Int32(luma.stride))
        // P010 holds its value in the high bits of 16: x265 shifts it down to its own depth.
        picture.pointee.bitDepth = format == .p010 ? 16 : Int32(format.bitDepth)
        guard let scratch else {
            for index in 1...2 {
                hwd_x265_set_plane(
                    picture, Int32(index), input.planes[index].base, Int32(input.planes[index].stride))
            }
            return
        }
        let chroma = input.planes[1]
        let cr = scratch + scratchStride * chromaHeight
        if format.bytesPerSample == 1 {
            hwd_deinterleave_8(
                chroma.base.assumingMemoryBound(to: UInt8.self), chroma.stride,
                scratch.assumingMemoryBound(to: UInt8.self), cr.assumingMemoryBound(to: UInt8.self), scratchStride,
                Int32(chromaWidth), Int32(chromaHeight))
        } else {
            hwd_deinterleave_16(
                chroma.base.assumingMemoryBound(to: UInt16.self), chroma.stride,
                scratch.assumingMemoryBound(to: UInt16.self), cr.assumingMemoryBound(to: UInt16.self),
                scratchStride,
                Int32(chromaWidth), Int32(chromaHeight))
        }
        hwd_x265_set_plane(picture, 1, scratch, Int32(scratchStride))
        hwd_x265_set_plane(picture, 2, cr, Int32(scratchStride))
    }
}
