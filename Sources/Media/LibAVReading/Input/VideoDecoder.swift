// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel
internal import Synchronization

/// The state of libavcodec's callbacks, referenced by `AVCodecContext.opaque`.
final class DecoderHooks: LibAVListener, @unchecked Sendable {
    /// Counts the decoder's error messages.
    let tally: ErrorTally
    private let callerBuffers = Mutex<DirectBuffers?>(nil)

    init(_ tally: ErrorTally) { self.tally = tally }

    override func handleMessage(_ message: String, from source: UnsafeMutableRawPointer) {
        tally.handleMessage(message, from: source)
    }

    /// The caller's picture buffers; nil for libavcodec's own.
    var buffers: DirectBuffers? {
        get { callerBuffers.withLock { $0 } }
        set { callerBuffers.withLock { $0 = newValue } }
    }
}

/// A stream's decoder: packets in, pictures out in presentation order.
final class VideoDecoder {
    private let codec: CodecContext
    private var context: UnsafeMutablePointer<AVCodecContext> { codec.pointer }
    private let hooks: DecoderHooks
    /// The color that the last PNG picture stated, which those of a series share.
    private var pngColor: PNGColor?

    /// The most luma samples of a picture; bounds what a damaged header makes libavcodec allocate.
    static let maxSamples = 1 << 28
    /// The most samples per row, and the most rows; HEVC's level 6.2 stays below 8,444 for usual aspect ratios.
    static let maxDimension = 16_384

    /// Refuses pictures that are too large for memory.
    static func checkSize(width: Int, height: Int, _ path: String) throws(MediaError) {
        guard width <= maxDimension, height <= maxDimension, width * height <= maxSamples else {
            throw MediaError(
                .badInput,
                "\(path): a picture of \(width)x\(height) is too large: the limit is \(maxDimension) on each side")
        }
    }

    /// Opens a decoder for a stream; 0 threads is one per core.
    init(
        _ codec: UnsafePointer<AVCodec>, _ stream: AVStream, threads: Int, hooks: DecoderHooks, path: String
    ) throws(MediaError) {
        guard let owner = CodecContext(codec) else { throw MediaError(.io, "\(path): out of memory") }
        self.codec = owner
        self.hooks = hooks
        guard avcodec_parameters_to_context(context, stream.codecpar) >= 0 else {
            throw MediaError(.badInput, "\(path): the video stream's parameters are damaged")
        }
        context.pointee.pkt_timebase = stream.time_base
        context.pointee.framerate = stream.avg_frame_rate
        context.pointee.thread_count = Int32(clamping: max(0, threads))
        context.pointee.thread_type = FF_THREAD_FRAME | FF_THREAD_SLICE
        owner.configureDecoding(maxPixels: Self.maxSamples, listener: hooks)
        installCallback()
        let code = owner.open(codec)
        guard code >= 0 else {
            let name = String(cString: codec.pointee.name)
            let reason = "\(path): the \(name) decoder cannot be opened: \(MediaError.text(ofLibAV: code))"
            throw MediaError(.badInput, LibAVLog.explain(reason))
        }
    }

    private func installCallback() {
        context.pointee.get_buffer2 = { context, frame, flags in
            guard let context, let frame else { return clibav_error(ENOMEM) }
            let hooks = context.pointee.opaque.map { Unmanaged<DecoderHooks>.fromOpaque($0).takeUnretainedValue() }
            guard let buffers = hooks?.buffers else { return avcodec_default_get_buffer2(context, frame, flags) }
            return buffers.provide(context, frame, flags: flags)
        }
    }

    /// Decodes subsequent pictures into `memory`.
    func use(_ memory: any FrameMemory) { hooks.buffers = DirectBuffers(memory: memory) }

    /// Sends a packet; nil ends the stream.
    func send(_ packet: UnsafeMutablePointer<AVPacket>?) -> CodecContext.SendResult {
        if let packet, isPNG { pngColor = PNGColor(packet.pointee) ?? pngColor }
        return codec.send(packet)
    }

    /// Moves the next picture, if there is one, into `frame`.
    func receive(_ frame: UnsafeMutablePointer<AVFrame>) -> CodecContext.ReceiveResult {
        let result = codec.receive(frame)
        if case .frame = result, let pngColor { pngColor.write(to: frame) }
        return result
    }

    private var isPNG: Bool { [AV_CODEC_ID_PNG, AV_CODEC_ID_APNG].contains(context.pointee.codec_id) }

    /// The slot that a picture was decoded into, with the position of its display window; nil if it is elsewhere.
    func direct(_ frame: UnsafePointer<AVFrame>, _ format: PixelFormat) -> DirectFrame? {
        hooks.buffers?.place(of: frame, format).map { DirectFrame(slot: $0.slot.id, layout: $0.layout) }
    }

    /// Bytes of a slot for pictures that are `width`×`height` after cropping; nil when the format is not one of ours.
    func slotByteCount(_ format: AVPixelFormat, width: Int, height: Int) -> Int? {
        guard SampleFormats.native(format) != nil else { return nil }
        // Coding blocks have at most 64 samples, and the display window may begin inside the first one.
        let coded = [(width, context.pointee.coded_width), (height, context.pointee.coded_height)].map {
            max(Int32(($0.0 + 63) / 64 * 64), $0.1)
        }
        return DirectBuffers.geometry(context, format, width: coded[0], height: coded[1])?.byteCount
    }

    /// The most pictures the decoder holds at once: the codec's reference pictures, and one per thread.
    var heldPictures: Int {
        let references: Int =
            switch context.pointee.codec_id {
            case AV_CODEC_ID_H264, AV_CODEC_ID_HEVC: 17
            case AV_CODEC_ID_VP8: 4
            case AV_CODEC_ID_VP9, AV_CODEC_ID_AV1: 9
            default: 4
            }
        let frameThreads = context.pointee.active_thread_type & FF_THREAD_FRAME != 0
        return references + (frameThreads ? Int(context.pointee.thread_count) : 1) + 1
    }
}
