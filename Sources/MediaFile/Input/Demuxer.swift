// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDLibAV
internal import HWDModel

/// Owner of an input's AVFormatContext: opens a file, names its streams, hands out packets in file order.
final class Demuxer {
    let context: UnsafeMutablePointer<AVFormatContext>
    let path: String
    let videoIndex: Int
    let decoder: UnsafePointer<AVCodec>
    /// What the decoder gives where libavformat did not see it: that of a codec whose alpha only one library decodes.
    let alphaDecoderFormat: AVPixelFormat?
    /// What the demuxer and the decoder complain of from now on.
    let tally = ErrorTally()
    private let cancelFlag: CancelFlag

    /// Opens `path`, or the files of `series`, and picks the best video stream that libavcodec can decode.
    ///
    /// `frameRate` is for formats that have none of their own: pictures and elementary streams.
    init(
        path: String, cancelFlag: CancelFlag, series: ImageSeries? = nil, frameRate: Rational? = nil,
        wantsAlpha: Bool = false
    ) throws(MediaError) {
        LibAVLog.install()
        LibAVLog.forget()
        self.path = path
        self.cancelFlag = cancelFlag
        context = try Self.open(path, cancelFlag, series, frameRate)
        var opened: UnsafeMutablePointer<AVFormatContext>? = context
        do throws(MediaError) {
            let found = try Self.findVideo(context, path)
            let other =
                wantsAlpha ? context.pointee.streams?[found.0].flatMap { Self.alphaDecoder($0.pointee) } : nil
            (videoIndex, decoder) = (found.0, other ?? found.1)
            alphaDecoderFormat = other == nil ? nil : AV_PIX_FMT_YUVA420P
        } catch {
            // A class whose init throws runs no deinit until every property has a value.
            avformat_close_input(&opened)
            throw error
        }
        context.pointee.opaque = Unmanaged.passUnretained(tally).toOpaque()
    }

    deinit {
        var context: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&context)
    }

    var streamCount: Int { Int(context.pointee.nb_streams) }

    /// The stream with this number, which must be below `streamCount`.
    func stream(_ index: Int) -> UnsafeMutablePointer<AVStream>? {
        index < streamCount ? context.pointee.streams?[index] : nil
    }

    /// Whether the file is one of the ISO base media family.
    var isMovie: Bool {
        guard let name = context.pointee.iformat?.pointee.name else { return false }
        return String(cString: name).hasPrefix("mov,")
    }

    /// Whether the file can be opened a second time and gives the same again: no pipe, and no series.
    var canReopen: Bool {
        guard let io = context.pointee.pb else { return false }
        return io.pointee.seekable & AVIO_SEEKABLE_NORMAL != 0
    }

    var video: AVStream? { stream(videoIndex)?.pointee }

    /// Has the demuxer skip packets of streams that nobody asked for.
    func keepOnly(_ wanted: Set<Int>) {
        for index in 0..<streamCount where !wanted.contains(index) {
            stream(index)?.pointee.discard = AVDISCARD_ALL
        }
    }

    /// Reads the next packet of any stream into `packet`; false at the end of the file.
    func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
        try cancelFlag.check()
        var code = av_read_frame(context, packet)
        while code == clibav_again() {
            try cancelFlag.check()
            code = av_read_frame(context, packet)
        }
        if code == clibav_eof() {
            // libavformat reports a failed read(2) as an end of file, and keeps the error beside it.
            if let io = context.pointee.pb, io.pointee.error < 0, io.pointee.error != clibav_eof() {
                throw failure(io.pointee.error)
            }
            return false
        }
        guard code >= 0 else { throw failure(code) }
        return true
    }

    /// Whether the file turned out to be shorter than it says, where its format lets one know.
    func cutOff(_ wanted: Set<Int>) -> MediaError? {
        if tally.isCutOff { return MediaError(.badInput, "\(path) is cut off") }
        guard isMovie, let io = context.pointee.pb else { return nil }
        let end = avio_size(io)
        guard end > 0 else { return nil }
        for index in wanted.sorted() {
            guard let stream = stream(index) else { continue }
            let count = avformat_index_get_entries_count(stream)
            let missing = (0..<count).count { number in
                guard let entry = avformat_index_get_entry(stream, number)?.pointee else { return false }
                return entry.pos > end - Int64(entry.size)
            }
            if missing > 0 {
                return MediaError(
                    .badInput,
                    "\(path) is cut off: \(missing) of \(count) samples of stream \(index) lie behind its end")
            }
        }
        return nil
    }

    private func failure(_ code: Int32) -> MediaError {
        let sentence = "\(path) cannot be read further: \(MediaError.text(ofLibAV: code))"
        return MediaError(MediaError.readingKind(code), LibAVLog.explain(sentence))
    }

    /// Opens a file and has its streams looked into; the caller closes it, and keeps `cancelFlag` until then.
    static func open(
        _ path: String, _ cancelFlag: CancelFlag, _ series: ImageSeries?, _ frameRate: Rational?
    ) throws(MediaError) -> UnsafeMutablePointer<AVFormatContext> {
        if series == nil { try checkReadable(path) }
        guard var context = avformat_alloc_context() else {
            throw MediaError(.io, "\(path): out of memory")
        }
        context.pointee.interrupt_callback = AVIOInterruptCB(
            callback: { opaque in
                guard let opaque else { return 0 }
                return Unmanaged<CancelFlag>.fromOpaque(opaque).takeUnretainedValue().isSet ? 1 : 0
            }, opaque: Unmanaged.passUnretained(cancelFlag).toOpaque())
        var options: OpaquePointer?
        // A playlist or concat script must not reach the network.
        av_dict_set(&options, "protocol_whitelist", "file", 0)
        if let frameRate { av_dict_set(&options, "framerate", frameRate.description, 0) }
        if let series { av_dict_set_int(&options, "start_number", Int64(series.first), 0) }
        let format = series == nil ? nil : av_find_input_format("image2")
        var opened: UnsafeMutablePointer<AVFormatContext>? = context
        // The prefix keeps a name like "take:2.mov" from being read as a protocol.
        let code = avformat_open_input(&opened, "file:\(path)", format, &options)
        let isRateUnused = av_dict_get(options, "framerate", nil, 0) != nil
        av_dict_free(&options)
        guard code >= 0, let result = opened else {
            if code == clibav_exit() { throw MediaError(.interrupted, "interrupted") }
            if let brand = stillBrand(path) {
                throw MediaError(
                    .unsupported, "\(path) is a HEIF still image (brand \(brand)), which is not read yet")
            }
            let sentence = "\(path) is not a media file that can be read: \(MediaError.text(ofLibAV: code))"
            throw MediaError(MediaError.readingKind(code), LibAVLog.explain(sentence))
        }
        context = result
        if isRateUnused {
            avformat_close_input(&opened)
            throw MediaError(
                .usage, "\(path) has a frame rate of its own; one can be given for pictures and raw streams")
        }
        let info = findStreams(context)
        guard info >= 0 else {
            avformat_close_input(&opened)
            if info == clibav_exit() { throw MediaError(.interrupted, "interrupted") }
            let sentence = "\(path): no stream can be made out: \(MediaError.text(ofLibAV: info))"
            throw MediaError(.badInput, LibAVLog.explain(sentence))
        }
        return context
    }

    /// Has libavformat look into the streams, which may mean to decode a picture of each.
    private static func findStreams(_ context: UnsafeMutablePointer<AVFormatContext>) -> Int32 {
        let count = Int(context.pointee.nb_streams)
        var options = [OpaquePointer?](repeating: nil, count: max(1, count))
        for index in 0..<count {
            av_dict_set_int(&options[index], "max_pixels", Int64(VideoDecoder.maxSamples), 0)
        }
        defer { for index in options.indices { av_dict_free(&options[index]) } }
        return avformat_find_stream_info(context, &options)
    }

    /// Refuses what is not there or may not be read, in the system's words, before libavformat guesses.
    private static func checkReadable(_ path: String) throws(MediaError) {
        var status = stat()
        guard stat(path, &status) == 0 else { throw .opening(path, errno: errno) }
        if status.st_mode & S_IFMT == S_IFDIR { throw .opening(path, errno: EISDIR) }
        guard access(path, R_OK) == 0 else { throw .opening(path, errno: errno) }
        if status.st_mode & S_IFMT == S_IFREG, status.st_size == 0 {
            throw MediaError(.badInput, "\(path) is empty")
        }
    }

    /// The brand of a file that begins as a HEIF image does (ISO/IEC 23008-12 10); nil for others.
    private static func stillBrand(_ path: String) -> FourCC? {
        let descriptor = Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var head = [UInt8](repeating: 0, count: 12)
        guard pread(descriptor, &head, head.count, 0) == head.count, head[4..<8].elementsEqual("ftyp".utf8),
            let brand = head.bigEndian(at: 8, 4).map({ FourCC(rawValue: UInt32($0)) })
        else { return nil }
        return ["heic", "heix", "heim", "heis", "mif1", "avif"].contains(brand) ? brand : nil
    }

    /// libvpx's decoder for WebM video with alpha, which lies beside each packet and which libavcodec's own leave out.
    static func alphaDecoder(_ stream: AVStream) -> UnsafePointer<AVCodec>? {
        guard let entry = av_dict_get(stream.metadata, "alpha_mode", nil, 0),
            String(cString: entry.pointee.value) == "1"
        else { return nil }
        switch stream.codecpar.pointee.codec_id {
        case AV_CODEC_ID_VP8: return avcodec_find_decoder_by_name("libvpx")
        case AV_CODEC_ID_VP9: return avcodec_find_decoder_by_name("libvpx-vp9")
        default: return nil
        }
    }

    private static func findVideo(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ path: String
    ) throws(MediaError) -> (Int, UnsafePointer<AVCodec>) {
        var decoder: UnsafePointer<AVCodec>?
        let index = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0)
        if index >= 0, let decoder { return (Int(index), decoder) }
        let any = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, nil, 0)
        guard any >= 0, let parameters = context.pointee.streams?[Int(any)]?.pointee.codecpar else {
            throw MediaError(.badInput, LibAVLog.explain("\(path) has no video stream"))
        }
        let name = String(cString: avcodec_get_name(parameters.pointee.codec_id))
        throw MediaError(.unsupported, "\(path): no decoder for its video codec, \(name)")
    }
}
