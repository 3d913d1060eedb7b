// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import CHWDVA
internal import Glibc
internal import HWDCoding
internal import HWDModel
internal import HWDPolicy

/// Copies a client's frames to surfaces, converts them to the surface's layout and depth, and repeats the last column and
/// row up to the coded size, all in one pass.
final class SurfaceWriter {
    private let display: Display
    private let coded: (width: Int, height: Int)
    private let filling: hwd_frame_filling
    private let isDeep: Bool
    private let fourcc: UInt32
    /// The image that is copied to surfaces; nil where surfaces are written in place.
    private var staging: Staging?

    /// A class, because an optional noncopyable value cannot be borrowed in place.
    private final class Staging {
        let image: Image
        init(_ image: consuming Image) { self.image = image }
    }

    /// - Parameter surface: any surface of the encoder, which decides whether surfaces are written in place.
    init(_ display: Display, _ settings: EncoderSettings, surface: VASurfaceID) throws(VAError) {
        self.display = display
        coded = (settings.size.width, settings.size.height)
        fourcc = settings.fourcc
        isDeep = settings.fourcc == hwd_va_fourcc_p010()
        let (request, format) = (settings.request, settings.request.pixelFormat)
        filling = hwd_frame_filling(
            bytes: Int32(format.bytesPerSample), low: format == .i010, planar: !format.isSemiPlanar, deep: isDeep,
            width: Int32(request.width), height: Int32(request.height), full_width: Int32(coded.width),
            full_height: Int32(coded.height))
        if settings.mayDeriveImages, try canDerive(surface) { return }
        staging = Staging(try Image(display, fourcc: fourcc, width: coded.width, height: coded.height))
    }

    /// Whether a surface's own memory has the layout that is written, and all of it is mapped.
    private func canDerive(_ surface: VASurfaceID) throws(VAError) -> Bool {
        do throws(VAError) {
            let image = try Image(display, deriving: surface)
            guard image.image.format.fourcc == fourcc, let (offsets, strides) = planes(image.image) else {
                return false
            }
            let mapped = try image.map()
            let row = coded.width * (isDeep ? 2 : 1)
            let isWhole = Self.isReadable([
                mapped.base + offsets.0 + strides.0 * (coded.height - 1) + row - 1, mapped.base + offsets.1,
                mapped.base + offsets.1 + strides.1 * (coded.height / 2 - 1) + row - 1,
            ])
            mapped.end()
            return isWhole
        } catch {
            display.forgetMessages()
            return false
        }
    }

    /// Whether the bytes at these addresses can be read, by the kernel, which reports EFAULT where this process would be
    /// killed: Mesa's images of P010 surfaces claim two planes of which one is mapped.
    private static func isReadable(_ addresses: [UnsafeMutableRawPointer]) -> Bool {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { return false }
        defer { ends.forEach { close($0) } }
        // Child processes must not inherit the pipe, and a full pipe must not block.
        guard
            ends.allSatisfy({
                fcntl($0, F_SETFD, FD_CLOEXEC) == 0 && fcntl($0, F_SETFL, O_NONBLOCK) == 0
            })
        else { return false }
        return addresses.allSatisfy { address in
            while true {
                let written = Glibc.write(ends[1], address, 1)
                if written == 1 || errno != EINTR { return written == 1 }
            }
        }
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
        let planes = input.planes.map {
            hwd_plane(base: $0.base.assumingMemoryBound(to: UInt8.self), stride: $0.stride)
        }
        try withPlanes(of: surface) { luma, chroma in
            withUnsafePointer(to: filling) { hwd_fill_frame($0, planes, luma.cPlane, chroma.cPlane) }
        }
    }

    /// Fills a surface with gray.
    func writeGray(to surface: VASurfaceID) throws(VAError) {
        let row = coded.width * (isDeep ? 2 : 1)
        try withPlanes(of: surface) { luma, chroma in
            // 0x8080 is gray in P010, too.
            for y in 0..<coded.height { memset(luma.base + y * luma.stride, 0x80, row) }
            for y in 0..<coded.height / 2 { memset(chroma.base + y * chroma.stride, 0x80, row) }
        }
    }

    private func withPlanes(
        of surface: VASurfaceID, _ body: (MutablePlaneView, MutablePlaneView) -> Void
    ) throws(VAError) {
        if let staging {
            try fill(staging.image, body)
            try staging.image.put(to: surface)
        } else {
            try fill(try Image(display, deriving: surface), body)
        }
    }

    private func fill(
        _ image: borrowing Image, _ body: (MutablePlaneView, MutablePlaneView) -> Void
    ) throws(VAError) {
        guard image.image.format.fourcc == fourcc, let (offsets, strides) = planes(image.image) else {
            throw VAError(
                VA_STATUS_ERROR_INVALID_IMAGE_FORMAT, "vaDeriveImage",
                message: "the layout of surfaces changed")
        }
        let mapped = try image.map()
        body(
            MutablePlaneView(base: mapped.base + offsets.0, stride: strides.0),
            MutablePlaneView(base: mapped.base + offsets.1, stride: strides.1))
        mapped.end()
    }
}

extension MutablePlaneView {
    fileprivate var cPlane: hwd_mutable_plane {
        hwd_mutable_plane(base: base.assumingMemoryBound(to: UInt8.self), stride: stride)
    }
}
