// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
public import HWDModel
public import HWDSessions

/// libavcodec's HEVC decoder as sessions use it: in software, or on a VA-API driver's surfaces.
///
/// Used by one thread at a time. In software its threads write into the session's memory themselves; surfaces are copied there.
public final class HEVCDecoder: PictureDecoder, @unchecked Sendable {
    /// How to decode.
    public struct Options: Sendable {
        /// Threads; 0 is one a processor.
        public var threads = 0
        /// Whether each picture is finished before the next one is begun.
        public var isRealTime = false
        /// The render node to decode on; nil is in software.
        public var device: String?
        /// The pictures' layout; nil is planar or semi-planar in the stream's own depth.
        public var target: PixelFormat?
        /// Whether chroma is interleaved where `target` does not say.
        public var isSemiPlanar = false
        /// Whether hardware's pictures may stay on the device, as `DecodedSurface`, until somebody wants their samples.
        public var keepsSurfaces = false

        /// In software, in its own layout, one thread a processor.
        public init() {}
    }

    private let state: DecoderState
    private let copier: PictureCopier
    private let keepsSurfaces: Bool
    private var context: UnsafeMutablePointer<AVCodecContext>?
    private var packet: UnsafeMutablePointer<AVPacket>?
    private var frame: UnsafeMutablePointer<AVFrame>?

    /// Calls in a row without a packet taken or a picture given, after which a decoder is given up.
    private static let maxFailures = 256

    /// Opens a decoder.
    ///
    /// - Throws: `CouldNotFindVideoDecoder` where this libavcodec has none, `VideoDecoderNotAvailableNow` when the
    ///   device does not open, `VideoDecoderBadData` for parameter sets it does not take, `AllocationFailed`.
    public init(
        _ format: StreamFormat, _ options: Options = Options(), memory: any PictureMemory
    ) throws(SessionError) {
        LibAVLog.install()
        copier = PictureCopier(memory: memory, target: options.target, isSemiPlanar: options.isSemiPlanar)
        let isHardware = options.device != nil
        keepsSurfaces = options.keepsSurfaces
        let isDirect = !isHardware && copier.format(ofDepth: format.bitDepth) == format.planarFormat
        state = DecoderState(
            buffers: isDirect ? DirectBuffers(memory: memory) : nil, wantsHardware: isHardware)
        guard let codec = avcodec_find_decoder(AV_CODEC_ID_HEVC) else {
            throw SessionError(.couldNotFindVideoDecoder, "this libavcodec has no HEVC decoder")
        }
        packet = av_packet_alloc()
        frame = av_frame_alloc()
        context = avcodec_alloc_context3(codec)
        guard let context, packet != nil, frame != nil else {
            throw SessionError(.allocationFailed, "no memory for a decoder")
        }
        try Self.setExtradata(format, context)
        // Real time: one picture after the other, each by several threads where it has slices or wavefronts for them.
        context.pointee.thread_count = isHardware ? 1 : Int32(options.threads)
        context.pointee.thread_type = options.isRealTime ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE
        context.pointee.max_pixels = Int64(2 * StreamFormat.maxLumaSamples)
        // The display window is exact even where that leaves its first sample unaligned.
        context.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
        clibav_thread_safe_callbacks(context)
        context.pointee.opaque = Unmanaged.passUnretained(state as LibAVListener).toOpaque()
        Self.setCallbacks(context)
        if let device = options.device { try Self.open(device, context) }
        let code = avcodec_open2(context, codec, nil)
        guard code >= 0 else {
            throw SessionError(
                .videoDecoderBadData, LibAVError("libavcodec's HEVC decoder does not open", code).description)
        }
    }

    deinit {
        avcodec_free_context(&context)
        av_packet_free(&packet)
        av_frame_free(&frame)
    }

    private static func setExtradata(
        _ format: StreamFormat, _ context: UnsafeMutablePointer<AVCodecContext>
    ) throws(SessionError) {
        let record: [UInt8]
        do throws(BitstreamError) { record = try format.record.bytes() } catch {
            throw SessionError(.videoDecoderBadData, "the format description is not possible: \(error.reason)")
        }
        guard let extra = av_mallocz(record.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
            throw SessionError(.allocationFailed, "no memory for a decoder")
        }
        extra.copyMemory(from: record, byteCount: record.count)
        context.pointee.extradata = extra.assumingMemoryBound(to: UInt8.self)
        context.pointee.extradata_size = Int32(record.count)
    }

    private static func setCallbacks(_ context: UnsafeMutablePointer<AVCodecContext>) {
        context.pointee.get_buffer2 = { context, frame, flags in
            guard let context, let frame, let opaque = context.pointee.opaque else { return clibav_error(ENOMEM) }
            let state = Unmanaged<DecoderState>.fromOpaque(opaque).takeUnretainedValue()
            state.begun(frame.pointee.pts, context)
            return state.buffers?.provide(context, frame, flags: flags)
                ?? avcodec_default_get_buffer2(context, frame, flags)
        }
        context.pointee.get_format = { context, formats in
            guard let context, let formats, let opaque = context.pointee.opaque else { return AV_PIX_FMT_NONE }
            return Unmanaged<DecoderState>.fromOpaque(opaque).takeUnretainedValue().choose(formats)
        }
    }

    private static func open(
        _ device: String, _ context: UnsafeMutablePointer<AVCodecContext>
    ) throws(SessionError) {
        var reference: UnsafeMutablePointer<AVBufferRef>?
        let code = av_hwdevice_ctx_create(&reference, AV_HWDEVICE_TYPE_VAAPI, device, nil, 0)
        guard code >= 0, let reference else {
            throw SessionError(
                .videoDecoderNotAvailableNow,
                LibAVError("\(device) does not open for decoding", code).description)
        }
        context.pointee.hw_device_ctx = reference
    }

    /// Why pictures are not decoded in hardware although a device was named.
    public var fallbackReason: String? { state.softwareReason }

    /// What the driver failed at since the last look, on streams that may be sound; nil when it did not.
    public func takeHardwareFailure() -> String? { state.takeHardwareFailure() }

    /// Takes a packet's base layer and gives the pictures that are ready.
    public func decode(
        _ input: DecoderInput, sequence: Int64, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        try decode(input.base, sequence: sequence, handler)
    }

    /// Takes NAL units with 4-byte lengths and gives the pictures that are ready.
    func decode(
        _ unit: [UInt8], sequence: Int64, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        guard let packet, av_new_packet(packet, Int32(clamping: unit.count)) >= 0, let data = packet.pointee.data
        else { throw SessionError(.allocationFailed, "no memory for a packet of \(unit.count) bytes") }
        UnsafeMutableRawPointer(data).copyMemory(from: unit, byteCount: unit.count)
        packet.pointee.pts = sequence
        packet.pointee.dts = sequence
        defer { av_packet_unref(packet) }
        state.sent(sequence)
        var failures = 0
        while true {
            let code = avcodec_send_packet(context, packet)
            if code < 0, code != clibav_again() {
                try fail("libavcodec refuses a packet", code)
            }
            let given = try receiveAll(handler)
            if code != clibav_again() { return }
            failures = given ? 0 : failures + 1
            guard failures < Self.maxFailures else {
                throw SessionError(.videoDecoderMalfunction, "the decoder makes no progress")
            }
        }
    }

    /// Gives every picture still inside; the next packet must be a key frame.
    public func finish(_ handler: DecoderEventHandler) throws(SessionError) {
        _ = avcodec_send_packet(context, nil)
        for _ in 0..<Self.maxFailures where !(try receiveAll(handler)) { break }
        avcodec_flush_buffers(context)
        try tell(handler)
    }

    /// Hands out what is there; false when nothing was.
    private func receiveAll(_ handler: DecoderEventHandler) throws(SessionError) -> Bool {
        var count = 0
        var failures = 0
        while let frame {
            let code = avcodec_receive_frame(context, frame)
            // What is wrong with a picture is told before the picture.
            try tell(handler)
            if code == clibav_again() || code == clibav_eof() { break }
            guard code >= 0 else {
                try fail("libavcodec cannot decode a picture", code)
                failures += 1
                guard failures < Self.maxFailures else {
                    throw SessionError(.videoDecoderMalfunction, "the decoder makes no progress")
                }
                continue
            }
            defer { av_frame_unref(frame) }
            count += 1
            state.ended(frame.pointee.pts)
            try give(frame, handler)
        }
        return count + failures > 0
    }

    private func fail(_ what: String, _ code: Int32) throws(SessionError) {
        if code == clibav_error(ENOMEM) {
            throw SessionError(.allocationFailed, LibAVError(what, code).description)
        }
        state.failed(LibAVError(what, code).description)
    }

    private func tell(_ handler: DecoderEventHandler) throws(SessionError) {
        for (sequence, text) in state.takeComplaints() {
            if let sequence { try handler(.damage(sequence, text)) }
        }
    }

    private func give(
        _ frame: UnsafeMutablePointer<AVFrame>, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        let isHardware = AVPixelFormat(rawValue: frame.pointee.format) == AV_PIX_FMT_VAAPI
        if state.wantsHardware, !isHardware, state.softwareReason == nil {
            state.softwareReason = "libavcodec decodes this stream in software"
        }
        if !isHardware, let buffers = state.buffers,
            let format = SampleFormats.native(AVPixelFormat(rawValue: frame.pointee.format)),
            copier.format(ofDepth: format.bitDepth) == format, let place = buffers.place(of: frame, format)
        {
            let picture = PictureCopier.describe(frame.pointee, format, place.slot.id, place.layout, false)
            guard let owner = FrameOwner(frame) else {
                throw SessionError(.allocationFailed, "no memory for a picture")
            }
            return try handler(.picture(picture, owner))
        }
        if isHardware, keepsSurfaces, let surface = DecodedSurface(frame, copier) {
            return try handler(.picture(surface.picture, surface))
        }
        let (picture, owner) =
            isHardware ? try copier.download(frame) : try copier.convert(frame, isHardware: false)
        try handler(.picture(picture, owner))
    }
}

/// Keeps a decoder's picture where it is.
final class FrameOwner: @unchecked Sendable {
    // Only ever freed, by whichever thread lets go last.
    private var frame: UnsafeMutablePointer<AVFrame>?

    /// A further reference to what `source` refers to; nil when memory ran out.
    init?(_ source: UnsafePointer<AVFrame>) {
        guard let frame = av_frame_clone(source) else { return nil }
        self.frame = frame
    }

    deinit { av_frame_free(&frame) }
}
