// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDModel
public import HWDSessions

/// A decoded picture that still lies on the device that decoded it: its samples are copied only for who wants them there.
public final class DecodedSurface: @unchecked Sendable {
    /// The surface in dma-bufs, which are closed with this object; the driver has ended writing it.
    public final class Export: @unchecked Sendable {
        /// Where a plane lies: the object's number, bytes from its start and from row to row, and the DRM format modifier.
        public typealias Plane = (object: Int, offset: UInt64, pitch: UInt64, modifier: UInt64)

        /// Luma samples of a row of the whole surface, of which the picture is the upper left part.
        public let width: Int
        /// Its rows.
        public let height: Int
        /// Descriptors of the dma-bufs.
        public let objects: [Int32]
        /// Luma, then Cb and Cr interleaved.
        public let planes: [Plane]
        // Only ever freed.
        private var mapped: UnsafeMutablePointer<AVFrame>?

        init(
            _ mapped: UnsafeMutablePointer<AVFrame>, width: Int, height: Int, planeCount: Int
        ) throws(SessionError) {
            self.mapped = mapped
            self.width = width
            self.height = height
            objects = (0..<clibav_drm_object_count(mapped)).map { clibav_drm_object(mapped, $0) }
            var planes: [Plane] = []
            for layer in 0..<planeCount {
                var plane = clibav_drm_plane()
                guard clibav_drm_plane_at(mapped, Int32(layer), &plane) == 0, plane.offset >= 0, plane.pitch > 0
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

        deinit { av_frame_free(&mapped) }
    }

    /// What is told of it; it lies in no slot.
    public let picture: OutputPicture
    // Used by one thread at a time.
    private var frame: UnsafeMutablePointer<AVFrame>?
    private let copier: PictureCopier

    /// A further reference to a surface; nil for one that is not NV12 or P010 from its first sample on.
    init?(_ source: UnsafeMutablePointer<AVFrame>, _ copier: PictureCopier) {
        guard let context = Self.context(source),
            let format = SampleFormats.native(context.sw_format), format.isSemiPlanar,
            source.pointee.crop_left == 0, source.pointee.crop_top == 0,
            source.pointee.width <= context.width, source.pointee.height <= context.height,
            let frame = av_frame_clone(source)
        else { return nil }
        self.frame = frame
        self.copier = copier
        picture = PictureCopier.describe(source.pointee, format, -1, FrameLayout(planes: []), true)
    }

    deinit { av_frame_free(&frame) }

    /// Waits for the driver and exports the surface (vaSyncSurface, vaExportSurfaceHandle of DRM_PRIME_2 in separate layers).
    ///
    /// - Throws: `VideoDecoderMalfunction` where the driver does not.
    public func export() throws(SessionError) -> Export {
        var mapped = av_frame_alloc()
        guard let target = mapped, let frame, let context = Self.context(frame) else {
            av_frame_free(&mapped)
            throw SessionError(.allocationFailed, "no memory for a picture")
        }
        target.pointee.format = AV_PIX_FMT_DRM_PRIME.rawValue
        // libavutil waits for the surface where it is mapped for reading.
        let code = av_hwframe_map(target, frame, Int32(AV_HWFRAME_MAP_READ))
        guard code >= 0 else {
            av_frame_free(&mapped)
            throw SessionError(
                .videoDecoderMalfunction, LibAVError("a surface cannot be exported", code).description)
        }
        return try Export(
            target, width: Int(context.width), height: Int(context.height), planeCount: picture.format.planeCount)
    }

    /// Copies its samples to the session's memory, as is done with every surface that nobody takes in place.
    public func download() throws(SessionError) -> (OutputPicture, any AnyObject & Sendable) {
        guard let frame else { throw SessionError(.allocationFailed, "there is no surface") }
        return try copier.download(frame)
    }

    private static func context(_ frame: UnsafeMutablePointer<AVFrame>) -> AVHWFramesContext? {
        guard let data = frame.pointee.hw_frames_ctx?.pointee.data else { return nil }
        return UnsafeRawPointer(data).load(as: AVHWFramesContext.self)
    }
}
