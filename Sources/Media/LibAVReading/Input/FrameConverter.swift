// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
internal import HWDLibAV
package import HWDModel
internal import Synchronization

/// Converts a decoder's pictures to the format of a reader's frames.
package protocol PictureConverter: Sendable {
    /// Converts `frame` into the planes of `target`; false on failure.
    func convert(_ frame: UnsafeMutablePointer<AVFrame>, to target: PlaneTarget) -> Bool
}

/// Owner of a swscale context that converts, and may scale, pictures of one size and format.
///
/// Frames of one stream share it, and may be copied on different threads.
package final class FrameConverter: PictureConverter {
    private let conversion: SampleConversion
    private let target: AVPixelFormat
    private let geometry: Geometry
    // Safe to share: it is used under `lock` only.
    private nonisolated(unsafe) let context: OpaquePointer
    private let lock = Mutex(())

    /// The sizes before and after a conversion.
    struct Geometry {
        var from: (width: Int, height: Int)
        var to: (width: Int, height: Int)
        /// Whether the range stays the source's, whatever the conversion's color is.
        var keepsRange = false
    }

    /// A converter for pictures of `width`×`height`; nil when swscale does not support the conversion.
    ///
    /// - Parameter format: the output format where it is not the conversion's target.
    package convenience init?(
        _ conversion: SampleConversion, width: Int, height: Int, to format: AVPixelFormat? = nil
    ) {
        self.init(conversion, Geometry(from: (width, height), to: (width, height)), to: format)
    }

    /// The same with scaling.
    init?(_ conversion: SampleConversion, _ geometry: Geometry, to format: AVPixelFormat? = nil) {
        self.geometry = geometry
        guard let context = sws_alloc_context() else { return nil }
        self.context = context
        target = format ?? SampleFormats.libAV(conversion.target)
        self.conversion = conversion
        guard configure() else { return nil }
    }

    deinit { sws_freeContext(context) }

    private func configure() -> Bool {
        let source = SampleFormats.withoutRange(conversion.source)
        let traits = SampleFormats.traits(source)
        // Chroma positions are in 1/256 of a luma sample; -513 selects swscale's default.
        let unset: Int64 = -513
        let across: Int64 = conversion.color.chromaLocation == 1 ? 128 : 0
        let isFullRange = geometry.keepsRange ? conversion.sourceIsFullRange : conversion.color.isFullRange
        let isSubsampled = SampleFormats.traits(target).chromaShift == (1, 1)
        let options: [(String, Int64)] = [
            ("srcw", Int64(geometry.from.width)), ("srch", Int64(geometry.from.height)),
            ("dstw", Int64(geometry.to.width)), ("dsth", Int64(geometry.to.height)),
            ("src_format", Int64(source.rawValue)),
            ("dst_format", Int64(target.rawValue)),
            ("src_range", conversion.sourceIsFullRange ? 1 : 0),
            ("dst_range", isFullRange ? 1 : 0),
            ("src_h_chr_pos", traits.chromaShift.0 == 1 ? across : unset),
            ("src_v_chr_pos", traits.chromaShift.1 == 1 ? 128 : unset),
            ("dst_h_chr_pos", isSubsampled ? across : unset), ("dst_v_chr_pos", isSubsampled ? 128 : unset),
            ("sws_flags", Int64(SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INP | SWS_FULL_CHR_H_INT)),
        ]
        let raw = UnsafeMutableRawPointer(context)
        for (name, value) in options where av_opt_set_int(raw, name, value, 0) < 0 { return false }
        guard sws_init_context(context, nil, nil) >= 0 else { return false }
        // swscale numbers its tables by matrix_coefficients (swscale.h SWS_CS_*).
        let table = sws_getCoefficients(Int32(conversion.color.matrix))
        let one: Int32 = 1 << 16
        _ = sws_setColorspaceDetails(
            context, table, conversion.sourceIsFullRange ? 1 : 0, table, isFullRange ? 1 : 0, 0, one, one)
        return true
    }

    package func convert(_ frame: UnsafeMutablePointer<AVFrame>, to target: PlaneTarget) -> Bool {
        convert(frame, to: target.planes)
    }

    /// The same into planes of the output format.
    package func convert(_ frame: UnsafeMutablePointer<AVFrame>, to targets: [MutablePlaneView]) -> Bool {
        let picture = frame.pointee
        let sources: [UnsafePointer<UInt8>?] = [
            UnsafePointer(picture.data.0), UnsafePointer(picture.data.1), UnsafePointer(picture.data.2),
            UnsafePointer(picture.data.3),
        ]
        let sourceStrides = [picture.linesize.0, picture.linesize.1, picture.linesize.2, picture.linesize.3]
        var planes: [UnsafeMutablePointer<UInt8>?] = targets.map { $0.base.assumingMemoryBound(to: UInt8.self) }
        var strides = targets.map { Int32($0.stride) }
        while planes.count < 4 {
            planes.append(nil)
            strides.append(0)
        }
        guard (Int(picture.width), Int(picture.height)) == geometry.from else { return false }
        return lock.withLock { _ in
            sws_scale(context, sources, sourceStrides, 0, picture.height, planes, strides) == geometry.to.height
        }
    }
}
