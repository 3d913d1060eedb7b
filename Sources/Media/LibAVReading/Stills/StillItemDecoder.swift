// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
package import HWDHEIF
internal import HWDHEVC
internal import HWDLibAV
package import HWDMetadata
package import HWDModel
package import HWImages

/// Decodes coded items with libavcodec in this process: those that no session takes, such as AVCI, JPEG and 4:0:0.
package final class StillItemDecoder: ItemDecoder {
    private let name: String
    private let codec: CodecContext
    /// What precedes the data of each item: the tables of JPEG.
    private let prefix: [UInt8]
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>

    /// The decoder of a picture's codec.
    ///
    /// - Throws: `unsupported` for a codec that libavcodec lacks, `badInput` for a damaged configuration.
    package init(_ picture: PictureDescription, path: String) throws(MediaError) {
        // libavcodec's messages become part of the error, instead of lines on standard error.
        LibAVLog.install()
        let item = picture.item
        name = "\(path): item \(item.id)"
        let (id, configuration, tables) = try Self.codec(picture, name)
        prefix = tables
        guard let decoder = avcodec_find_decoder(id) else {
            throw MediaError(.unsupported, "\(name) is of type \"\(item.type)\", which this libavcodec lacks")
        }
        guard let codec = CodecContext(decoder), configuration.count < 1 << 20,
            configuration.isEmpty || codec.setExtradata(configuration), let frame = av_frame_alloc()
        else { throw MediaError(.io, "out of memory for a decoder") }
        guard let packet = av_packet_alloc() else {
            var frame: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&frame)
            throw MediaError(.io, "out of memory for a decoder")
        }
        (self.codec, self.frame, self.packet) = (codec, frame, packet)
        codec.pointer.pointee.thread_count = 1
        codec.pointer.pointee.max_pixels = Int64(HEIFLimits.codedPixels * 2)
        codec.pointer.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
        guard codec.open(decoder) >= 0 else {
            throw MediaError(.badInput, "\(name) has a configuration that libavcodec refuses")
        }
    }

    deinit {
        var (frame, packet): (UnsafeMutablePointer<AVFrame>?, UnsafeMutablePointer<AVPacket>?) = (frame, packet)
        av_frame_free(&frame)
        av_packet_free(&packet)
    }

    private static func codec(
        _ picture: PictureDescription, _ name: String
    ) throws(MediaError) -> (AVCodecID, configuration: [UInt8], tables: [UInt8]) {
        func box(_ type: String) -> [UInt8] {
            picture.codecConfigurations.first { $0.type.description == type }?.fields ?? []
        }
        switch picture.item.type {
        case "hvc1", "hev1":
            guard let record = picture.hevc, let bytes = try? record.bytes() else {
                throw MediaError(.badInput, "\(name) has no usable hvcC record")
            }
            return (AV_CODEC_ID_HEVC, bytes, [])
        case "avc1": return (AV_CODEC_ID_H264, box("avcC"), [])
        case "av01": return (AV_CODEC_ID_AV1, box("av1C"), [])
        case "jpeg": return (AV_CODEC_ID_MJPEG, [], box("jpgC"))
        default:
            throw MediaError(
                .unsupported, "\(name) is of type \"\(picture.item.type)\", which is not decoded")
        }
    }

    /// Decodes one item and calls `body` with its planes.
    ///
    /// - Parameters:
    ///   - format: a planar format of 4:2:0.
    ///   - takesAnyChroma: whether planes may come as they are coded, instead of in `format`.
    /// - Throws: `badInput` where the data are damaged; what `body` throws.
    package func decode(
        _ data: [UInt8], as format: PixelFormat, takesAnyChroma: Bool, _ body: (CodedPlanes) throws -> Void
    ) throws {
        let bytes = prefix + data
        guard av_new_packet(packet, Int32(clamping: bytes.count)) >= 0, let target = packet.pointee.data else {
            throw MediaError(.io, "out of memory for a picture")
        }
        UnsafeMutableRawPointer(target).copyMemory(from: bytes, byteCount: bytes.count)
        packet.pointee.flags |= AV_PKT_FLAG_KEY
        defer {
            av_packet_unref(packet)
            // The next item begins from scratch.
            avcodec_flush_buffers(codec.pointer)
        }
        guard case .taken = codec.send(packet), case .taken = codec.send(nil),
            case .frame = codec.receive(frame)
        else { throw MediaError(.badInput, "\(name): its coded picture is damaged") }
        defer { av_frame_unref(frame) }
        let size = PixelRect(width: Int(frame.pointee.width), height: Int(frame.pointee.height))
        let source = AVPixelFormat(rawValue: frame.pointee.format)
        if SampleFormats.native(source) == format {
            return try body(CodedPlanes(planes: PlaneView.planes(of: frame), format, size: size))
        }
        if takesAnyChroma, let planes = codedPlanes(source, size) { return try body(planes) }
        let color = ColorDescription(frame.pointee)
        let conversion = SampleConversion(fitting: source, color, to: format, color)
        guard sws_isSupportedInput(SampleFormats.withoutRange(source)) > 0,
            let converter = FrameConverter(conversion, width: size.width, height: size.height),
            let scratch = ScratchFrame(SampleFormats.libAV(format), width: size.width, height: size.height),
            converter.convert(frame, to: scratch.planes)
        else { throw MediaError(.unsupported, "\(name) has samples that cannot be converted") }
        try body(CodedPlanes(planes: PlaneView.planes(of: scratch.pointer), format, size: size))
    }

    /// The planes of the frame as they are coded; nil for formats that are not planar, and those of other byte orders.
    private func codedPlanes(_ format: AVPixelFormat, _ size: PixelRect) -> CodedPlanes? {
        guard let descriptor = av_pix_fmt_desc_get(format)?.pointee else { return nil }
        let unsuitable =
            AV_PIX_FMT_FLAG_BE | AV_PIX_FMT_FLAG_PAL | AV_PIX_FMT_FLAG_BITSTREAM | AV_PIX_FMT_FLAG_HWACCEL
            | AV_PIX_FMT_FLAG_FLOAT | AV_PIX_FMT_FLAG_ALPHA
        let planes = PlaneView.planes(of: frame)
        let isGray = descriptor.nb_components == 1
        guard descriptor.flags & UInt64(unsuitable) == 0, planes.count == (isGray ? 1 : 3),
            [1, 3].contains(descriptor.nb_components), descriptor.comp.0.shift == 0
        else { return nil }
        let chroma: Int
        switch (descriptor.log2_chroma_w, descriptor.log2_chroma_h) {
        case _ where isGray: chroma = 0
        case (0, 0): chroma = 3
        case (1, 0): chroma = 2
        case (1, 1): chroma = 1
        default: return nil
        }
        // libavutil's GBR has the planes of an identity matrix; that of JPEG states no matrix.
        let isRGB = descriptor.flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
        return CodedPlanes(
            planes: planes, bitDepth: Int(descriptor.comp.0.depth), chromaFormat: chroma, size: size,
            isRGB: isRGB && codec.pointer.pointee.codec_id == AV_CODEC_ID_MJPEG)
    }
}
