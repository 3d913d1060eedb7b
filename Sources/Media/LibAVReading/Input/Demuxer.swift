// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
internal import HWDBoxes
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// Owner of an input's AVFormatContext: lists a file's streams and reads its packets in file order.
package final class Demuxer {
    package let context: UnsafeMutablePointer<AVFormatContext>
    /// The input's name in messages.
    package var path: String { file.name }
    let videoIndex: Int
    let decoder: UnsafePointer<AVCodec>
    /// The pixel format of `decoder` where it keeps alpha that libavformat does not report; nil otherwise.
    let alphaDecoderFormat: AVPixelFormat?
    /// Counts the error messages of the demuxer and the decoder after opening.
    let tally = ErrorTally()
    let file: InputFile
    let cancelFlag: CancelFlag
    /// What libavformat does not report of the tracks of Matroska; nil for other files.
    let matroska: MatroskaTracks?
    /// Outlives the context, which reads through it.
    private let io: InputIO?
    private let accessUnits: AccessUnitQueue
    /// What was read when the position changed.
    var moved = SeekQueue()

    /// Opens a demuxer on `file` and picks the best video stream that libavcodec can decode.
    ///
    /// - Parameters:
    ///   - frameRate: the rate of pictures and elementary streams, whose formats store none.
    ///   - wantsAlpha: whether a decoder that keeps alpha is preferred.
    init(
        _ file: InputFile, cancelFlag: CancelFlag, frameRate: Rational? = nil, wantsAlpha: Bool = false
    ) throws(MediaError) {
        LibAVLog.install()
        LibAVLog.forget()
        self.file = file
        self.cancelFlag = cancelFlag
        io = InputIO(file, cancelFlag)
        context = try Self.open(file, io, cancelFlag, frameRate)
        matroska = MatroskaTracks(file, context)
        let path = file.name
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
        accessUnits = AccessUnitQueue(streams: Self.byteStreams(context))
        context.pointee.opaque = Unmanaged.passUnretained(tally).toOpaque()
    }

    deinit {
        var context: UnsafeMutablePointer<AVFormatContext>? = context
        avformat_close_input(&context)
    }

    var streamCount: Int { Int(context.pointee.nb_streams) }

    /// The stream with this number, which must be below `streamCount`.
    package func stream(_ index: Int) -> UnsafeMutablePointer<AVStream>? {
        index < streamCount ? context.pointee.streams?[index] : nil
    }

    /// Whether the format is of the ISO base media family.
    var isMovie: Bool {
        guard let name = context.pointee.iformat?.pointee.name else { return false }
        return String(cString: name).hasPrefix("mov,")
    }

    package var video: AVStream? { stream(videoIndex)?.pointee }

    /// Makes the demuxer skip the packets of all other streams.
    func keepOnly(_ indices: Set<Int>) {
        for index in 0..<streamCount where !indices.contains(index) {
            stream(index)?.pointee.discard = AVDISCARD_ALL
        }
    }

    /// The streams of HEVC behind start codes.
    private static func byteStreams(_ context: UnsafeMutablePointer<AVFormatContext>) -> Set<Int32> {
        let indices = (0..<Int32(clamping: context.pointee.nb_streams)).filter { index in
            guard let parameters = context.pointee.streams?[Int(index)]?.pointee.codecpar?.pointee else {
                return false
            }
            return parameters.codec_id == AV_CODEC_ID_HEVC
                && HEVCConfiguration(parameters.configuration).framing == .startCodes
        }
        return Set(indices)
    }

    /// Reads the next packet of any stream into `packet`, an HEVC access unit as a whole; false at the end of the file.
    func read(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
        try accessUnits.next(into: packet) { (packet) throws(MediaError) in try readOne(into: packet) }
    }

    private func readOne(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
        while try readAny(into: packet) {
            guard Int(packet.pointee.stream_index) == videoIndex, moved.drops(packet.pointee) else { return true }
            av_packet_unref(packet)
        }
        return false
    }

    /// Reads the next packet of any stream as libavformat returns it; false at the end of the file.
    func readAny(into packet: UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool {
        try cancelFlag.check()
        if moved.take(into: packet) { return true }
        matroska?.setCodec(AV_CODEC_ID_NONE, of: context)
        defer { matroska?.setCodec(AV_CODEC_ID_WEBVTT, of: context) }
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

    /// The error for a file that is shorter than declared; nil if it is complete, or its format cannot show it.
    func cutOff(_ indices: Set<Int>) -> MediaError? {
        if tally.isCutOff { return MediaError(.badInput, "\(path) is cut off") }
        guard isMovie, let io = context.pointee.pb else { return nil }
        let end = avio_size(io)
        guard end > 0 else { return nil }
        for index in indices.sorted() {
            guard let stream = stream(index) else { continue }
            let count = avformat_index_get_entries_count(stream)
            let missing = (0..<count).count { number in
                guard let entry = avformat_index_get_entry(stream, number)?.pointee else { return false }
                return entry.pos > end - Int64(entry.size)
            }
            if missing > 0 {
                return MediaError(
                    .badInput,
                    "\(path) is cut off: \(missing) of \(count) samples of stream \(index) are past its end")
            }
        }
        return nil
    }

    private func failure(_ code: Int32) -> MediaError {
        let reason = "\(path) cannot be read further: \(MediaError.text(ofLibAV: code))"
        return MediaError(MediaError.readingKind(code), LibAVLog.explain(reason))
    }

    /// Opens a file and probes its streams; the caller closes the context, and keeps `io` and `cancelFlag` until then.
    static func open(
        _ file: InputFile, _ io: InputIO?, _ cancelFlag: CancelFlag, _ frameRate: Rational?
    ) throws(MediaError) -> UnsafeMutablePointer<AVFormatContext> {
        let path = file.name
        guard io != nil || file.kind == .pictures, let context = avformat_alloc_context() else {
            throw MediaError(.io, "\(path): out of memory")
        }
        context.pointee.pb = io?.context
        context.pointee.interrupt_callback = AVIOInterruptCB(
            callback: { opaque in
                guard let opaque else { return 0 }
                return Unmanaged<CancelFlag>.fromOpaque(opaque).takeUnretainedValue().isSet ? 1 : 0
            }, opaque: Unmanaged.passUnretained(cancelFlag).toOpaque())
        var opened: UnsafeMutablePointer<AVFormatContext>? = context
        let (code, isRateUnused) = openInput(&opened, file, frameRate)
        guard code >= 0, let result = opened else {
            if code == clibav_exit() { throw MediaError(.interrupted, "interrupted") }
            if let error = stillImage(file) { throw error }
            if let error = indexBehind(file) { throw error }
            let hint = file.path == "-" ? "; add -f nut or -f yuv4mpegpipe to ffmpeg's options" : ""
            let reason = "\(path) is not a media file that can be read: \(MediaError.text(ofLibAV: code))\(hint)"
            throw MediaError(MediaError.readingKind(code), LibAVLog.explain(reason))
        }
        // libavformat may read the items of still images, each as a stream (clibav_is_item).
        if let error = stillImage(file), !hasMovieBox(file) {
            avformat_close_input(&opened)
            throw error
        }
        if isRateUnused {
            avformat_close_input(&opened)
            throw MediaError(
                .usage, "\(path) has its own frame rate; one can be set for pictures and raw streams only")
        }
        let info = findStreams(result)
        guard info >= 0 else {
            avformat_close_input(&opened)
            if info == clibav_exit() { throw MediaError(.interrupted, "interrupted") }
            let reason = "\(path): its streams cannot be identified: \(MediaError.text(ofLibAV: info))"
            throw MediaError(.badInput, LibAVLog.explain(reason))
        }
        return result
    }

    /// Calls avformat_open_input; also returns whether the format has no use for `frameRate`.
    private static func openInput(
        _ context: inout UnsafeMutablePointer<AVFormatContext>?, _ file: InputFile, _ frameRate: Rational?
    ) -> (code: Int32, isRateUnused: Bool) {
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        // A playlist or concat script must not reach the network.
        av_dict_set(&options, "protocol_whitelist", "file", 0)
        if let frameRate { av_dict_set(&options, "framerate", frameRate.description, 0) }
        if let series = file.series {
            av_dict_set_int(&options, "start_number", Int64(series.first), 0)
        } else if file.kind == .pictures {
            // A file may have the name of a pattern.
            av_dict_set(&options, "pattern_type", "none", 0)
        }
        let name = file.series != nil ? "image2" : beginsWithVPS(file) ? "hevc" : nil
        let format = name.flatMap { av_find_input_format($0) }
        let code = avformat_open_input(&context, InputFile.url(file.path), format, &options)
        return (code, av_dict_get(options, "framerate", nil, 0) != nil)
    }

    /// Whether a file begins with a start code and a video parameter set (H.265 7.3.1.2, Annex B); libavformat does not
    /// recognize short streams by it.
    private static func beginsWithVPS(_ file: InputFile) -> Bool {
        let first = file.bytes(at: 0, upTo: 6)
        let unit = first.starts(with: [0, 0, 0, 1]) ? first.dropFirst(4) : first.dropFirst(3)
        return (first.starts(with: [0, 0, 1]) || first.starts(with: [0, 0, 0, 1])) && unit.starts(with: [0x40, 1])
    }

    /// Probes the streams, which may decode a picture of each.
    private static func findStreams(_ context: UnsafeMutablePointer<AVFormatContext>) -> Int32 {
        let count = Int(context.pointee.nb_streams)
        var options = [OpaquePointer?](repeating: nil, count: max(1, count))
        for index in 0..<count {
            av_dict_set_int(&options[index], "max_pixels", Int64(VideoDecoder.maxSamples), 0)
        }
        defer { for index in options.indices { av_dict_free(&options[index]) } }
        return avformat_find_stream_info(context, &options)
    }

    /// The error for a file that begins as a HEIF image does (ISO/IEC 23008-12 10); nil for others.
    private static func stillImage(_ file: InputFile) -> MediaError? {
        let head = file.bytes(at: 0, upTo: 12)
        guard head.count == 12, head[4..<8].elementsEqual("ftyp".utf8),
            let brand = head.bigEndian(at: 8, 4).map({ FourCC(rawValue: UInt32($0)) }),
            ["heic", "heix", "heim", "heis", "mif1", "avif"].contains(brand)
        else { return nil }
        return MediaError(
            .unsupported, "\(file.name) is a HEIF still image (brand \(brand)), which is not supported")
    }

    /// Whether a file of boxes has a movie box; of a pipe, among the bytes that are read.
    private static func hasMovieBox(_ file: InputFile) -> Bool {
        var position: Int64 = 0
        while let header = BoxHeader(file.bytes(at: position, upTo: Box.largeHeaderSize), available: .max) {
            if header.type == "moov" { return true }
            guard let size = Int64(exactly: header.size), position <= .max - size else { return false }
            position += size
        }
        return false
    }

    /// The error for a pipe that begins as a movie file does and cannot be read; nil for other inputs.
    static func indexBehind(_ file: InputFile) -> MediaError? {
        guard !file.isSeekable, file.bytes(at: 4, upTo: 4).elementsEqual("ftyp".utf8) else { return nil }
        return MediaError(
            .badInput,
            "\(file.name) is a .mov or .mp4 with its index behind the samples, which a pipe cannot hold: name the file, or "
                + "write it with ffmpeg -movflags frag_keyframe+delay_moov, or -f nut")
    }

    /// libvpx's decoder for WebM video with alpha, which is stored beside each packet; libavcodec's own ignore it.
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

    /// The best video stream and its decoder; a picture that is attached to a song is no video.
    private static func findVideo(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ path: String
    ) throws(MediaError) -> (Int, UnsafePointer<AVCodec>) {
        func isVideo(_ index: Int32) -> Bool {
            guard index >= 0, let stream = context.pointee.streams?[Int(index)]?.pointee else { return false }
            return !stream.isPicture && !stream.isItem(of: context)
        }
        var decoder: UnsafePointer<AVCodec>?
        let best = av_find_best_stream(context, AVMEDIA_TYPE_VIDEO, -1, -1, &decoder, 0)
        if isVideo(best), let decoder { return (Int(best), decoder) }
        var unknown: AVCodecParameters?
        for index in 0..<Int32(clamping: context.pointee.nb_streams) where isVideo(index) {
            guard let parameters = context.pointee.streams?[Int(index)]?.pointee.codecpar?.pointee,
                parameters.codec_type == AVMEDIA_TYPE_VIDEO
            else { continue }
            if let decoder = avcodec_find_decoder(parameters.codec_id) { return (Int(index), decoder) }
            unknown = unknown ?? parameters
        }
        guard let unknown else {
            throw MediaError(.badInput, LibAVLog.explain("\(path) has no video stream"))
        }
        throw MediaError(.unsupported, "\(path): no decoder for its video codec, \(codecDescription(unknown))")
    }

    /// A codec that libavcodec does not decode: its name, or the tag of one that it does not know.
    private static func codecDescription(_ parameters: AVCodecParameters) -> String {
        guard parameters.codec_id == AV_CODEC_ID_NONE else {
            return String(cString: avcodec_get_name(parameters.codec_id))
        }
        // The bytes of a tag are in the file's order.
        let tag = parameters.codec_tag.byteSwapped
        return tag == 0 ? "which is unknown" : FourCC(rawValue: tag).description
    }
}
