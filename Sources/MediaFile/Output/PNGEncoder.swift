// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel

/// Converts 4:2:0 pictures to RGB and encodes them as PNG: 8 bits per sample, or 16 for pictures with more than 8.
///
/// A picture with alpha becomes RGBA in the description's `wantedAlphaMode`; PNG defines alpha to be straight.
final class PNGEncoder {
    let description: FrameWriter.Description
    private var scaler: OpaquePointer?
    private let codec: CodecContext
    private var frame: UnsafeMutablePointer<AVFrame>?
    private var packet: UnsafeMutablePointer<AVPacket>?

    init(_ description: FrameWriter.Description) throws(MediaError) {
        self.description = description
        let target =
            description.format == .yuva
            ? AV_PIX_FMT_RGBA : description.format.bitDepth > 8 ? AV_PIX_FMT_RGB48BE : AV_PIX_FMT_RGB24
        let (width, height) = (Int32(description.width), Int32(description.height))
        guard let encoder = avcodec_find_encoder(AV_CODEC_ID_PNG) else {
            throw MediaError(.unsupported, "this libavcodec has no PNG encoder")
        }
        guard let codec = CodecContext(encoder) else { throw MediaError(.io, "out of memory for a PNG encoder") }
        self.codec = codec
        let context = codec.pointer
        frame = av_frame_alloc()
        packet = av_packet_alloc()
        scaler = sws_getContext(
            width, height, SampleFormats.libAV(description.format), width, height, target,
            Int32(SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT), nil, nil, nil)
        guard let frame, packet != nil, let scaler else {
            throw MediaError(.io, "out of memory for a picture of \(width)x\(height)")
        }
        // swscale numbers its tables by matrix_coefficients (swscale.h SWS_CS_*).
        let matrix = description.color.conversionMatrix(height: description.height)
        let (table, rgb) = (sws_getCoefficients(Int32(matrix)), sws_getCoefficients(SWS_CS_DEFAULT))
        let one: Int32 = 1 << 16
        _ = sws_setColorspaceDetails(
            scaler, table, description.color.isFullRange ? 1 : 0, rgb, 1, 0, one, one)
        context.pointee.width = width
        context.pointee.height = height
        context.pointee.pix_fmt = target
        context.pointee.time_base = AVRational(num: 1, den: 25)
        frame.pointee.format = target.rawValue
        frame.pointee.width = width
        frame.pointee.height = height
        let code = codec.open(encoder)
        guard code >= 0, av_frame_get_buffer(frame, 0) >= 0 else {
            throw MediaError(.unsupported, "pictures of \(width)x\(height) cannot be written as PNG")
        }
    }

    deinit {
        sws_freeContext(scaler)
        av_frame_free(&frame)
        av_packet_free(&packet)
    }

    /// Encodes a picture as a PNG file.
    func encode(_ picture: PictureView) throws(MediaError) -> [UInt8] {
        guard let frame, let packet, av_frame_make_writable(frame) >= 0 else {
            throw MediaError(.io, "out of memory for a picture")
        }
        var sources: [UnsafePointer<UInt8>?] = []
        var strides: [Int32] = []
        for number in 0..<4 {
            let plane = number < picture.format.planeCount ? picture.plane(number) : nil
            sources.append(plane?.base.assumingMemoryBound(to: UInt8.self))
            strides.append(Int32(plane?.stride ?? 0))
        }
        let targets: [UnsafeMutablePointer<UInt8>?] = [frame.pointee.data.0, nil, nil, nil]
        let rows = sws_scale(
            scaler, sources, strides, 0, Int32(picture.part.height), targets, [frame.pointee.linesize.0, 0, 0, 0])
        changeAlphaMode()
        guard rows == Int32(picture.part.height), avcodec_send_frame(codec.pointer, frame) >= 0,
            avcodec_receive_packet(codec.pointer, packet) >= 0
        else { throw MediaError(.io, "a picture cannot be written as PNG") }
        defer { av_packet_unref(packet) }
        return Array(UnsafeBufferPointer(start: packet.pointee.data, count: Int(packet.pointee.size)))
    }

    /// Divides or multiplies colors by alpha where the picture's mode differs from `wantedAlphaMode`.
    private func changeAlphaMode() {
        guard let frame, let mode = description.alphaMode, mode != description.wantedAlphaMode,
            let start = frame.pointee.data.0
        else { return }
        for line in 0..<description.height {
            let row = start + line * Int(frame.pointee.linesize.0)
            for x in 0..<description.width {
                let pixel = row + 4 * x
                let alpha = Int(pixel[3])
                for component in 0..<3 {
                    let value = Int(pixel[component])
                    // The color of a transparent premultiplied sample is lost.
                    pixel[component] =
                        description.wantedAlphaMode == .premultiplied
                        ? UInt8((value * alpha + 127) / 255)
                        : alpha == 0 ? 0 : UInt8(min(255, (value * 255 + alpha / 2) / alpha))
                }
            }
        }
    }
}
