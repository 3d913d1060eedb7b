// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDCoding
internal import HWDHEVC
internal import HWDModel

extension HEVCDecoder {
    /// Sets what must be set before the codec is opened.
    static func configure(
        _ codec: CodecContext, _ format: StreamFormat, _ options: Options, _ state: DecoderState
    ) throws(SessionError) {
        let record: [UInt8]
        do throws(BitstreamError) { record = try format.record.bytes() } catch {
            throw SessionError(.videoDecoderBadData, "the format description is not possible: \(error.reason)")
        }
        guard codec.setExtradata(record) else {
            throw SessionError(.allocationFailed, "no memory for a decoder")
        }
        let context = codec.pointer
        // In real time pictures follow one another, and several threads share one that has slices or wavefronts.
        context.pointee.thread_count = options.device != nil ? 1 : Int32(options.threads)
        context.pointee.thread_type = options.isRealTime ? FF_THREAD_SLICE : FF_THREAD_FRAME | FF_THREAD_SLICE
        codec.configureDecoding(maxPixels: 2 * StreamFormat.maxLumaSamples, listener: state)
        setCallbacks(context)
        guard let device = options.device else { return }
        do throws(LibAVError) {
            try codec.openDevice(device, failure: "\(device) does not open for decoding")
        } catch { throw SessionError(.videoDecoderNotAvailableNow, error.description) }
    }

    private static func setCallbacks(_ context: UnsafeMutablePointer<AVCodecContext>) {
        context.pointee.get_buffer2 = { context, frame, flags in
            guard let context, let frame, let opaque = context.pointee.opaque else { return clibav_error(ENOMEM) }
            let state = Unmanaged<DecoderState>.fromOpaque(opaque).takeUnretainedValue()
            state.pictureStarted(frame.pointee.pts, context)
            return state.buffers?.provide(context, frame, flags: flags)
                ?? avcodec_default_get_buffer2(context, frame, flags)
        }
        context.pointee.get_format = { context, formats in
            guard let context, let formats, let opaque = context.pointee.opaque else { return AV_PIX_FMT_NONE }
            return Unmanaged<DecoderState>.fromOpaque(opaque).takeUnretainedValue().choose(formats)
        }
    }
}
