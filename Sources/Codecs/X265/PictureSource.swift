// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import Glibc
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// Prepares frames for x265, which takes planar samples of an even size of at least 16x16.
///
/// Planar frames of such a size are read in place. Semi-planar chroma is copied to scratch planes, and so is every plane of a
/// frame of another size, with the last column and row repeated.
final class PictureSource {
    private let request: CompressionRequest
    private let padded: PaddedSize
    /// Luma (only when padded), Cb, Cr; empty where frames are read in place.
    private var scratch: [ScratchPlane?]

    init(_ request: CompressionRequest) {
        self.request = request
        padded = PaddedSize(request)
        let chroma = (padded.width / 2, padded.height / 2)
        let bytes = request.pixelFormat.bytesPerSample
        let needsChroma = request.pixelFormat.isSemiPlanar || padded.isPadded
        scratch = [
            padded.isPadded ? ScratchPlane(width: padded.width, height: padded.height, bytes: bytes) : nil,
            needsChroma ? ScratchPlane(width: chroma.0, height: chroma.1, bytes: bytes) : nil,
            needsChroma ? ScratchPlane(width: chroma.0, height: chroma.1, bytes: bytes) : nil,
        ]
    }

    /// Points `picture` at the frame's samples.
    func fill(_ picture: UnsafeMutablePointer<x265_picture>, from input: InputPicture) {
        let format = request.pixelFormat
        // P010 has its value in the high bits of 16; x265 shifts it to its own depth.
        picture.pointee.bitDepth = format == .p010 ? 16 : Int32(format.bitDepth)
        if format.isSemiPlanar, let cb = scratch[1], let cr = scratch[2] {
            split(input.planes[1], into: cb, cr)
        }
        for index in 0..<3 {
            guard let plane = scratch[index] else {
                hwd_x265_set_plane(
                    picture, Int32(index), input.planes[index].base, Int32(input.planes[index].stride))
                continue
            }
            let width = index == 0 ? request.width : (request.width + 1) / 2
            let height = index == 0 ? request.height : (request.height + 1) / 2
            if index == 0 || !format.isSemiPlanar {
                plane.copy(input.planes[index], width: width, height: height)
            }
            plane.extend(width: width, height: height)
            hwd_x265_set_plane(picture, Int32(index), plane.base, Int32(plane.stride))
        }
    }

    private func split(_ chroma: PlaneView, into cb: ScratchPlane, _ cr: ScratchPlane) {
        let width = Int32((request.width + 1) / 2)
        let height = Int32((request.height + 1) / 2)
        if request.pixelFormat.bytesPerSample == 1 {
            hwd_deinterleave_8(
                chroma.base.assumingMemoryBound(to: UInt8.self), chroma.stride,
                cb.base.assumingMemoryBound(to: UInt8.self), cr.base.assumingMemoryBound(to: UInt8.self), cb.stride,
                width, height)
        } else {
            hwd_deinterleave_16(
                chroma.base.assumingMemoryBound(to: UInt16.self), chroma.stride,
                cb.base.assumingMemoryBound(to: UInt16.self), cr.base.assumingMemoryBound(to: UInt16.self),
                cb.stride,
                width, height)
        }
    }
}

/// Owner of a plane of x265's picture that is not in the client's memory.
private final class ScratchPlane {
    let base: UnsafeMutableRawPointer
    let stride: Int
    private let width: Int
    private let height: Int
    private let bytes: Int

    init(width: Int, height: Int, bytes: Int) {
        self.width = width
        self.height = height
        self.bytes = bytes
        let alignment = FrameLayout.rowAlignment
        stride = (width * bytes + alignment - 1) / alignment * alignment
        base = .allocate(byteCount: stride * height, alignment: alignment)
    }

    deinit { base.deallocate() }

    /// Copies `width`×`height` samples to the top left.
    func copy(_ source: PlaneView, width: Int, height: Int) {
        MutablePlaneView(base: base, stride: stride).copyRows(of: source, rowBytes: width * bytes, rows: height)
    }

    /// Repeats the last of `width` columns and of `height` rows up to the plane's size.
    func extend(width: Int, height: Int) {
        if width < self.width {
            for row in 0..<height {
                let start = base + row * stride
                for column in width..<self.width {
                    memcpy(start + column * bytes, start + (width - 1) * bytes, bytes)
                }
            }
        }
        for row in height..<max(height, self.height) {
            memcpy(base + row * stride, base + (height - 1) * stride, self.width * bytes)
        }
    }
}
