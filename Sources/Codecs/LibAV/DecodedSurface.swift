// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDCoding
public import HWDModel

/// A decoded picture that is still on the device that decoded it; its samples are copied only on request.
public final class DecodedSurface: @unchecked Sendable {
    /// The surface as dma-bufs, which are closed with this object; the driver has finished writing it.
    public final class Export: @unchecked Sendable {
        /// A plane: the index of its object, bytes from the object's start and from row to row, and the DRM modifier.
        public typealias Plane = (object: Int, offset: UInt64, pitch: UInt64, modifier: UInt64)

        /// Luma samples of a row of the whole surface; the picture is its upper left part.
        public let width: Int
        /// Rows of the whole surface.
        public let height: Int
        /// Descriptors of the dma-bufs.
        public let objects: [Int32]
        /// Luma, then Cb and Cr interleaved.
        public let planes: [Plane]
        private let mapped: FrameOwner

        init(
            _ mapped: FrameOwner, width: Int, height: Int, planeCount: Int
        ) throws(SessionError) {
            self.mapped = mapped
            self.width = width
            self.height = height
            let frame = mapped.pointer
            objects = (0..<clibav_drm_object_count(frame)).map { clibav_drm_object(frame, $0) }
            var planes: [Plane] = []
            for layer in 0..<planeCount {
                var plane = clibav_drm_plane()
                guard clibav_drm_plane_at(frame, Int32(layer), &plane) == 0, plane.offset >= 0, plane.pitch > 0
                else {
                    break
                }
                planes.append((Int(plane.object), UInt64(plane.offset), UInt64(plane.pitch), plane.modifier))
            }
            self.planes = planes
            guard planes.count == planeCount else {
                throw SessionError(
                    .videoDecoderMalfunction, "the driver exports a surface in other than \(planeCount) planes")
            }
        }
    }

    /// The picture's description; it has no slot and no layout.
    public let picture: OutputPicture
    private let frame: FrameOwner
    private let copier: PictureCopier

    /// A further reference to a surface; nil unless it is NV12 or P010 and not cropped on the left or at the top.
    init?(_ source: UnsafeMutablePointer<AVFrame>, _ copier: PictureCopier) {
        guard let context = Self.context(source),
            let format = SampleFormats.native(context.sw_format), format.isSemiPlanar,
            source.pointee.crop_left == 0, source.pointee.crop_top == 0,
            source.pointee.width <= context.width, source.pointee.height <= context.height,
            let frame = FrameOwner(referringTo: source)
        else { return nil }
        self.frame = frame
        self.copier = copier
        var picture = OutputPicture(source, format, slot: -1, FrameLayout(planes: []))
        picture.isHardware = true
        self.picture = picture
    }

    /// Waits for the driver (vaSyncSurface) and exports the surface (DRM_PRIME_2, one layer for each plane).
    ///
    /// - Throws: `VideoDecoderMalfunction` where the driver cannot.
    public func export() throws(SessionError) -> Export {
        guard let mapped = FrameOwner(), let context = Self.context(frame.pointer) else {
            throw SessionError(.allocationFailed, "no memory for a picture")
        }
        mapped.pointer.pointee.format = AV_PIX_FMT_DRM_PRIME.rawValue
        // libavutil waits for a surface that is mapped for reading.
        let code = av_hwframe_map(mapped.pointer, frame.pointer, Int32(AV_HWFRAME_MAP_READ))
        guard code >= 0 else {
            throw SessionError(
                .videoDecoderMalfunction, LibAVError("a surface cannot be exported", code).description)
        }
        return try Export(
            mapped, width: Int(context.width), height: Int(context.height), planeCount: picture.format.planeCount)
    }

    /// Copies the samples to the session's memory, as for every surface that is not used in place.
    public func download() throws(SessionError) -> (OutputPicture, any AnyObject & Sendable) {
        try copier.download(frame.pointer)
    }

    private static func context(_ frame: UnsafeMutablePointer<AVFrame>) -> AVHWFramesContext? {
        guard let data = frame.pointee.hw_frames_ctx?.pointee.data else { return nil }
        return UnsafeRawPointer(data).load(as: AVHWFramesContext.self)
    }
}
