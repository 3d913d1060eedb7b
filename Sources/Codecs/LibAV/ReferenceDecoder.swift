// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDModel

/// A decoded picture: planar 4:2:0 samples without gaps between rows, one in each 16-bit word.
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

/// The luma of a decoded picture, where the decoder has it.
public struct DecodedLuma {
    /// Samples a row.
    public let width: Int
    public let height: Int
    /// Bits of a sample, 8 or 10; 10 bits are in words of 16.
    public let bitDepth: Int
    /// The first sample; valid until the decoder's next call.
    public let base: UnsafeRawPointer
    /// Bytes from one row to the next.
    public let stride: Int
}

/// A decoder of libavcodec on one thread, in software or on a node's hardware: verifies encoders and hardware decoders.
public final class ReferenceDecoder {
    private let codec: CodecContext
    private let packet: PacketOwner
    private let frame: FrameOwner
    private let interface: CodecInterface?
    /// The copy of a surface; nil in software.
    private let copy: FrameOwner?

    /// libavcodec's version (`59.37.100`).
    public static var libraryVersion: String {
        let version = avcodec_version()
        return "\(version >> 16).\(version >> 8 & 0xff).\(version & 0xff)"
    }

    /// Whether this libavcodec has the HEVC decoder; some are built without.
    public static var isAvailable: Bool { avcodec_find_decoder(AV_CODEC_ID_HEVC) != nil }

    /// The path of the libavcodec that is loaded; nil where the system does not provide it.
    public static var libraryFile: String? { LoadedLibrary.path(of: "libavcodec.so") }

    /// Opens a decoder.
    ///
    /// - Parameters:
    ///   - codec: `hevc` for length-prefixed NAL units, `h264` for a byte stream, `vp9`, `av1`.
    ///   - record: the hvcC record (ISO/IEC 14496-15, 8.3.3.1) with the parameter sets, less than 1 MiB; empty for others.
    ///   - node: the render node whose VA-API driver is to decode, or the node of NVIDIA's card; nil for software. There is no
    ///     fallback.
    public init(codec name: String = "hevc", record: [UInt8], node: String? = nil) throws(LibAVError) {
        LibAVLog.install()
        let interface = node.map(CodecInterface.init(node:))
        guard let decoder = Self.decoder(name, interface) else {
            throw LibAVError(
                "this libavcodec has no decoder of \(name)\(interface.map { " with \($0.decoderName)" } ?? "")")
        }
        guard let codec = CodecContext(decoder), let packet = PacketOwner(), let frame = FrameOwner(),
            record.count < 1 << 20, record.isEmpty || codec.setExtradata(record)
        else { throw LibAVError("no memory for a decoder") }
        (self.codec, self.packet, self.frame) = (codec, packet, frame)
        codec.pointer.pointee.thread_count = 1
        self.interface = interface
        if let node {
            copy = FrameOwner()
            guard copy != nil else { throw LibAVError("no memory for a decoder") }
            try codec.openDevice(node, failure: "libavcodec cannot use \(node)")
            codec.pointer.pointee.get_format = clibav_only_surfaces
        } else {
            copy = nil
        }
        // A damaged picture must fail instead of being concealed.
        codec.pointer.pointee.err_recognition = Int32(AV_EF_EXPLODE | AV_EF_CAREFUL)
        let code = codec.open(decoder)
        guard code >= 0 else { throw LibAVError("libavcodec's decoder of \(name) does not open", code) }
    }

    /// The preferred decoder, or the one that uses an interface; nil where there is none.
    private static func decoder(_ name: String, _ interface: CodecInterface?) -> UnsafePointer<AVCodec>? {
        let ids = [
            "hevc": AV_CODEC_ID_HEVC, "h264": AV_CODEC_ID_H264, "vp9": AV_CODEC_ID_VP9, "av1": AV_CODEC_ID_AV1,
        ]
        guard let id = ids[name] else { return nil }
        guard let interface else { return avcodec_find_decoder(id) }
        // The preferred decoder of AV1 is another library's, which has no hardware.
        var place: UnsafeMutableRawPointer?
        while let codec = av_codec_iterate(&place) {
            if codec.pointee.id == id, av_codec_is_decoder(codec) != 0, uses(interface, codec) { return codec }
        }
        return nil
    }

    private static func uses(_ interface: CodecInterface, _ codec: UnsafePointer<AVCodec>) -> Bool {
        var index: Int32 = 0
        while let configuration = avcodec_get_hw_config(codec, index) {
            if configuration.pointee.device_type == interface.deviceType { return true }
            index += 1
        }
        return false
    }

    /// Decodes one access unit; returns the pictures that are ready, in output order.
    ///
    /// - Parameter unit: of HEVC, NAL units with 4-byte lengths.
    public func decode(_ unit: [UInt8]) throws(LibAVError) -> [DecodedPicture] {
        var pictures: [DecodedPicture] = []
        try send(unit) { () throws(LibAVError) in pictures.append(try picture()) }
        return pictures
    }

    /// Returns every picture still inside; the decoder cannot be used afterwards.
    public func finish() throws(LibAVError) -> [DecodedPicture] {
        var pictures: [DecodedPicture] = []
        try send(nil) { () throws(LibAVError) in pictures.append(try picture()) }
        return pictures
    }

    /// Decodes one access unit in software and passes the luma of the pictures that are ready, in output order, without a copy.
    ///
    /// - Parameter unit: nil for every picture still inside; the decoder cannot be used afterwards.
    public func decodeLuma(_ unit: [UInt8]?, _ body: (DecodedLuma) -> Void) throws(LibAVError) {
        try send(unit) { () throws(LibAVError) in body(try DecodedLuma(frame.pointer)) }
    }

    private func send(_ unit: [UInt8]?, _ take: () throws(LibAVError) -> Void) throws(LibAVError) {
        guard let unit else { return try send(packet: nil, take) }
        guard packet.fill(unit) else { throw LibAVError("no memory for a packet") }
        defer { av_packet_unref(packet.pointer) }
        try send(packet: packet.pointer, take)
    }

    private func send(
        packet: UnsafeMutablePointer<AVPacket>?, _ take: () throws(LibAVError) -> Void
    ) throws(LibAVError) {
        switch codec.send(packet) {
        case .taken: break
        case .full: throw LibAVError("libavcodec refuses a packet", clibav_again())
        case .failed(let code): throw failure("libavcodec refuses a packet", code)
        }
        while true {
            switch codec.receive(frame.pointer) {
            case .needsInput, .ended: return
            case .failed(let code): throw failure("libavcodec cannot decode a picture", code)
            case .frame:
                defer { av_frame_unref(frame.pointer) }
                try take()
            }
        }
    }

    private func failure(_ what: String, _ code: Int32) -> LibAVError {
        interface == .nvidia ? NVDEC.error(what, code) : LibAVError(what, code)
    }

    /// The samples of the received frame, copied from its surface where it has one.
    private func picture() throws(LibAVError) -> DecodedPicture {
        guard let copy else { return try DecodedPicture(frame.pointer) }
        guard frame.pointer.pointee.format == interface?.surfaceFormat.rawValue else {
            throw LibAVError("libavcodec decoded in software where hardware was required")
        }
        defer { av_frame_unref(copy.pointer) }
        let code = av_hwframe_transfer_data(copy.pointer, frame.pointer, 0)
        guard code >= 0 else { throw LibAVError("libavcodec cannot read a surface", code) }
        // Surfaces may be larger than the picture; av_frame_apply_cropping has applied the window's offset.
        copy.pointer.pointee.width = frame.pointer.pointee.width
        copy.pointer.pointee.height = frame.pointer.pointee.height
        return try DecodedPicture(copy.pointer)
    }
}

extension DecodedPicture {
    /// The samples of a frame in main memory.
    fileprivate init(_ frame: UnsafePointer<AVFrame>) throws(LibAVError) {
        let form = try SampleForm(AVPixelFormat(rawValue: frame.pointee.format))
        let views = PlaneView.planes(of: frame)
        guard views.count >= (form.isSemiPlanar ? 2 : 3) else {
            throw LibAVError("libavcodec returned a picture without samples")
        }
        (width, height) = (Int(frame.pointee.width), Int(frame.pointee.height))
        bitDepth = form.depth
        let (width, height) = (width, height)
        planes = (0..<3).map { component in
            form.samples(
                of: component, in: views, columns: component == 0 ? width : (width + 1) / 2,
                rows: component == 0 ? height : (height + 1) / 2)
        }
    }
}

extension DecodedLuma {
    /// The luma of a frame in main memory.
    fileprivate init(_ frame: UnsafePointer<AVFrame>) throws(LibAVError) {
        let form = try SampleForm(AVPixelFormat(rawValue: frame.pointee.format))
        guard form.shift == 0, let plane = PlaneView.planes(of: frame).first else {
            throw LibAVError("libavcodec returned a picture without samples")
        }
        (width, height) = (Int(frame.pointee.width), Int(frame.pointee.height))
        (bitDepth, base, stride) = (form.depth, plane.base, plane.stride)
    }
}

/// The memory layout of a decoder's samples.
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
        default: throw LibAVError("libavcodec returned pictures of an unexpected format (\(format.rawValue))")
        }
    }

    /// The samples of Y (0), Cb (1) or Cr (2).
    func samples(of component: Int, in planes: [PlaneView], columns: Int, rows: Int) -> [UInt16] {
        let bytes = depth > 8 ? 2 : 1
        let isInterleaved = isSemiPlanar && component > 0
        let plane = planes[isInterleaved ? 1 : component]
        let start = plane.base + (isInterleaved && component == 2 ? bytes : 0)
        let step = isInterleaved ? 2 * bytes : bytes
        return [UInt16](unsafeUninitializedCapacity: columns * rows) { buffer, count in
            for row in 0..<rows {
                let line = start + row * plane.stride
                for column in 0..<columns {
                    buffer[row * columns + column] =
                        depth == 8
                        ? UInt16(line.load(fromByteOffset: column * step, as: UInt8.self))
                        : line.loadUnaligned(fromByteOffset: column * step, as: UInt16.self) >> shift
                }
            }
            count = columns * rows
        }
    }
}
