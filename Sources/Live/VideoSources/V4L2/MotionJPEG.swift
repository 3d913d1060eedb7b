// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import CHWDRawPictures
internal import HWDCapturing
internal import HWDControlCommands
internal import HWDLibAV
internal import HWDModel

/// Decodes the pictures of a camera that sends JPEG, to YU12.
///
/// Used by one thread at a time.
final class MotionJPEG: @unchecked Sendable {
    /// What became of a picture.
    enum Outcome {
        case sent
        case damaged
        /// It can never be recorded.
        case unsupported(String)
    }

    private let width: Int
    private let height: Int
    private let codec: CodecContext
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let scratch: ScratchPicture

    /// A decoder of pictures of one size.
    /// - Throws: `unavailable` without libavcodec's decoder.
    init(width: Int, height: Int) throws(CommandFailure) {
        LibAVLog.install()
        (self.width, self.height) = (width, height)
        let failure = CommandFailure(.unavailable, "this libavcodec has no decoder for the camera's JPEG")
        guard let decoder = avcodec_find_decoder(AV_CODEC_ID_MJPEG), let codec = CodecContext(decoder),
            let frame = av_frame_alloc()
        else { throw failure }
        guard let packet = av_packet_alloc() else {
            var frame: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&frame)
            throw failure
        }
        (self.codec, self.frame, self.packet) = (codec, frame, packet)
        scratch = ScratchPicture(.yu12, width: width, height: height)
        codec.configureDecoding(maxPixels: (width + 64) * (height + 64), listener: LibAVListener())
        // Damage of a scan is an error, not concealed; what is not of the picture, such as an APP segment, is none.
        codec.pointer.pointee.err_recognition |= AV_EF_EXPLODE
        // One picture in, one out: further threads would hold pictures back.
        codec.pointer.pointee.thread_count = 1
        guard codec.open(decoder) >= 0 else { throw failure }
    }

    deinit {
        var (frame, packet): (UnsafeMutablePointer<AVFrame>?, UnsafeMutablePointer<AVPacket>?) = (frame, packet)
        av_frame_free(&frame)
        av_packet_free(&packet)
    }

    /// Copies a picture, so that the driver can have its buffer back.
    ///
    /// - Returns: false where memory ran out.
    func load(_ bytes: UnsafeRawBufferPointer) -> Bool {
        av_packet_unref(packet)
        guard av_new_packet(packet, Int32(clamping: bytes.count)) >= 0, let target = packet.pointee.data,
            let base = bytes.baseAddress
        else { return false }
        UnsafeMutableRawPointer(target).copyMemory(from: base, byteCount: bytes.count)
        packet.pointee.flags |= AV_PKT_FLAG_KEY
        return true
    }

    /// Decodes the picture that was loaded, and sends it to the sink.
    func send(to sink: any CaptureSink, at time: () -> (UInt64, UInt64?)) -> Outcome {
        defer { av_packet_unref(packet) }
        guard case .taken = codec.send(packet), case .frame = codec.receive(frame) else { return .damaged }
        defer { av_frame_unref(frame) }
        guard frame.pointee.decode_error_flags == 0, frame.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0,
            Int(frame.pointee.width) == width, Int(frame.pointee.height) == height
        else { return .damaged }
        let format = SampleFormats.withoutRange(AVPixelFormat(rawValue: frame.pointee.format))
        let is422 = format == AV_PIX_FMT_YUV422P
        guard is422 || format == AV_PIX_FMT_YUV420P else {
            return .unsupported("JPEG of \(SampleFormats.name(format))")
        }
        let views = PlaneView.planes(of: frame)
        guard views.count == 3, views.allSatisfy({ $0.stride > 0 }) else { return .damaged }
        let sizes = (0..<3).map { plane in
            let rows = is422 ? height : PixelFormat.yu12.rows(plane: plane, height: height)
            return (rows - 1) * views[plane].stride + PixelFormat.yu12.rowBytes(plane: plane, width: width)
        }
        guard is422 else {
            let planes = zip(views, sizes).map { view, size in
                CapturePlane(UnsafeRawBufferPointer(start: view.base, count: size), stride: view.stride)
            }
            let (time, number) = time()
            sink.frame(planes, at: time, sequence: number)
            return .sent
        }
        var source = hwd_raw_source()
        let bases = views.map { $0.base.assumingMemoryBound(to: UInt8.self) }
        source.base = (bases[0], bases[1], bases[2])
        source.size = (UInt64(sizes[0]), UInt64(sizes[1]), UInt64(sizes[2]))
        source.stride = (UInt32(views[0].stride), UInt32(views[1].stride), UInt32(views[2].stride))
        var target = scratch.target
        hwd_raw_copy_422(UInt32(width), UInt32(height), &source, &target)
        let (time, number) = time()
        sink.frame(scratch.planes, at: time, sequence: number)
        return .sent
    }
}
