// SPDX-License-Identifier: GPL-2.0-or-later
internal import CVA
internal import Glibc
internal import Model
internal import Sessions

/// Brings a client's frames to surfaces: one copy, on which the samples get the surface's layout and depth and the last
/// column and row are repeated up to the coded size.
final class FrameWriter {
    private let display: Display
    private let format: PixelFormat
    private let frame: (width: Int, height: Int)
    private let coded: (width: Int, height: Int)
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
        format = settings.request.pixelFormat
        frame = (settings.request.width, settings.request.height)
        coded = (settings.size.width, settings.size.height)
        fourcc = settings.fourcc
        isDeep = settings.fourcc == hwd_va_fourcc_p010()
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
            writeLuma(input, luma.base, luma.stride)
            writeChroma(input, chroma.base, chroma.stride)
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

    private func writeLuma(_ input: InputPicture, _ base: UnsafeMutableRawPointer, _ stride: Int) {
        let plane = input.planes[0]
        for y in 0..<coded.height {
            let source = plane.base + min(y, frame.height - 1) * plane.stride
            let row = base + y * stride
            copy(source, to: row, count: frame.width)
            repeatLast(of: row, count: frame.width, upTo: coded.width, samples: 1)
        }
    }

    private func writeChroma(_ input: InputPicture, _ base: UnsafeMutableRawPointer, _ stride: Int) {
        let (width, height) = ((frame.width + 1) / 2, (frame.height + 1) / 2)
        for y in 0..<coded.height / 2 {
            let source = min(y, height - 1)
            let row = base + y * stride
            if format.isSemiPlanar {
                copy(input.planes[1].base + source * input.planes[1].stride, to: row, count: 2 * width)
            } else {
                let cb = input.planes[1].base + source * input.planes[1].stride
                let cr = input.planes[2].base + source * input.planes[2].stride
                interleave(cb, cr, to: row, count: width)
            }
            repeatLast(of: row, count: 2 * width, upTo: coded.width, samples: 2)
        }
    }

    /// Copies samples, at the surface's depth.
    private func copy(_ source: UnsafeRawPointer, to row: UnsafeMutableRawPointer, count: Int) {
        switch (format.bytesPerSample, isDeep) {
        case (1, true):
            hwd_widen_8_16(
                source.assumingMemoryBound(to: UInt8.self), row.assumingMemoryBound(to: UInt16.self), count)
        case (2, _) where format == .i010:
            hwd_raise_10_16(
                source.assumingMemoryBound(to: UInt16.self), row.assumingMemoryBound(to: UInt16.self), count)
        default: memcpy(row, source, count * format.bytesPerSample)
        }
    }

    private func interleave(
        _ cb: UnsafeRawPointer, _ cr: UnsafeRawPointer, to row: UnsafeMutableRawPointer, count: Int
    ) {
        let words = row.assumingMemoryBound(to: UInt16.self)
        switch (format.bytesPerSample, isDeep) {
        case (1, false):
            hwd_interleave_8(
                cb.assumingMemoryBound(to: UInt8.self), cr.assumingMemoryBound(to: UInt8.self),
                row.assumingMemoryBound(to: UInt8.self), count)
        case (1, true):
            hwd_interleave_8_16(
                cb.assumingMemoryBound(to: UInt8.self), cr.assumingMemoryBound(to: UInt8.self), words, count)
        default:
            hwd_interleave_10_16(
                cb.assumingMemoryBound(to: UInt16.self), cr.assumingMemoryBound(to: UInt16.self), words, count)
        }
    }

    /// Repeats the last sample (luma) or pair (chroma) of `count` samples.
    private func repeatLast(of row: UnsafeMutableRawPointer, count: Int, upTo end: Int, samples: Int) {
        guard count < end else { return }
        let bytes = samples * (isDeep ? 2 : 1)
        let scale = isDeep ? 2 : 1
        let last = row + (count - samples) * scale
        var at = count
        while at < end {
            memcpy(row + at * scale, last, bytes)
            at += samples
        }
    }
}
