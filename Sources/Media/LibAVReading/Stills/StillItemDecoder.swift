// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
package import HWDHEIF
internal import HWDHEVC
internal import HWDLibAV
package import HWDMetadata
package import HWDModel
internal import HWImages

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

    /// Decodes one item and calls `body` with its planes in a planar format.
    ///
    /// - Throws: `badInput` where the data are damaged; what `body` throws.
    package func decode(
        _ data: [UInt8], as format: PixelFormat, _ body: (_ planes: [PlaneView], _ size: PixelRect) throws -> Void
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
        if SampleFormats.native(source) == format { return try body(PlaneView.planes(of: frame), size) }
        let color = ColorDescription(frame.pointee)
        let conversion = SampleConversion(fitting: source, color, to: format, color)
        guard sws_isSupportedInput(SampleFormats.withoutRange(source)) > 0,
            let converter = FrameConverter(conversion, width: size.width, height: size.height),
            let scratch = ScratchFrame(SampleFormats.libAV(format), width: size.width, height: size.height),
            converter.convert(frame, to: scratch.planes)
        else { throw MediaError(.unsupported, "\(name) has samples that cannot be converted") }
        try body(PlaneView.planes(of: scratch.pointer), size)
    }
}
