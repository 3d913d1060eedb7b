// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// A value of Y4M's `C` parameter: yuv4mpeg(5), and the deeper ones that FFmpeg writes.
package struct Y4MChroma: Hashable {
    /// The format of the stored samples, planes without gaps.
    let samples: AVPixelFormat
    /// `chroma_sample_loc_type` (H.265 E.3.1); nil where the parameter does not determine it.
    let location: UInt8?

    /// nil for a value that is not known.
    init?(_ value: String) {
        location =
            switch value {
            case "420jpeg": 1
            case "420mpeg2": 0
            case "420paldv": 2
            default: nil
            }
        let name: String
        switch value {
        case "420", "420jpeg", "420mpeg2", "420paldv": name = "yuv420p"
        case "411", "422", "444": name = "yuv\(value)p"
        case "420alpha", "444alpha": name = "yuva\(value.prefix(3))p"
        case "mono": name = "gray"
        default:
            let parts = value.split(separator: "p", omittingEmptySubsequences: false)
            if parts.count == 2, ["420", "422", "444"].contains(parts[0]), Self.depths.contains(String(parts[1])) {
                name = "yuv\(value)le"
            } else if value.hasPrefix("mono"), Self.depths.contains(String(value.dropFirst(4))) {
                name = "gray\(value.dropFirst(4))le"
            } else {
                return nil
            }
        }
        samples = av_get_pix_fmt(name)
        if samples == AV_PIX_FMT_NONE { return nil }
    }

    private static let depths: Set = ["9", "10", "12", "14", "16"]

    /// The format with the same layout; nil where samples are converted.
    var native: PixelFormat? { samples == AV_PIX_FMT_YUVA420P ? .yuva : SampleFormats.native(samples) }
    /// Whether pictures have alpha.
    var hasAlpha: Bool { SampleFormats.traits(samples).hasAlpha }
}

/// The conversion of Y4M's pictures to frames, where the layouts differ.
struct Y4MConversion {
    let description: SampleConversion
    let converter: any PictureConverter
    private let width: Int32
    private let height: Int32

    /// - Throws: `unsupported` where swscale does not support the samples.
    init(_ header: Y4MHeader, alpha: AlphaConversion?, name: String) throws(MediaError) {
        let color = ColorDescription(isFullRange: header.isFullRange, chromaLocation: header.chroma.location)
        description = try SampleConversion(
            source: header.chroma.samples, color: color, height: header.height, path: name,
            alpha: header.chroma.hasAlpha ? alpha : nil)
        let (width, height) = (header.width, header.height)
        let made: (any PictureConverter)? =
            description.alpha == nil
            ? FrameConverter(description, width: width, height: height)
            : AlphaConverter(description, width: width, height: height)
        guard let made else {
            let format = SampleFormats.name(header.chroma.samples)
            throw MediaError(.unsupported, "\(name): pictures of \(format) cannot be converted")
        }
        converter = made
        (self.width, self.height) = (Int32(clamping: width), Int32(clamping: height))
    }

    /// Bytes of a picture's samples.
    var byteCount: Int { Int(av_image_get_buffer_size(description.source, width, height, 1)) }

    /// A picture whose samples `read` has filled in.
    /// - Throws: `io` when memory runs out, and what `read` throws.
    func picture(
        _ read: (UnsafeMutableRawBufferPointer) throws(MediaError) -> Void
    ) throws(MediaError) -> PictureOwner {
        var frame = av_frame_alloc()
        defer { av_frame_free(&frame) }
        // swscale reads past the end of rows, as it does behind libavcodec's decoder of raw video.
        guard let frame, let buffer = av_buffer_alloc(byteCount + Int(AV_INPUT_BUFFER_PADDING_SIZE)),
            let bytes = buffer.pointee.data
        else { throw MediaError(.io, "out of memory") }
        frame.pointee.buf.0 = buffer
        (frame.pointee.width, frame.pointee.height) = (width, height)
        frame.pointee.format = description.source.rawValue
        try read(UnsafeMutableRawBufferPointer(start: bytes, count: byteCount))
        var planes = [UnsafeMutablePointer<UInt8>?](repeating: nil, count: 4)
        var strides = [Int32](repeating: 0, count: 4)
        av_image_fill_arrays(&planes, &strides, bytes, description.source, width, height, 1)
        frame.pointee.data.0 = planes[0]
        (frame.pointee.data.1, frame.pointee.data.2, frame.pointee.data.3) = (planes[1], planes[2], planes[3])
        frame.pointee.linesize.0 = strides[0]
        (frame.pointee.linesize.1, frame.pointee.linesize.2) = (strides[1], strides[2])
        frame.pointee.linesize.3 = strides[3]
        guard let picture = PictureOwner(moving: frame, converter: converter) else {
            throw MediaError(.io, "out of memory")
        }
        return picture
    }
}
