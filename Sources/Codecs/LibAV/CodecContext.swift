// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
internal import HWDModel

/// Owner of an AVCodecContext, and of the listener that its callbacks find in `opaque`.
package final class CodecContext {
    /// The context, valid as long as this object.
    package let pointer: UnsafeMutablePointer<AVCodecContext>
    // libavcodec's threads may call the listener until the context is freed, so it must outlive the context.
    private var listener: LibAVListener?

    /// Allocates a context; nil when memory ran out.
    package init?(_ codec: UnsafePointer<AVCodec>) {
        guard let pointer = avcodec_alloc_context3(codec) else { return nil }
        self.pointer = pointer
    }

    deinit {
        var context: UnsafeMutablePointer<AVCodecContext>? = pointer
        avcodec_free_context(&context)
    }

    /// Sets the options that every decoder of a session or a file needs.
    ///
    /// - Parameters:
    ///   - maxPixels: luma samples of a picture; bounds what a damaged header can make libavcodec allocate.
    ///   - listener: receives the context's log messages; `get_buffer2` and `get_format` find it in `opaque`.
    package func configureDecoding(maxPixels: Int, listener: LibAVListener) {
        self.listener = listener
        pointer.pointee.opaque = Unmanaged.passUnretained(listener).toOpaque()
        pointer.pointee.max_pixels = Int64(maxPixels)
        // The display window stays exact even where that leaves its first sample unaligned.
        pointer.pointee.flags |= AV_CODEC_FLAG_UNALIGNED
        clibav_thread_safe_callbacks(pointer)
    }

    /// Sets the out-of-band parameter sets (hvcC); false when memory ran out.
    package func setExtradata(_ bytes: [UInt8]) -> Bool {
        guard let extra = av_mallocz(bytes.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
            return false
        }
        extra.copyMemory(from: bytes, byteCount: bytes.count)
        pointer.pointee.extradata = extra.assumingMemoryBound(to: UInt8.self)
        pointer.pointee.extradata_size = Int32(bytes.count)
        return true
    }

    /// Opens the driver of a node for this context.
    ///
    /// - Parameter what: what fails, for the error's text.
    package func openDevice(_ node: String, failure what: String) throws(LibAVError) {
        let interface = CodecInterface(node: node)
        var name = node
        if interface == .nvidia {
            try NVDEC.select(node)
            name = "0"
            LibAVLog.forget()
        }
        let code = av_hwdevice_ctx_create(
            &pointer.pointee.hw_device_ctx, interface.deviceType, name, nil, 0)
        guard code < 0 else { return }
        throw interface == .nvidia ? NVDEC.error(what, code) : LibAVError(what, code)
    }

    /// Opens the codec.
    ///
    /// - Returns: 0, or libav's error.
    package func open(_ codec: UnsafePointer<AVCodec>) -> Int32 { avcodec_open2(pointer, codec, nil) }

    /// The outcome of `send`.
    package enum SendResult {
        /// The packet was consumed; also after the end of the stream.
        case taken
        /// Pictures must be received before the packet can be sent again.
        case full
        case failed(Int32)
    }

    /// Sends a packet; nil ends the stream.
    package func send(_ packet: UnsafeMutablePointer<AVPacket>?) -> SendResult {
        let code = avcodec_send_packet(pointer, packet)
        if code == clibav_again() { return .full }
        return code >= 0 || code == clibav_eof() ? .taken : .failed(code)
    }

    /// The outcome of `receive`; `frame` is a frame or, of an encoder, a packet.
    package enum ReceiveResult {
        case frame, needsInput, ended
        case failed(Int32)
    }

    /// Moves the next picture into `frame`, if there is one.
    package func receive(_ frame: UnsafeMutablePointer<AVFrame>) -> ReceiveResult {
        let code = avcodec_receive_frame(pointer, frame)
        if code >= 0 { return .frame }
        if code == clibav_again() { return .needsInput }
        return code == clibav_eof() ? .ended : .failed(code)
    }

    // MARK: - Encoders

    /// Sends a frame to an encoder; nil ends the stream.
    ///
    /// - Returns: as `send` of a packet.
    package func encode(_ frame: UnsafeMutablePointer<AVFrame>?) -> SendResult {
        let code = avcodec_send_frame(pointer, frame)
        if code == clibav_again() { return .full }
        // A second end changes nothing; a frame after the end is lost.
        return code >= 0 || code == clibav_eof() && frame == nil ? .taken : .failed(code)
    }

    /// Moves an encoder's next packet into `packet`, if there is one.
    package func receive(_ packet: UnsafeMutablePointer<AVPacket>) -> ReceiveResult {
        let code = avcodec_receive_packet(pointer, packet)
        if code >= 0 { return .frame }
        if code == clibav_again() { return .needsInput }
        return code == clibav_eof() ? .ended : .failed(code)
    }

    /// Sets an option of the codec's own.
    ///
    /// - Throws: if this libavcodec does not have it, or not with this value.
    package func setOption(_ name: String, _ value: String) throws(LibAVError) {
        let code = av_opt_set(pointer.pointee.priv_data, name, value, 0)
        guard code >= 0 else { throw LibAVError("libavcodec refuses \(name)=\(value)", code) }
    }
}
