// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
package import HWDModel

/// The mapping between libavutil's pixel formats and this project's.
package enum SampleFormats {
    /// The format with the same memory layout as `format`; nil where there is none.
    ///
    /// The `yuvj` names are 4:2:0 at full range: the same layout, with the range in the color description.
    package static func native(_ format: AVPixelFormat) -> PixelFormat? {
        switch format {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: .yu12
        case AV_PIX_FMT_YUV420P10LE: .i010
        case AV_PIX_FMT_NV12: .nv12
        case AV_PIX_FMT_P010LE: .p010
        default: nil
        }
    }

    /// libavutil's format with the same layout; `AV_PIX_FMT_NONE` for half floats and 10-bit RGB with alpha, which
    /// FFmpeg 5.1 lacks.
    package static func libAV(_ format: PixelFormat) -> AVPixelFormat {
        switch format {
        case .yu12: AV_PIX_FMT_YUV420P
        case .i010: AV_PIX_FMT_YUV420P10LE
        case .nv12: AV_PIX_FMT_NV12
        case .p010: AV_PIX_FMT_P010LE
        case .yuva: AV_PIX_FMT_YUVA420P
        case .bgra8: AV_PIX_FMT_BGRA
        case .rgba8: AV_PIX_FMT_RGBA
        case .bgrx10: AV_PIX_FMT_X2RGB10LE
        case .rgbx10: AV_PIX_FMT_X2BGR10LE
        case .bgra10, .rgba10, .rgba16f: AV_PIX_FMT_NONE
        }
    }

    /// The format that loses least of `format`: the same layout, or planar 4:2:0 of 8 bits, or of 10 where it has more.
    package static func nearest(_ format: AVPixelFormat) -> PixelFormat {
        native(format) ?? (bitDepth(format) > 8 ? .i010 : .yu12)
    }

    /// The format without a range: `yuv…` for `yuvj…`.
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

    /// libavutil's name for a format, or the number of an unknown one.
    package static func name(_ format: AVPixelFormat) -> String {
        av_get_pix_fmt_name(format).map { String(cString: $0) } ?? "pixel format \(format.rawValue)"
    }

    /// Bits of the widest component; 8 for palettes, whose entries are 8-bit RGB.
    package static func bitDepth(_ format: AVPixelFormat) -> Int {
        guard let descriptor = av_pix_fmt_desc_get(format) else { return 8 }
        let components = descriptor.pointee.comp
        return Int(max(components.0.depth, components.1.depth, components.2.depth, 1))
    }

    /// The properties of a format that conversions depend on.
    package struct Traits {
        package var isRGB = false
        package var isGray = false
        package var hasAlpha = false
        /// Whether samples are floating-point numbers, which are usually linear light.
        package var isFloat = false
        /// log2 of how many luma samples share a chroma sample, across and down.
        package var chromaShift = (0, 0)
    }

    /// The properties of `format`; the default ones for an unknown format.
    package static func traits(_ format: AVPixelFormat) -> Traits {
        guard let descriptor = av_pix_fmt_desc_get(format)?.pointee else { return Traits() }
        let flags = descriptor.flags
        return Traits(
            isRGB: flags & UInt64(AV_PIX_FMT_FLAG_RGB | AV_PIX_FMT_FLAG_PAL) != 0
                || format == AV_PIX_FMT_XYZ12LE || format == AV_PIX_FMT_XYZ12BE,
            isGray: descriptor.nb_components <= 2 && flags & UInt64(AV_PIX_FMT_FLAG_PAL) == 0,
            hasAlpha: flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0,
            isFloat: flags & UInt64(AV_PIX_FMT_FLAG_FLOAT) != 0,
            chromaShift: (Int(descriptor.log2_chroma_w), Int(descriptor.log2_chroma_h)))
    }
}
