// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import CHWDVA
internal import Glibc
internal import HWDModel
internal import HWDSessions

/// Brings a client's frames to surfaces: one copy, on which the samples get the surface's layout and depth and the last
/// column and row are repeated up to the coded size.
final class SurfaceWriter {
    private let display: Display
    private let coded: (width: Int, height: Int)
    private let luma: hwd_filling
    private let chroma: hwd_filling
    private let isDeep: Bool
    private let fourcc: UInt32
    /// Memory that is copied to surfaces; nil where surfaces are written in place.
    private var staging: Staging?

    /// An image in a class, because an optional of one cannot be borrowed in place.
    private final class Staging {
        let image: Image
        init(_ image: consuming Image) { self.image = image }
    }

    /// - Parameter surface: any of the surfaces to come, to find out how they can be written.
    init(_ display: Display, _ settings: EncoderSettings, surface: VASurfaceID) throws(VAError) {
        self.display = display
        coded = (settings.size.width, settings.size.height)
        fourcc = settings.fourcc
        isDeep = settings.fourcc == hwd_va_fourcc_p010()
        let format = settings.request.pixelFormat
        let change =
            switch (format.bytesPerSample, isDeep) {
            case (1, false): HWD_KEEP_BYTES
            case (1, true): HWD_WIDEN
            default: format == .i010 ? HWD_RAISE : HWD_KEEP_WORDS
            }
        luma = hwd_filling(
            change: change, pairs: false, joins: false, width: Int32(settings.request.width),
            height: Int32(settings.request.height), full_width: Int32(coded.width), full_height: Int32(coded.height)
        )
        chroma = hwd_filling(
            change: change, pairs: true, joins: !format.isSemiPlanar, width: (luma.width + 1) / 2,
            height: (luma.height + 1) / 2, full_width: luma.full_width / 2, full_height: luma.full_height / 2)
        if settings.mayDeriveImages, try canDerive(surface) { return }
        staging = Staging(try Image(display, fourcc: fourcc, width: coded.width, height: coded.height))
    }

    /// Whether a surface's own memory can be had in the layout that is written.
    private func canDerive(_ surface: VASurfaceID) throws(VAError) -> Bool {
        guard let image = try? Image(display, deriving: surface) else {
            display.forgetMessages()
            return false
        }
        return image.image.format.fourcc == fourcc && planes(image.image) != nil
    }

    /// Offsets and strides of an image's two planes; nil where they cannot hold the coded size.
    private func planes(_ image: VAImage) -> (offsets: (Int, Int), strides: (Int, Int))? {
        let row = coded.width * (isDeep ? 2 : 1)
        let strides = (Int(image.pitches.0), Int(image.pitches.1))
        let offsets = (Int(image.offsets.0), Int(image.offsets.1))
        let ends = (
            offsets.0 + strides.0 * (coded.height - 1) + row, offsets.1 + strides.1 * (coded.height / 2 - 1) + row
        )
        guard image.num_planes == 2, strides.0 >= row, strides.1 >= row,
            max(ends.0, ends.1) <= Int(image.data_size)
        else { return nil }
        return (offsets, strides)
    }

    /// Writes a frame to a surface.
    func write(_ input: InputPicture, to surface: VASurfaceID) throws(VAError) {
        try withPlanes(of: surface) { luma, chroma in
            let planes = input.planes.map {
                hwd_plane(base: $0.base.assumingMemoryBound(to: UInt8.self), stride: $0.stride)
            }
            fill(self.luma, planes[0], planes[0], luma)
            fill(self.chroma, planes[1], planes[self.chroma.joins ? 2 : 1], chroma)
        }
    }

    /// Writes grey to a surface.
    func writeGrey(to surface: VASurfaceID) throws(VAError) {
        let row = coded.width * (isDeep ? 2 : 1)
        try withPlanes(of: surface) { luma, chroma in
            // 0x8080 of 16 bits is grey, too.
            for y in 0..<coded.height { memset(luma.base + y * luma.stride, 0x80, row) }
            for y in 0..<coded.height / 2 { memset(chroma.base + y * chroma.stride, 0x80, row) }
        }
    }

    private typealias Plane = (base: UnsafeMutableRawPointer, stride: Int)

    private func withPlanes(of surface: VASurfaceID, _ body: (Plane, Plane) -> Void) throws(VAError) {
        if let staging {
            try fill(staging.image, body)
            try staging.image.put(to: surface)
        } else {
            try fill(try Image(display, deriving: surface), body)
        }
    }

    private func fill(_ image: borrowing Image, _ body: (Plane, Plane) -> Void) throws(VAError) {
        guard image.image.format.fourcc == fourcc, let (offsets, strides) = planes(image.image) else {
            throw VAError(
                VA_STATUS_ERROR_INVALID_IMAGE_FORMAT, "vaDeriveImage",
                message: "an image of another layout than before")
        }
        let mapped = try image.map()
        body((mapped.base + offsets.0, strides.0), (mapped.base + offsets.1, strides.1))
        mapped.end()
    }

    private func fill(_ how: hwd_filling, _ first: hwd_plane, _ second: hwd_plane, _ target: Plane) {
        withUnsafePointer(to: how) {
            hwd_fill(
                $0, first, second,
                hwd_mutable_plane(base: target.base.assumingMemoryBound(to: UInt8.self), stride: target.stride))
        }
    }
}
