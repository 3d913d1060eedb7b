// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import CHWDPixels
internal import HWDCoding
internal import HWDLibAV
internal import HWDModel
internal import HWDPolicy

/// An open `hevc_nvenc` of libavcodec: takes frames in presentation order and returns packets in coding order.
final class NVENCContext {
    let settings: NVENCSettings
    let pictures: NVENCSettings.Pictures
    private let codec: CodecContext
    private let frame: FrameOwner
    private let packet: PacketOwner
    private let filling: hwd_frame_filling

    private static let name = "hevc_nvenc"

    /// Whether this libavcodec has the encoder, and can continue with it after a flush.
    static var isAvailable: Bool {
        guard let codec = avcodec_find_encoder_by_name(name) else { return false }
        return codec.pointee.capabilities & AV_CODEC_CAP_ENCODER_FLUSH != 0
    }

    /// The parameter sets, a byte stream.
    var parameterSets: [UInt8] {
        let context = codec.pointer.pointee
        guard let data = context.extradata, context.extradata_size > 0 else { return [] }
        return Array(UnsafeBufferPointer(start: data, count: Int(context.extradata_size)))
    }

    /// Opens NVENC on a card.
    init(
        _ node: String, _ settings: NVENCSettings, _ pictures: NVENCSettings.Pictures
    ) throws(NVENCFailure) {
        LibAVLog.install()
        (self.settings, self.pictures) = (settings, pictures)
        let (request, format) = (settings.request, settings.request.pixelFormat)
        filling = hwd_frame_filling(
            bytes: Int32(format.bytesPerSample), low: format == .i010, planar: !format.isSemiPlanar,
            deep: settings.bitDepth > 8, width: Int32(request.width), height: Int32(request.height),
            full_width: Int32(settings.size.width), full_height: Int32(settings.size.height))
        do throws(LibAVError) {
            guard let encoder = avcodec_find_encoder_by_name(Self.name), Self.isAvailable else {
                throw LibAVError("this libavcodec has no \(Self.name) that can be flushed")
            }
            guard let codec = CodecContext(encoder), let frame = FrameOwner(), let packet = PacketOwner() else {
                throw LibAVError("no memory for an encoder")
            }
            (self.codec, self.frame, self.packet) = (codec, frame, packet)
            try codec.openDevice(node, failure: "libavcodec cannot use \(node)")
            try Self.configure(codec, settings, pictures)
            LibAVLog.forget()
            let code = codec.open(encoder)
            guard code >= 0 else { throw LibAVError("libavcodec's \(Self.name) does not open", code) }
        } catch { throw NVENCFailure(error, LibAVLog.errors) }
    }

    private static func configure(
        _ codec: CodecContext, _ settings: NVENCSettings, _ pictures: NVENCSettings.Pictures
    ) throws(LibAVError) {
        let context = codec.pointer
        context.pointee.width = Int32(settings.size.width)
        context.pointee.height = Int32(settings.size.height)
        context.pointee.pix_fmt = settings.bitDepth > 8 ? clibav_p010() : AV_PIX_FMT_NV12
        // Frames are counted; their times stay with the session.
        context.pointee.framerate = AVRational(
            num: Int32(settings.frameRate.numerator), den: Int32(settings.frameRate.denominator))
        context.pointee.time_base = AVRational(
            num: Int32(settings.frameRate.denominator), den: Int32(settings.frameRate.numerator))
        context.pointee.flags |= AV_CODEC_FLAG_GLOBAL_HEADER
        context.pointee.gop_size = settings.keyFrameInterval > 1 ? Int32(clamping: settings.keyFrameInterval) : 0
        context.pointee.max_b_frames = Int32(pictures.bPictures)
        try codec.setOption("preset", settings.preset)
        try codec.setOption("tune", settings.isLowLatency ? "ll" : "hq")
        try codec.setOption("profile", settings.bitDepth > 8 ? "main10" : "main")
        try codec.setOption("level", "\(settings.level)")
        try codec.setOption("tier", settings.isHighTier ? "high" : "main")
        try codec.setOption("b_ref_mode", pictures == .pyramid ? "middle" : "disabled")
        try codec.setOption("forced-idr", "1")
        try codec.setOption("delay", "\(settings.delay)")
        if settings.isLowLatency { try codec.setOption("zerolatency", "1") }
        // The session writes its own messages.
        for name in ["a53cc", "s12m_tc", "extra_sei", "udu_sei"] { try codec.setOption(name, "0") }
        try setRate(codec, settings)
    }

    private static func setRate(_ codec: CodecContext, _ settings: NVENCSettings) throws(LibAVError) {
        let rate = settings.rate
        apply(rate, to: codec)
        try codec.setOption("rc", rate.mode == .quality ? "vbr" : rate.mode.rawValue)
        if rate.mode == .quality { try codec.setOption("cq", "\(rate.level)") }
        guard rate.mode != .constantQP else {
            let qps = settings.constantQPs
            try codec.setOption("init_qpI", "\(qps.i)")
            try codec.setOption("init_qpP", "\(qps.p)")
            try codec.setOption("init_qpB", "\(qps.b)")
            return
        }
        guard let bounds = settings.bounds else { return }
        (codec.pointer.pointee.qmin, codec.pointer.pointee.qmax) = (Int32(bounds.low), Int32(bounds.high))
        // Else rate control begins near the lower bound.
        let first = min(max(NVENCSettings.middleQP, bounds.low), bounds.high)
        for name in ["init_qpI", "init_qpP", "init_qpB"] { try codec.setOption(name, "\(first)") }
    }

    private static func apply(_ rate: NVENCSettings.Rate, to codec: CodecContext) {
        codec.pointer.pointee.bit_rate = rate.target
        codec.pointer.pointee.rc_max_rate = rate.peak
        codec.pointer.pointee.rc_buffer_size = rate.buffer
    }

    /// Sets the rates from the next frame on, which libavcodec passes to NVENC with that frame.
    ///
    /// libavcodec ignores this without a message where NVENC cannot change rates while it codes
    /// (NV_ENC_CAPS_SUPPORT_DYN_BITRATE_CHANGE), and does not report whether it can.
    func change(_ rate: NVENCSettings.Rate) { Self.apply(rate, to: codec) }

    /// Encodes a frame.
    ///
    /// - Parameters:
    ///   - number: names the picture that `receive` returns.
    ///   - isKeyFrame: whether to code it as an IDR picture.
    func send(_ planes: [PlaneView], number: Int, isKeyFrame: Bool) throws(SessionError) {
        try prepareFrame()
        let picture = frame.pointer
        guard let luma = picture.pointee.data.0, let chroma = picture.pointee.data.1 else {
            throw SessionError(.allocationFailed, "no memory for a frame")
        }
        let sources = planes.map {
            hwd_plane(base: $0.base.assumingMemoryBound(to: UInt8.self), stride: $0.stride)
        }
        withUnsafePointer(to: filling) {
            hwd_fill_frame(
                $0, sources, hwd_mutable_plane(base: luma, stride: Int(picture.pointee.linesize.0)),
                hwd_mutable_plane(base: chroma, stride: Int(picture.pointee.linesize.1)))
        }
        picture.pointee.pts = Int64(number)
        picture.pointee.pict_type = isKeyFrame ? AV_PICTURE_TYPE_I : AV_PICTURE_TYPE_NONE
        LibAVLog.forget()
        switch codec.encode(picture) {
        case .taken: break
        case .full: throw SessionError(.videoEncoderMalfunction, "libavcodec refuses a frame")
        case .failed(let code): throw Self.error(code)
        }
        // libavcodec continues at the old rate then.
        if LibAVLog.errors.contains(where: { $0.contains("failed to reconfigure nvenc") }) {
            throw SessionError(.videoEncoderMalfunction, "NVENC does not take another rate")
        }
    }

    /// Makes the frame one that nobody else reads, without copying what was in it.
    private func prepareFrame() throws(SessionError) {
        let picture = frame.pointer
        if picture.pointee.buf.0 != nil, av_frame_is_writable(picture) > 0 { return }
        av_frame_unref(picture)
        picture.pointee.format = codec.pointer.pointee.pix_fmt.rawValue
        picture.pointee.width = codec.pointer.pointee.width
        picture.pointee.height = codec.pointer.pointee.height
        guard av_frame_get_buffer(picture, 0) >= 0 else {
            throw SessionError(.allocationFailed, "no memory for a frame")
        }
    }

    /// Passes each packet that is ready, with its frame's number.
    func receive(_ body: (Int, UnsafeRawBufferPointer) throws(SessionError) -> Void) throws(SessionError) {
        while true {
            switch codec.receive(packet.pointer) {
            case .needsInput, .ended: return
            case .failed(let code): throw Self.error(code)
            case .frame:
                defer { av_packet_unref(packet.pointer) }
                let data = packet.pointer.pointee
                let bytes = UnsafeRawBufferPointer(start: data.data, count: Int(max(data.size, 0)))
                try body(Int(clamping: data.pts), bytes)
            }
        }
    }

    /// Passes every packet still inside; frames may follow, of which the first must be a key frame.
    func finish(_ body: (Int, UnsafeRawBufferPointer) throws(SessionError) -> Void) throws(SessionError) {
        if case .failed(let code) = codec.encode(nil) { throw Self.error(code) }
        try receive(body)
        avcodec_flush_buffers(codec.pointer)
    }

    private static func error(_ code: Int32) -> SessionError {
        let reason = NVENCFinding(LibAVLog.errors)?.text
        return SessionError(
            .videoEncoderMalfunction,
            reason.map { "NVENC failed: \($0)" } ?? LibAVError("NVENC failed", code).description)
    }
}
