// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
package import HWDModel

/// libavutil's pixel formats seen from ours.
package enum SampleFormats {
    /// Our format whose samples lie in memory exactly as `format`'s, if there is one.
    ///
    /// The `yuvj` names are 4:2:0 at full range: the same samples, the range is told by the colour description.
    package static func native(_ format: AVPixelFormat) -> PixelFormat? {
        switch format {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: .yu12
        case AV_PIX_FMT_YUV420P10LE: .i010
        case AV_PIX_FMT_NV12: .nv12
        case AV_PIX_FMT_P010LE: .p010
        default: nil
        }
    }

    /// libavutil's name for one of our formats; `AV_PIX_FMT_NONE` for half-float, which this libavutil has no name for.
    package static func libAV(_ format: PixelFormat) -> AVPixelFormat {
        switch format {
        case .yu12: AV_PIX_FMT_YUV420P
        case .i010: AV_PIX_FMT_YUV420P10LE
        case .nv12: AV_PIX_FMT_NV12
        case .p010: AV_PIX_FMT_P010LE
        case .yuva: AV_PIX_FMT_YUVA420P
        case .bgra8: AV_PIX_FMT_BGRA
        case .rgba8: AV_PIX_FMT_RGBA
        case .rgba16f: AV_PIX_FMT_NONE
        }
    }

    /// The format that keeps most of `format`: itself, or 4:2:0 planar with 8 bits, or 10 where it has more than 8.
    package static func nearest(_ format: AVPixelFormat) -> PixelFormat {
        native(format) ?? (bitDepth(format) > 8 ? .i010 : .yu12)
    }

    /// `yuvj…` as the plain format it is a full-range spelling of.
    package static func withoutRange(_ format: AVPixelFormat) -> AVPixelFormat {
        switch format {
        case AV_PIX_FMT_YUVJ420P: AV_PIX_FMT_YUV420P
        case AV_PIX_FMT_YUVJ422P: AV_PIX_FMT_YUV422P
        case AV_PIX_FMT_YUVJ444P: AV_PIX_FMT_YUV444P
        case AV_PIX_FMT_YUVJ440P: AV_PIX_FMT_YUV440P
        case AV_PIX_FMT_YUVJ411P: AV_PIX_FMT_YUV411P
        default: format
        }
    }

    /// libavutil's name, or the number of a format it does not know.
    package static func name(_ format: AVPixelFormat) -> String {
        av_get_pix_fmt_name(format).map { String(cString: $0) } ?? "pixel format \(format.rawValue)"
    }

    /// Bits of the widest component; 8 for palettes, which stand for 8-bit RGB.
    package static func bitDepth(_ format: AVPixelFormat) -> Int {
        guard let descriptor = av_pix_fmt_desc_get(format) else { return 8 }
        let components = descriptor.pointee.comp
        return Int(max(components.0.depth, components.1.depth, components.2.depth, 1))
    }

    /// What a format is, as far as a conversion must know.
    package struct Traits {
        package var isRGB = false
        package var isGray = false
        package var hasAlpha = false
        /// log2 of how many luma samples share a chroma sample, across and down.
        package var chromaShift = (0, 0)
    }

    /// What `format` is.
    package static func traits(_ format: AVPixelFormat) -> Traits {
        guard let descriptor = av_pix_fmt_desc_get(format)?.pointee else { return Traits() }
        let flags = descriptor.flags
        return Traits(
            isRGB: flags & UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) != 0
                || format == AV_PIX_FMT_XYZ12LE || format == AV_PIX_FMT_XYZ12BE,
            isGray: descriptor.nb_components <= 2 && flags & UInt64(AV_PIX_FMT_FLAG_PAL) == 0,
            hasAlpha: flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0,
            chromaShift: (Int(descriptor.log2_chroma_w), Int(descriptor.log2_chroma_h)))
    }
}
