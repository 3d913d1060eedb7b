// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDLibAV
internal import HWDModel

/// A file read by libavformat and decoded by libavcodec.
final class LibAVSource {
    let demuxer: Demuxer
    let video: VideoDescription
    let otherStreams: [OtherStream]
    /// What a user should know of the input before it is used, one line each.
    let warnings: [String]
    private(set) var report = DecodeReport()
    /// What leaves temporal levels out; nil when all are read.
    let levels: LevelFilter?

    private let decoder: VideoDecoder?
    private let wanted: Set<Int>
    private let plan: SampleConversion
    private var converters: [Int32: any PictureConverter] = [:]
    private var clock: PresentationClock
    private let packet: UnsafeMutablePointer<AVPacket>
    private let frame: UnsafeMutablePointer<AVFrame>
    private let cancelFlag: CancelFlag
    private var state = State.reading
    /// Why the file ended before its end; told when the decoder has given what it had.
    private var breakOff: MediaError?

    /// Failures in a row, without a packet taken or a frame given, after which a decoder is given up.
    private static let maxFailures = 4096

    /// Where the packet that was read last stands.
    private enum State { case reading, packetWaits, draining, ended }

    init(
        path: String, options: MediaReader.Options, cancelFlag: CancelFlag
    ) throws(MediaError) {
        let series = try ImageSeries(path)
        let demuxer = try Demuxer(
            path: path, cancelFlag: cancelFlag, series: series, frameRate: options.frameRate,
            wantsAlpha: options.alpha != nil)
        guard let stream = demuxer.video, let parameters = stream.codecpar?.pointee else {
            throw MediaError(.badInput, "\(path) has no video stream")
        }
        guard parameters.width > 0, parameters.height > 0, parameters.format >= 0 else {
            let sentence = "\(path): no picture can be made out in its video stream"
            throw MediaError(.badInput, LibAVLog.explain(sentence))
        }
        try VideoDecoder.checkSize(width: Int(parameters.width), height: Int(parameters.height), path)
        let others = demuxer.otherStreams
        var wanted: Set<Int> = [demuxer.videoIndex]
        if options.includesOtherStreams {
            wanted.formUnion(others.filter { $0.content == .audio || $0.content == .subtitle }.map(\.index))
        }
        demuxer.keepOnly(wanted)
        self.wanted = wanted
        plan = try SampleConversion(
            source: demuxer.alphaDecoderFormat ?? AVPixelFormat(rawValue: parameters.format),
            color: ColorDescription(parameters), height: Int(parameters.height), path: path, alpha: options.alpha)
        let isLeft =
            options.leavesHEVC && parameters.codec_id == AV_CODEC_ID_HEVC && parameters.extradata_size > 0
            && SampleFormats.native(AVPixelFormat(rawValue: parameters.format)) != nil
        let isDecoded = options.decodesVideo && !isLeft
        decoder =
            isDecoded
            ? try VideoDecoder(
                demuxer.decoder, stream, threads: options.threads,
                hooks: DecoderHooks(demuxer.tally), path: path) : nil
        var video = demuxer.describeVideo(stream, parameters, plan)
        video.alphaMode = options.alpha?.handedOut(SampleFormats.traits(plan.source))
        if let series, video.frameCount == nil { video.frameCount = series.count }
        if parameters.codec_id == AV_CODEC_ID_HEVC, demuxer.canReopen,
            AlphaLayerInfo.isUnsignaled(in: video.codecConfiguration)
        {
            video.leadingUnits = StreamHead.nalUnits(
                path: path, streamIndex: demuxer.videoIndex, cancelFlag: cancelFlag)
        }
        if demuxer.isMovie, demuxer.canReopen {
            video.cleanAperture = SourceBoxes(path: path)?
                .cleanAperture(track: stream.id, width: video.width, height: video.height)
        }
        if video.color.isHDR, video.masteringDisplay == nil, video.contentLight == nil, demuxer.canReopen {
            let light = FirstFrameLight(path: path, streamIndex: demuxer.videoIndex, cancelFlag: cancelFlag)
            (video.masteringDisplay, video.contentLight) = (light.masteringDisplay, light.contentLight)
        }
        warnings =
            [series?.warning].compactMap { $0 }
            + (isDecoded && options.alpha == nil && Demuxer.alphaDecoder(stream) != nil
                ? ["warning: the input's alpha, which lies beside its pictures, is left out"] : [])
            + (video.isInterlaced
                ? ["warning: the source is interlaced; its fields are coded woven, as frames"] : [])
        levels = try LevelFilter(options, demuxer, stream, parameters, cancelFlag, &video)
        self.video = video
        clock = PresentationClock(video, isUntimed: demuxer.isUntimed)
        otherStreams = others
        self.demuxer = demuxer
        self.cancelFlag = cancelFlag
        // Last, because a class whose init throws half way runs no deinit.
        guard let packet = av_packet_alloc(), let frame = av_frame_alloc() else {
            throw MediaError(.io, "\(path): out of memory")
        }
        self.packet = packet
        self.frame = frame
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
    }

    /// Whether frames are handed out, and not packets.
    var decodes: Bool { decoder != nil }

    func use(_ memory: any FrameMemory) { decoder?.use(memory) }

    var slotsHeldByDecoder: Int { decoder?.heldPictures ?? 0 }

    /// Bytes of a slot that the decoder can use; 0 when its pictures are copied anyway.
    var directByteCount: Int {
        decoder?.slotByteCount(plan.source, width: video.width, height: video.height) ?? 0
    }

    func next() throws(MediaError) -> MediaReader.Item? {
        while true {
            try cancelFlag.check()
            noteComplaints()
            if let decoder, let item = try receive(decoder) { return item }
            switch state {
            case .ended: return nil
            case .draining: try end()
            case .packetWaits: try sendPacket()
            case .reading:
                if let item = try readPacket() { return item }
            }
        }
    }

    /// Reads on; hands out a packet that is not to be decoded.
    private func readPacket() throws(MediaError) -> MediaReader.Item? {
        guard try readOrBreakOff() else {
            if let decoder {
                _ = decoder.send(nil)
                state = .draining
            } else {
                try end()
            }
            return nil
        }
        let index = Int(packet.pointee.stream_index)
        if index == demuxer.videoIndex, let levels {
            guard levels.keeps(packet) else {
                av_packet_unref(packet)
                return nil
            }
            // What is left is shown for longer than the file says.
            if levels.changesRate { packet.pointee.duration = 0 }
        }
        if index == demuxer.videoIndex, decoder != nil {
            try sendPacket()
            return nil
        }
        // Packets read while the file was probed come whether they are wanted or not.
        guard wanted.contains(index),
            let base = demuxer.stream(index).flatMap({ Rational(positive: $0.pointee.time_base) })
        else {
            av_packet_unref(packet)
            return nil
        }
        guard let item = MediaPacket(moving: packet, timeBase: base) else {
            throw MediaError(.io, "\(demuxer.path): out of memory")
        }
        return .packet(item)
    }

    /// Reads a packet; an error is an end, and kept.
    private func readOrBreakOff() throws(MediaError) -> Bool {
        do throws(MediaError) {
            if try demuxer.read(into: packet) { return true }
            breakOff = demuxer.cutOff(wanted)
        } catch {
            if error.kind == .interrupted { throw error }
            breakOff = error
        }
        return false
    }

    private func sendPacket() throws(MediaError) {
        guard let decoder else { return }
        switch decoder.send(packet) {
        case .full: state = .packetWaits
        case .taken:
            av_packet_unref(packet)
            state = .reading
        case .failed(let code):
            noteFailure(code, at: packet.pointee.pts)
            av_packet_unref(packet)
            state = .reading
        }
    }

    /// The next frame the decoder has; nil when it needs more packets or has ended.
    private func receive(_ decoder: VideoDecoder) throws(MediaError) -> MediaReader.Item? {
        guard state != .ended else { return nil }
        for _ in 0..<Self.maxFailures {
            switch decoder.receive(frame) {
            case .frame:
                noteComplaints()
                return .frame(try take(decoder))
            case .needsInput: return nil
            case .ended:
                try end()
                return nil
            case .failed(let code):
                if code == clibav_error(ENOMEM) { throw MediaError(.io, "\(demuxer.path): out of memory") }
                noteFailure(code, at: clock.last)
            }
        }
        throw MediaError(.badInput, LibAVLog.explain("\(demuxer.path): the decoder makes no progress"))
    }

    private func take(_ decoder: VideoDecoder) throws(MediaError) -> DecodedFrame {
        let picture = frame.pointee
        defer { av_frame_unref(frame) }
        guard Int(picture.width) == video.width, Int(picture.height) == video.height else {
            throw MediaError(
                .unsupported,
                "\(demuxer.path): the picture's size changes from \(video.width)x\(video.height) to "
                    + "\(picture.width)x\(picture.height) at frame \(report.frames)")
        }
        if picture.decode_error_flags != 0 || picture.flags & AV_FRAME_FLAG_CORRUPT != 0 {
            noteError("the picture is damaged", at: picture.best_effort_timestamp)
        }
        let format = AVPixelFormat(rawValue: picture.format)
        let isNative = SampleFormats.native(format) == video.format
        let converter = isNative ? nil : try converter(format)
        let direct = isNative ? decoder.direct(frame, video.format) : nil
        let (pts, duration, isRepaired) = clock.stamp(
            picture.best_effort_timestamp, duration: picture.pkt_duration, index: report.frames)
        guard let samples = Picture(moving: frame, converter: converter) else {
            throw MediaError(.io, "\(demuxer.path): out of memory")
        }
        let index = report.frames
        report.frames += 1
        if direct != nil { report.directFrames += 1 }
        if isRepaired { report.repairedTimestamps += 1 }
        return DecodedFrame(
            index: index, pts: pts, duration: duration, isKeyFrame: picture.key_frame != 0, format: video.format,
            width: video.width, height: video.height, direct: direct, samples: .picture(samples))
    }

    /// One converter for each format the decoder hands out; nearly always there is one.
    private func converter(_ format: AVPixelFormat) throws(MediaError) -> any PictureConverter {
        if let known = converters[format.rawValue] { return known }
        let plan = try plan.adapted(to: format, height: video.height, path: demuxer.path)
        let made: (any PictureConverter)? =
            plan.alpha == nil
            ? FrameConverter(plan, width: video.width, height: video.height)
            : AlphaConverter(plan, width: video.width, height: video.height)
        guard let converter = made else {
            throw MediaError(
                .unsupported, "\(demuxer.path): pictures of \(SampleFormats.name(format)) cannot be converted")
        }
        converters[format.rawValue] = converter
        return converter
    }

    /// Counts what the log told since the last call.
    private func noteComplaints() {
        let (count, first) = demuxer.tally.take()
        guard count > 0 else { return }
        noteError(first ?? "damaged", at: clock.last)
        report.errors += count - 1
    }

    /// Counts a call that failed, unless the log told of it already.
    private func noteFailure(_ code: Int32, at pts: Int64?) {
        let before = report.errors
        noteComplaints()
        if report.errors == before { noteError(MediaError.text(ofLibAV: code), at: pts) }
    }

    private func noteError(_ words: String, at pts: Int64?) {
        report.errors += 1
        guard report.firstError == nil else { return }
        let place = clock.seconds(pts).map { " near \($0) s" } ?? ""
        report.firstError = "frame \(report.frames)\(place): \(words)"
    }

    /// At the end: a file that is cut off, or a stream in which nothing could be decoded, is told.
    private func end() throws(MediaError) {
        state = .ended
        if let breakOff { throw breakOff }
        guard decoder != nil, report.frames == 0 else { return }
        let sentence = "\(demuxer.path): not one frame of its \(video.codec) video can be decoded"
        throw MediaError(.badInput, LibAVLog.explain(sentence))
    }
}
