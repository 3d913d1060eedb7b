// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc

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
        description =
            "\(what): \(text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } ?? "" })"
    }
}

/// libavcodec's HEVC decoder on one thread, in software or on a node's hardware: an outside judge of what an encoder wrote.
public final class ReferenceDecoder {
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private var frame: UnsafeMutablePointer<AVFrame>?
    /// Where surfaces are copied to.
    private var copy: UnsafeMutablePointer<AVFrame>?
    private let isHardware: Bool

    /// libavcodec's version (`59.37.100`).
    public static var libraryVersion: String {
        let version = avcodec_version()
        return "\(version >> 16).\(version >> 8 & 0xff).\(version & 0xff)"
    }

    /// Whether this libavcodec has the decoder; some are built without.
    public static var isAvailable: Bool { avcodec_find_decoder(AV_CODEC_ID_HEVC) != nil }

    /// Opens a decoder for length-prefixed NAL units.
    ///
    /// - Parameters:
    ///   - record: the hvcC record (ISO/IEC 14496-15, 8.3.3.1) with the parameter sets.
    ///   - node: the render node whose VA-API driver is to decode; nil for software. There is no fallback.
    public init(record: [UInt8], node: String? = nil) throws(LibAVError) {
        av_log_set_level(AV_LOG_QUIET)
        isHardware = node != nil
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
        if let node {
            copy = av_frame_alloc()
            guard copy != nil else { throw LibAVError("no memory for a decoder") }
            let code = av_hwdevice_ctx_create(&context.pointee.hw_device_ctx, AV_HWDEVICE_TYPE_VAAPI, node, nil, 0)
            guard code >= 0 else { throw LibAVError("libavcodec cannot use \(node)", code) }
            context.pointee.get_format = clibav_only_vaapi
        }
        // A damaged picture is a failure, not something to be concealed.
        context.pointee.err_recognition = Int32(AV_EF_EXPLODE | AV_EF_CAREFUL)
        let code = avcodec_open2(context, codec, nil)
        guard code >= 0 else { throw LibAVError("libavcodec's HEVC decoder does not open", code) }
    }

    deinit {
        avcodec_free_context(&context)
        av_packet_free(&packet)
        av_frame_free(&frame)
        av_frame_free(&copy)
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
            pictures.append(try isHardware ? download(frame) : Self.picture(frame.pointee))
        }
        return pictures
    }

    /// Copies a surface's samples to memory.
    private func download(_ surface: UnsafeMutablePointer<AVFrame>) throws(LibAVError) -> DecodedPicture {
        guard surface.pointee.format == AV_PIX_FMT_VAAPI.rawValue, let copy else {
            throw LibAVError("libavcodec decoded in software where hardware was wanted")
        }
        defer { av_frame_unref(copy) }
        let code = av_hwframe_transfer_data(copy, surface, 0)
        guard code >= 0 else { throw LibAVError("libavcodec cannot read a surface", code) }
        // Surfaces may be larger than the picture; av_frame_apply_cropping has seen to the offset.
        copy.pointee.width = surface.pointee.width
        copy.pointee.height = surface.pointee.height
        return try Self.picture(copy.pointee)
    }

    private static func picture(_ frame: AVFrame) throws(LibAVError) -> DecodedPicture {
        let (width, height) = (Int(frame.width), Int(frame.height))
        let data = [frame.data.0, frame.data.1, frame.data.2]
        let strides = [frame.linesize.0, frame.linesize.1, frame.linesize.2].map(Int.init)
        let form = try SampleForm(AVPixelFormat(rawValue: frame.format))
        var planes: [[UInt16]] = []
        for plane in 0..<3 {
            let source = form.isSemiPlanar ? min(plane, 1) : plane
            guard let start = data[source] else { throw LibAVError("libavcodec gave a picture without samples") }
            let columns = plane == 0 ? width : (width + 1) / 2
            let rows = plane == 0 ? height : (height + 1) / 2
            let bytes = form.depth > 8 ? 2 : 1
            let isChromaPair = form.isSemiPlanar && plane > 0
            let first = isChromaPair && plane == 2 ? bytes : 0
            planes.append(
                Self.samples(
                    UnsafeRawPointer(start) + first, stride: strides[source],
                    step: isChromaPair ? 2 * bytes : bytes,
                    columns: columns, rows: rows, form))
        }
        return DecodedPicture(width: width, height: height, bitDepth: form.depth, planes: planes)
    }

    private static func samples(
        _ start: UnsafeRawPointer, stride: Int, step: Int, columns: Int, rows: Int, _ form: SampleForm
    ) -> [UInt16] {
        [UInt16](unsafeUninitializedCapacity: columns * rows) { buffer, count in
            for row in 0..<rows {
                let line = start + row * stride
                for column in 0..<columns {
                    buffer[row * columns + column] =
                        form.depth == 8
                        ? UInt16(line.load(fromByteOffset: column * step, as: UInt8.self))
                        : line.loadUnaligned(fromByteOffset: column * step, as: UInt16.self) >> form.shift
                }
            }
            count = columns * rows
        }
    }

    /// How a decoder's samples lie in memory.
    private struct SampleForm {
        let depth: Int
        var isSemiPlanar = false
        /// Bits below the value.
        var shift: UInt16 = 0

        init(_ format: AVPixelFormat) throws(LibAVError) {
            switch format {
            case AV_PIX_FMT_YUV420P, AV_PIX_FMT_YUVJ420P: depth = 8
            case AV_PIX_FMT_YUV420P10LE: depth = 10
            case AV_PIX_FMT_NV12: (depth, isSemiPlanar) = (8, true)
            case clibav_p010(): (depth, isSemiPlanar, shift) = (10, true, 6)
            default: throw LibAVError("libavcodec gave pictures of an unexpected format (\(format.rawValue))")
            }
        }
    }

    /// The file libavcodec was loaded from; nil where the system does not tell.
    public static var libraryFile: String? {
        let file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 14)
        while text.count < 1 << 22 {
            let count = read(file, &buffer, buffer.count)
            if count <= 0 { break }
            text += buffer.prefix(count)
        }
        for line in text.split(separator: UInt8(ascii: "\n")) {
            guard let slash = line.firstIndex(of: UInt8(ascii: "/")) else { continue }
            let path = String(decoding: line[slash...], as: UTF8.self)
            if path.split(separator: "/").last?.hasPrefix("libavcodec.so") == true { return path }
        }
        return nil
    }
}
