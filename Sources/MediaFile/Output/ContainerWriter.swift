// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDHEVC
internal import HWDLibAV
internal import HWDModel

/// Owner of an output's AVFormatContext: a .mov or .mp4 with one HEVC track and copied audio.
///
/// `MediaWriter` calls it under its lock alone, so it may cross threads.
final class ContainerWriter: @unchecked Sendable {
    let notes: [String]
    let copiedStreams: [OtherStream]
    private let context: UnsafeMutablePointer<AVFormatContext>
    private let file: OutputFile
    private let io: DescriptorIO
    /// Source stream number → number here.
    private let streamNumbers: [Int: Int32]
    /// Whether metadata goes under QuickTime's keys, which can be any, instead of its four-letter atoms.
    private let writesMetadataKeys: Bool
    /// `01:00:00:00`, written as a `tmcd` track of its own.
    private let timecode: String?
    private let packet: UnsafeMutablePointer<AVPacket>
    private var boxes: VideoTrackBoxes?
    private var annotations: PictureAnnotations?
    private let isQuickTime: Bool
    /// Boxes of the source's sample entry that a copy takes over.
    private let carried: [Box]
    private var timeBase = AVRational(num: 1, den: 1)
    private var lastDTS: Int64?
    private var lastCopiedDTS: [Int32: Int64] = [:]
    private var waiting: [MediaPacket] = []
    private var isStarted = false

    /// Microseconds that audio may lie ahead of the video: more than the longest look-ahead of an encoder.
    private static let interleaveWindow: Int64 = 60_000_000
    /// Ticks a second of the movie header, unless one exact for all tracks is below `maxMovieScale`.
    private static let maxMovieScale: Int64 = 10_000_000

    init(_ file: OutputFile, ending: String, source: MediaReader?) throws(MediaError) {
        LibAVLog.install()
        LibAVLog.forget()
        var allocated: UnsafeMutablePointer<AVFormatContext>?
        guard avformat_alloc_output_context2(&allocated, nil, ending, file.path) >= 0, let context = allocated,
            let packet = av_packet_alloc(), let io = DescriptorIO(file.descriptor),
            avformat_new_stream(context, nil) != nil
        else {
            avformat_free_context(allocated)
            throw MediaError(.io, "\(file.path): out of memory")
        }
        self.context = context
        self.packet = packet
        self.io = io
        self.file = file
        isQuickTime = ending == "mov"
        carried = source?.carriedBoxes ?? []
        let video = source?.video
        timecode = FileCopy.timecode(from: source, rate: video?.averageFrameRate ?? video?.baseFrameRate)
        let copy = StreamCopy.plan(
            from: source, to: context, ending: ending,
            hasChapters: FileCopy.chapters(from: source, to: context) > 0, hasTimecode: timecode != nil)
        (notes, copiedStreams, streamNumbers) = (copy.notes, copy.streams, copy.numbers)
        if let source, case .libAV(let input) = source.source, let from = input.demuxer.video,
            let stream = context.pointee.streams?[0]
        {
            FileCopy.trackMetadata(from: from, to: stream)
            av_dict_set(&stream.pointee.metadata, "timecode", timecode, 0)
        }
        let hasReverseDomains = FileCopy.metadata(from: source, to: context)
        writesMetadataKeys = hasReverseDomains && ending == "mov"
        context.pointee.pb = io.context
        context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        context.pointee.avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED
        context.pointee.max_interleave_delta = Self.interleaveWindow
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        // The context is ours, not libavformat's to close.
        context.pointee.pb = nil
        avformat_free_context(context)
        file.discard()
    }

    /// Takes the track, and what the muxer is not able to write of it.
    func start(
        _ track: VideoTrack, _ boxes: VideoTrackBoxes, _ record: DecoderConfigurationRecord
    ) throws(MediaError) {
        guard !isStarted else { throw MediaError(.usage, "the output was started before") }
        guard let stream = context.pointee.streams?[0], let parameters = stream.pointee.codecpar,
            let extradata = av_mallocz(track.hvcC.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))
        else { throw MediaError(.io, "\(file.path): out of memory") }
        track.hvcC.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: extradata, count: $0.count).copyMemory(from: $0)
        }
        parameters.pointee.extradata = extradata.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(track.hvcC.count)
        parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        parameters.pointee.codec_id = AV_CODEC_ID_HEVC
        parameters.pointee.codec_tag = clibav_tag(0x68, 0x76, 0x63, 0x31)  // hvc1
        parameters.pointee.width = Int32(boxes.codedWidth)
        parameters.pointee.height = Int32(boxes.codedHeight)
        self.boxes = boxes
        if track.isCopy { self.boxes?.carried = carried }
        annotations = PictureAnnotations(record, isQuickTime: isQuickTime)
        parameters.pointee.field_order = AV_FIELD_PROGRESSIVE
        track.color.write(to: &parameters.pointee)
        // A size in `tkhd` that is not the picture's is read as an aspect ratio unless `pasp` says that it is none.
        if let aspect = (track.sampleAspectRatio ?? boxes.cleanAperture.map { _ in Rational(1) })?.libAV {
            parameters.pointee.sample_aspect_ratio = aspect
            stream.pointee.sample_aspect_ratio = aspect
        }
        stream.pointee.time_base = track.timeBase.libAV
        if let rate = track.frameRate?.libAV {
            stream.pointee.avg_frame_rate = rate
            stream.pointee.r_frame_rate = rate
        }
        try attach(track.displayMatrix, to: stream)
        timeBase = track.timeBase.libAV
        try writeHeader(track)
        isStarted = true
        for packet in waiting { try write(copied: packet) }
        waiting = []
    }

    func write(
        _ accessUnit: UnsafeRawBufferPointer, pts: Int64, dts: Int64, duration: Int64, isSync: Bool
    ) throws(MediaError) {
        guard isStarted else { throw MediaError(.usage, "a packet came before the track") }
        if let lastDTS, dts <= lastDTS {
            throw MediaError(.usage, "a packet's decoding time, \(dts), is not after the one before, \(lastDTS)")
        }
        guard pts >= dts, Ticks.isPossible(pts), Ticks.isPossible(dts) else {
            throw MediaError(.usage, "a packet is shown at \(pts), before it is decoded at \(dts)")
        }
        lastDTS = dts
        guard let source = accessUnit.baseAddress, accessUnit.count <= Int(Int32.max) - 64,
            av_new_packet(packet, Int32(accessUnit.count)) >= 0, let data = packet.pointee.data
        else { throw MediaError(.usage, "a packet of \(accessUnit.count) bytes cannot be written") }
        UnsafeMutableRawPointer(data).copyMemory(from: source, byteCount: accessUnit.count)
        packet.pointee.pts = pts
        packet.pointee.dts = dts
        packet.pointee.duration = max(0, duration)
        packet.pointee.stream_index = 0
        packet.pointee.flags = isSync ? AV_PKT_FLAG_KEY : 0
        annotations?.note(accessUnit)
        try send(from: timeBase)
    }

    func write(copied source: MediaPacket) throws(MediaError) {
        guard let number = streamNumbers[source.streamIndex] else { return }
        guard isStarted else {
            waiting.append(source)
            return
        }
        guard av_packet_ref(packet, source.packet) >= 0 else {
            throw MediaError(.io, "\(file.path): out of memory")
        }
        packet.pointee.stream_index = number
        packet.pointee.pos = -1
        let none = clibav_no_pts()
        // A container without decoding times, or one that jumps back: the next possible tick, as a player would.
        let last = lastCopiedDTS[number]
        if !Ticks.isPossible(packet.pointee.dts) { packet.pointee.dts = none }
        if !Ticks.isPossible(packet.pointee.pts) { packet.pointee.pts = none }
        if packet.pointee.dts == none { packet.pointee.dts = packet.pointee.pts }
        if packet.pointee.dts == none { packet.pointee.dts = last.map { $0 + 1 } ?? 0 }
        if let last, packet.pointee.dts <= last { packet.pointee.dts = last + 1 }
        if packet.pointee.pts == none || packet.pointee.pts < packet.pointee.dts {
            packet.pointee.pts = packet.pointee.dts
        }
        lastCopiedDTS[number] = packet.pointee.dts
        try send(from: source.timeBase.libAV)
    }

    func finish(sync: Bool) throws(MediaError) {
        defer { file.discard() }
        guard isStarted, lastDTS != nil else {
            throw MediaError(.usage, "\(file.path): not one packet was written")
        }
        let code = av_write_trailer(context)
        isStarted = false
        avio_flush(io.context)
        try check(code)
        do throws(BoxError) {
            let languages = languages
            try MovieFile.finish(file.descriptor) { movie throws(BoxError) in
                try boxes?.write(into: &movie, annotations)
                try TrackLanguages.write(languages, into: &movie)
            }
        } catch {
            throw MediaError(.io, "\(file.path) cannot be written: \(error.reason)")
        }
        try file.commit(sync: sync)
    }

    func discard() { file.discard() }

    private func send(from base: AVRational) throws(MediaError) {
        guard let stream = context.pointee.streams?[Int(packet.pointee.stream_index)] else { return }
        av_packet_rescale_ts(packet, base, stream.pointee.time_base)
        try check(av_interleaved_write_frame(context, packet))
    }

    private func writeHeader(_ track: VideoTrack) throws(MediaError) {
        var flags: [String] = []
        if track.color.isSpecified { flags.append("write_colr") }
        if writesMetadataKeys { flags.append("use_metadata_tags") }
        var options: OpaquePointer?
        if !flags.isEmpty { av_dict_set(&options, "movflags", flags.joined(separator: "+"), 0) }
        // An edit list counts in the movie's ticks, and start times must come out exact.
        av_dict_set_int(&options, "movie_timescale", movieScale(track), 0)
        av_dict_set(&options, "write_tmcd", timecode == nil ? "0" : "1", 0)
        let code = avformat_write_header(context, &options)
        av_dict_free(&options)
        try check(code)
    }

    /// The language of every stream, in the order of their tracks.
    private var languages: [String?] {
        (0..<Int(context.pointee.nb_streams)).map { index in
            av_dict_get(context.pointee.streams?[index]?.pointee.metadata, "language", nil, 0)
                .flatMap { $0.pointee.value }.map { String(cString: $0) }
        }
    }

    /// A scale in which every track's ticks are whole, or the video's own where that is out of reach.
    private func movieScale(_ track: VideoTrack) -> Int64 {
        var video = Int64(track.timeBase.denominator)
        // movenc.c doubles a track's scale up to this bound.
        while video < 10_000 { video *= 2 }
        var scale = video
        // movenc.c counts a chapter's length in these ticks, in 32 bits.
        let maximum = Double(Int32.max) / (FileCopy.longestChapter(context) + 1)
        for number in streamNumbers.values {
            guard let rate = context.pointee.streams?[Int(number)]?.pointee.codecpar?.pointee.sample_rate, rate > 0
            else { continue }
            let next = scale / av_gcd(scale, Int64(rate)) * Int64(rate)
            if next > Self.maxMovieScale { return video }
            scale = next
        }
        if Double(scale) > maximum { scale = Double(video) <= maximum ? video : 1000 }
        return scale
    }

    private func attach(
        _ matrix: [Int32]?, to stream: UnsafeMutablePointer<AVStream>
    ) throws(MediaError) {
        guard let matrix else { return }
        guard matrix.count == 9 else { throw MediaError(.usage, "a display matrix has 9 numbers") }
        guard let data = av_stream_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * 4) else {
            throw MediaError(.io, "\(file.path): out of memory")
        }
        matrix.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: data, count: $0.count).copyMemory(from: $0) }
    }

    /// The errno of a failed write says more than libavformat's code, and libavformat may not return it at all.
    private func check(_ code: Int32) throws(MediaError) {
        if io.failure != 0 {
            throw MediaError(.io, "\(file.path) cannot be written: \(MediaError.text(ofErrno: io.failure))")
        }
        guard code < 0 else { return }
        let sentence = "\(file.path) cannot be written: \(MediaError.text(ofLibAV: code))"
        throw MediaError(.io, LibAVLog.explain(sentence))
    }
}
