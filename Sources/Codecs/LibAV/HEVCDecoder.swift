// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDCoding
public import HWDModel

/// libavcodec's HEVC decoder for sessions: in software, or on the surfaces of VA-API or NVDEC.
///
/// Used by one thread at a time. In software libavcodec's threads write into the session's memory directly;
/// surfaces are copied there.
public final class HEVCDecoder: PictureDecoder, @unchecked Sendable {
    /// How to decode.
    public struct Options: Sendable {
        /// Threads; 0 is one per processor.
        public var threads = 0
        /// Whether each picture is finished before the next one is begun.
        public var isRealTime = false
        /// The render node, or the node of NVIDIA's card, to decode on; nil decodes in software.
        public var device: String?
        /// The pixel format of the pictures; nil is planar or semi-planar in the stream's own depth.
        public var target: PixelFormat?
        /// Whether chroma is interleaved where `target` is nil.
        public var isSemiPlanar = false
        /// Whether hardware's pictures may stay on the device, as `DecodedSurface`, until their samples are needed.
        public var keepsSurfaces = false

        /// Software decoding to the stream's own depth, with one thread per processor.
        public init() {}
    }

    private let state: DecoderState
    private let copier: PictureCopier
    private let keepsSurfaces: Bool
    private let codec: CodecContext
    private let packet: PacketOwner
    private let frame: FrameOwner

    /// Consecutive calls that neither take a packet nor return a picture, after which the decoder counts as stuck.
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
        keepsSurfaces = options.keepsSurfaces
        let isDirect = options.device == nil && copier.format(forDepth: format.bitDepth) == format.planarFormat
        state = DecoderState(
            buffers: isDirect ? DirectBuffers(memory: memory) : nil,
            interface: options.device.map(CodecInterface.init(node:)))
        guard let decoder = avcodec_find_decoder(AV_CODEC_ID_HEVC) else {
            throw SessionError(.couldNotFindVideoDecoder, "this libavcodec has no HEVC decoder")
        }
        guard let codec = CodecContext(decoder), let packet = PacketOwner(), let frame = FrameOwner() else {
            throw SessionError(.allocationFailed, "no memory for a decoder")
        }
        (self.codec, self.packet, self.frame) = (codec, packet, frame)
        try Self.configure(codec, format, options, state)
        let code = codec.open(decoder)
        guard code >= 0 else {
            // Without memory for the stack of a thread pthread_create(3) fails with EAGAIN.
            let isExhausted = [clibav_error(ENOMEM), clibav_error(EAGAIN)].contains(code)
            throw SessionError(
                isExhausted ? .allocationFailed : .videoDecoderBadData,
                LibAVError("libavcodec's HEVC decoder does not open", code).description)
        }
    }

    /// Why pictures are not decoded in hardware although a device was named.
    public var fallbackReason: String? { state.softwareReason }

    /// The driver's first failure since the last call, on a stream that may be sound; nil when there was none.
    public func takeHardwareFailure() -> String? { state.takeHardwareFailure() }

    /// Decodes a packet's base layer and emits the pictures that are ready.
    public func decode(
        _ input: DecoderInput, sequence: Int64, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        try decode(input.base, sequence: sequence, handler)
    }

    /// Decodes NAL units with 4-byte lengths and emits the pictures that are ready.
    func decode(
        _ unit: [UInt8], sequence: Int64, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        guard packet.fill(unit) else {
            throw SessionError(.allocationFailed, "no memory for a packet of \(unit.count) bytes")
        }
        packet.pointer.pointee.pts = sequence
        packet.pointer.pointee.dts = sequence
        defer { av_packet_unref(packet.pointer) }
        state.packetSent(sequence)
        var failures = 0
        while true {
            let result = codec.send(packet.pointer)
            if case .failed(let code) = result { try noteFailure("libavcodec refuses a packet", code) }
            let hasProgressed = try receiveAll(handler)
            guard case .full = result else { return }
            failures = hasProgressed ? 0 : failures + 1
            try checkProgress(failures)
        }
    }

    /// Emits every picture still inside; the next packet must be a key frame.
    public func finish(_ handler: DecoderEventHandler) throws(SessionError) {
        _ = codec.send(nil)
        for _ in 0..<Self.maxFailures where !(try receiveAll(handler)) { break }
        avcodec_flush_buffers(codec.pointer)
        try reportDamage(handler)
    }

    /// Emits what the decoder holds ready; false when it neither returned a picture nor failed at one.
    private func receiveAll(_ handler: DecoderEventHandler) throws(SessionError) -> Bool {
        var (count, failures) = (0, 0)
        while true {
            let result = codec.receive(frame.pointer)
            // Damage is reported before the picture that it is in.
            try reportDamage(handler)
            switch result {
            case .needsInput, .ended: return count + failures > 0
            case .failed(let code):
                try noteFailure("libavcodec cannot decode a picture", code)
                failures += 1
                try checkProgress(failures)
            case .frame:
                defer { av_frame_unref(frame.pointer) }
                count += 1
                state.pictureReturned(frame.pointer.pointee.pts)
                try emit(frame.pointer, handler)
            }
        }
    }

    private func checkProgress(_ failures: Int) throws(SessionError) {
        guard failures < Self.maxFailures else {
            throw SessionError(.videoDecoderMalfunction, "the decoder makes no progress")
        }
    }

    private func noteFailure(_ what: String, _ code: Int32) throws(SessionError) {
        if code == clibav_error(ENOMEM) {
            throw SessionError(.allocationFailed, LibAVError(what, code).description)
        }
        state.callFailed(LibAVError(what, code).description)
    }

    private func reportDamage(_ handler: DecoderEventHandler) throws(SessionError) {
        for (sequence, text) in state.takeComplaints() {
            if let sequence { try handler(.damage(sequence, text)) }
        }
    }

    private func emit(
        _ frame: UnsafeMutablePointer<AVFrame>, _ handler: DecoderEventHandler
    ) throws(SessionError) {
        if let surfaces = state.interface?.surfaceFormat, frame.pointee.format == surfaces.rawValue {
            if keepsSurfaces, surfaces == AV_PIX_FMT_VAAPI, let surface = DecodedSurface(frame, copier) {
                return try handler(.picture(surface.picture, surface))
            }
            let (picture, owner) = try copier.download(frame)
            return try handler(.picture(picture, owner))
        }
        if state.interface != nil, state.softwareReason == nil {
            state.softwareReason = "libavcodec decodes this stream in software"
        }
        if let (picture, owner) = try direct(frame) { return try handler(.picture(picture, owner)) }
        let (picture, owner) = try copier.convert(frame, isHardware: false)
        try handler(.picture(picture, owner))
    }

    /// A picture that was decoded into the session's memory, in the format that is wanted; nil for any other.
    private func direct(
        _ frame: UnsafeMutablePointer<AVFrame>
    ) throws(SessionError) -> (OutputPicture, any AnyObject & Sendable)? {
        guard let buffers = state.buffers,
            let format = SampleFormats.native(AVPixelFormat(rawValue: frame.pointee.format)),
            copier.format(forDepth: format.bitDepth) == format, let place = buffers.place(of: frame, format)
        else { return nil }
        guard let owner = FrameOwner(referringTo: frame) else {
            throw SessionError(.allocationFailed, "no memory for a picture")
        }
        return (OutputPicture(frame, format, slot: place.slot.id, place.layout), owner)
    }
}
