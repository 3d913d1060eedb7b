// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDLibAVReading
package import HWDModel
package import HWImages

extension StillCanvas {
    /// A picture of RGB in memory as 4:2:0 by BT.601's matrix at full range, as `SourceImage.sRGB` describes it; alpha is left out.
    ///
    /// - Parameter plane: its rows, behind which 64 bytes more may be read, as swscale's vector code does.
    /// - Throws: `unsupported` for a format that swscale does not read.
    package static func converting(
        _ format: PixelFormat, width: Int, height: Int, _ plane: PlaneView
    ) throws(ImageError) -> StillCanvas {
        let canvas = try StillCanvas(format.bitDepth > 8 ? .i010 : .yu12, width: width, height: height)
        let source = SampleFormats.libAV(format)
        let failure = ImageError(.unsupported, "a picture of \(format.rawValue) cannot be converted to 4:2:0")
        guard format.isRGB, source != AV_PIX_FMT_NONE, sws_isSupportedInput(source) > 0,
            let frame = av_frame_alloc()
        else { throw failure }
        defer {
            var owned: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&owned)
        }
        (frame.pointee.width, frame.pointee.height) = (Int32(width), Int32(height))
        frame.pointee.format = source.rawValue
        frame.pointee.data.0 = UnsafeMutablePointer(mutating: plane.base.assumingMemoryBound(to: UInt8.self))
        frame.pointee.linesize.0 = Int32(plane.stride)
        var color = SourceImage.sRGB
        // Readers of HEIF files take chroma to be in the center.
        color.chromaLocation = 1
        let conversion = SampleConversion(fitting: source, color, to: canvas.format, color)
        guard let converter = FrameConverter(conversion, width: width, height: height),
            converter.convert(frame, to: canvas.planes)
        else { throw failure }
        return canvas
    }
}
