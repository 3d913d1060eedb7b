// SPDX-License-Identifier: GPL-2.0-or-later
internal import CLibAV

/// A picture that a decoder gave: planar 4:2:0 samples, rows packed, one to a 16-bit word whatever their depth.
public struct DecodedPicture: Hashable, Sendable {
    /// Luma samples a row.
    public let width: Int
    /// Rows of luma samples.
    public let height: Int
    /// Bits of a sample, 8 or 10.
    public let bitDepth: Int
    /// Luma, Cb, Cr; chroma planes have half the width and height, rounded up.
    public let planes: [[UInt16]]
}

/// What libavcodec said against a stream, or against being used.
public struct LibAVError: Error, Hashable, Sendable, CustomStringConvertible {
    /// A sentence without its full stop.
    public let description: String

    init(_ what: String, _ code: Int32 = 0) {
        guard code < 0 else {
            description = what
            return
        }
        var text = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
        clibav_error_text(code, &text, text.count)
        description = "\(what): \(text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" })"
    }
}

/// libavcodec's own HEVC decoder, in software, on one thread: an outside judge of what an encoder wrote.
public final class HEVCDecoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private var frame: UnsafeMutablePointer<AVFrame>?

    /// libavcodec's version (`59.37.100`).
    public static var libraryVersion: String {
        let version = avcodec_version()
        return "\(version >> 16).\(version >> 8 & 0xff).\(version & 0xff)"
    }

    /// Whether this libavcodec has the decoder; some are built without.
    public static var isAvailable: Bool { avcodec_find_decoder(AV_CODEC_ID_HEVC) != nil }

    /// Opens a decoder for length-prefixed NAL units.
    ///
    /// - Parameter record: the hvcC record (ISO/IEC 14496-15, 8.3.3.1) with the parameter sets.
    public init(record: [UInt8]) throws(LibAVError) {
        av_log_set_level(AV_LOG_QUIET)
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_HEVC) else {
            throw LibAVError("this libavcodec has no HEVC decoder")
        }
        context = avcodec_alloc_context3(codec)
        packet = av_packet_alloc()
        frame = av_frame_alloc()
        let padding = Int(AV_INPUT_BUFFER_PADDING_SIZE)
        guard let context, packet != nil, frame != nil, record.count < 1 << 20,
            let extra = av_mallocz(record.count + padding)
        else { throw LibAVError("no memory for a decoder") }
        extra.copyMemory(from: record, byteCount: record.count)
        context.pointee.extradata = extra.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(record.count)
        context.pointee.thread_count = 1
        // A damaged picture is a failure, not something to be concealed.
        context.pointee.err_recognition = Int32(AV_EF_EXPLODE | AV_EF_CAREFUL)
        let code = avcodec_open2(context, codec, nil)
        guard code >= 0 else { throw LibAVError("libavcodec's HEVC decoder does not open", code) }
    }

    deinit {
        avcodec_free_context(&context)
        av_packet_free(&packet)
        av_frame_free(&frame)
    }

    /// Decodes one access unit; gives the pictures that are ready, in output order.
    ///
    /// - Parameter unit: its NAL units with 4-byte lengths.
    public func decode(_ unit: [UInt8]) throws(LibAVError) -> [DecodedPicture] {
        guard let packet, av_new_packet(packet, Int32(clamping: unit.count)) >= 0, let data = packet.pointee.data
        else { throw LibAVError("no memory for a packet") }
        UnsafeMutableRawPointer(data).copyMemory(from: unit, byteCount: unit.count)
        defer { av_packet_unref(packet) }
        return try send(packet)
    }

    /// Gives every picture still inside; nothing is decoded afterwards.
    public func finish() throws(LibAVError) -> [DecodedPicture] { try send(nil) }

    private func send(_ packet: UnsafeMutablePointer<AVPacket>?) throws(LibAVError) -> [DecodedPicture] {
        let sent = avcodec_send_packet(context, packet)
        guard sent >= 0 else { throw LibAVError("libavcodec refuses a packet", sent) }
        var pictures: [DecodedPicture] = []
        while let frame {
            let code = avcodec_receive_frame(context, frame)
            if code == clibav_again() || code == clibav_eof() { break }
            guard code >= 0 else { throw LibAVError("libavcodec cannot decode a picture", code) }
            defer { av_frame_unref(frame) }
            pictures.append(try Self.picture(frame.pointee))
        }
        return pictures
    }

    private static func picture(_ frame: AVFrame) throws(LibAVError) -> DecodedPicture {
        let depth: Int
        switch AVPixelFormat(rawValue: frame.format) {
        case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: depth = 8
        case AV_PIX_FMT_YUV420P10LE: depth = 10
        default: throw LibAVError("libavcodec gave pictures of an unexpected format (\(frame.format))")
        }
        let (width, height) = (Int(frame.width), Int(frame.height))
        let data = [frame.data.0, frame.data.1, frame.data.2]
        let strides = [frame.linesize.0, frame.linesize.1, frame.linesize.2].map(Int.init)
        var planes: [[UInt16]] = []
        for plane in 0..<3 {
            guard let start = data[plane] else { throw LibAVError("libavcodec gave a picture without samples") }
            let columns = plane == 0 ? width : (width + 1) / 2
            var samples: [UInt16] = []
            for row in 0..<(plane == 0 ? height : (height + 1) / 2) {
                let line = UnsafeRawPointer(start) + row * strides[plane]
                for column in 0..<columns {
                    samples.append(
                        depth == 8
                            ? UInt16(line.load(fromByteOffset: column, as: UInt8.self))
                            : line.loadUnaligned(fromByteOffset: 2 * column, as: UInt16.self))
                }
            }
            planes.append(samples)
        }
        return DecodedPicture(width: width, height: height, bitDepth: depth, planes: planes)
    }
}
