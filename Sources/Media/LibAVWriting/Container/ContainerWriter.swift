// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDBoxes
internal import HWDEdits
internal import HWDHEVC
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDSystem

/// Owner of an output's AVFormatContext: one HEVC track and what is kept of the source's other streams.
///
/// `MediaWriter`'s lock guards it, so it may cross threads.
final class ContainerWriter: @unchecked Sendable {
    let notes: [String]
    let copiedStreams: [OtherStream]
    /// The sound and text that is converted, one line each.
    let conversions: [String]
    let format: OutputFormat
    let context: UnsafeMutablePointer<AVFormatContext>
    let sink: ByteSink
    /// Source stream number → number in the output.
    let streamNumbers: [Int: Int32]
    /// A timecode such as `01:00:00:00`, written as a `tmcd` track.
    let timecode: String?
    /// What the muxer of a .mov or .mp4 does not write; nil for other formats.
    private(set) var movie: MovieParts?
    /// The source of a description of a sphere or of two views in a picture.
    let projectionSource: MediaReader?
    private let io: DescriptorIO
    private let packet: UnsafeMutablePointer<AVPacket>
    private var formatter: AccessUnitFormatter?
    private var timeBase = AVRational(num: 1, den: 1)
    private var lastDTS: Int64?
    /// Packets of the video that libavformat got.
    private var videoPackets = 0
    /// The copied streams, by number in the output.
    private var copies: [Int32: CopiedStream] = [:]
    /// Copied packets that came before `start`.
    private var queue: [MediaPacket] = []
    /// By source stream number.
    private let converters: [Int: any PacketConverter]
    private var isStarted = false
    /// The digest of the packets of a part, whose annotation gets that of all; nil for other files.
    private var partPackets: String?

    /// Microseconds by which audio may be ahead of the video: more than any encoder's look-ahead.
    private static let interleaveWindow: Int64 = 60_000_000

    /// The window of a format on standard output, whose reader waits meanwhile for text that rarely comes: frames that an
    /// encoder holds, and no less than two seconds.
    private static func streamWindow(_ rate: Rational?) -> Int64 {
        let frames = 100.0
        let seconds = frames / max(rate?.value ?? 25, 0.001)
        return min(max(Int64(seconds * 1e6), 2_000_000), interleaveWindow)
    }

    private static func window(_ sink: ByteSink, _ rate: Rational?) -> Int64 {
        if case .standardOutput = sink { streamWindow(rate) } else { interleaveWindow }
    }

    init(
        _ sink: ByteSink, _ format: OutputFormat, source: MediaReader?, edits: FileEdits
    ) throws(MediaError) {
        LibAVLog.install()
        LibAVLog.forget()
        (self.sink, self.format) = (sink, format)
        var allocated: UnsafeMutablePointer<AVFormatContext>?
        guard avformat_alloc_output_context2(&allocated, nil, format.muxer, nil) >= 0, let context = allocated,
            let packet = av_packet_alloc(), let io = DescriptorIO(sink),
            avformat_new_stream(context, nil) != nil
        else {
            avformat_free_context(allocated)
            throw MediaError(.io, "\(sink.name): out of memory")
        }
        (self.context, self.packet, self.io) = (context, packet, io)
        let video = source?.video
        timecode =
            format.isMovie
            ? FileCopy.timecode(
                from: source, rate: video?.averageFrameRate ?? video?.baseFrameRate,
                start: edits.range?.start ?? 0)
            : nil
        let copy: StreamCopy
        let chaptersNote: String?
        do throws(MediaError) {
            chaptersNote = FileCopy.chapters(from: source, to: context, format, edits.range)
            copy = try StreamCopy(
                from: source, to: context, format, edits, isSeekable: sink.isFile,
                hasChapters: context.pointee.nb_chapters > 0, hasTimecode: timecode != nil)
        } catch {
            // A class whose init throws runs no deinit until every property has a value.
            Self.free(context, packet)
            throw error
        }
        (copiedStreams, streamNumbers, projectionSource) = (copy.streams, copy.numbers, source)
        (converters, conversions) = (copy.converters, copy.conversions)
        FileCopy.videoMetadata(from: source, to: context, timecode: timecode)
        let copied = FileCopy.metadata(from: source, to: context)
        movie = format.isMovie ? MovieParts(format, source: source, edits, copied: copied) : nil
        movie?.timedMetadata = copy.timedMetadata
        notes =
            copy.notes + [chaptersNote].compactMap { $0 } + (movie?.notes ?? [])
            + FileCopy.losses(of: source, format, isCopy: edits.isCopy)
        for key in movie?.withheldKeys ?? [] { av_dict_set(&context.pointee.metadata, key, nil, 0) }
        context.pointee.pb = io.context
        context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        context.pointee.avoid_negative_ts =
            format.needsPositiveTimes ? AVFMT_AVOID_NEG_TS_MAKE_NON_NEGATIVE : AVFMT_AVOID_NEG_TS_DISABLED
        context.pointee.max_interleave_delta = Self.window(sink, video?.averageFrameRate ?? video?.baseFrameRate)
    }

    deinit {
        // The I/O context is this module's, not libavformat's to close.
        context.pointee.pb = nil
        Self.free(context, packet)
        sink.discard()
    }

    private static func free(
        _ context: UnsafeMutablePointer<AVFormatContext>, _ packet: UnsafeMutablePointer<AVPacket>
    ) {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
        avformat_free_context(context)
    }

    /// Sets the track and the boxes that the muxer does not write, and writes the header.
    func start(
        _ track: VideoTrack, _ boxes: VideoTrackBoxes, _ record: DecoderConfigurationRecord
    ) throws(MediaError) {
        guard !isStarted else { throw MediaError(.usage, "the output is already started") }
        guard let stream = context.pointee.streams?[0], let parameters = stream.pointee.codecpar else {
            throw MediaError(.io, "\(sink.name): out of memory")
        }
        try configure(parameters, track, boxes)
        configure(stream, track, boxes)
        if format.storesRotation { try attach(track.displayMatrix, to: stream) }
        if movie == nil {
            try attachHDR(of: track, to: stream)
            if FileContent.projection.isHeld(by: format) { try attachProjection(of: track, to: stream) }
        }
        movie?.start(track, boxes, record)
        if movie == nil {
            formatter = AccessUnitFormatter(
                hasStartCodes: format.hasStartCodes, repeatsUpperLayers: clibav_drops_upper_layers() != 0, record)
        }
        timeBase = track.timeBase.libAV
        try check(writeHeader(track))
        isStarted = true
        for packet in queue { try write(copied: packet) }
        queue = []
    }

    /// Changes the configuration of the packets that follow.
    func change(
        to configuration: TrackConfiguration, _ record: DecoderConfigurationRecord
    ) throws(MediaError) {
        guard isStarted else { throw MediaError(.usage, "a configuration cannot change before the track") }
        guard format != .fmp4 else {
            throw MediaError(
                .unsupported,
                "the video's parameter sets change, which \(format.title) cannot signal: use --to matroska, or a file"
            )
        }
        try movie?.change(to: configuration)
        formatter?.change(to: record)
    }

    /// Makes the file a part of a video.
    func annotate(part record: String, packets: String) throws(MediaError) {
        guard movie != nil, sink.isFile else {
            throw MediaError(.usage, "\(sink.name) cannot be annotated: only .mov and .mp4 can")
        }
        movie?.annotate(MediaWriter.partKey, record)
        partPackets = packets
    }

    /// The number of sample entries of the video track; 1 for formats that have none.
    var entryCount: Int { movie?.entryCount ?? 1 }

    func write(
        _ accessUnit: UnsafeRawBufferPointer, pts: Int64, dts: Int64, duration: Int64, isSync: Bool, isShown: Bool
    ) throws(MediaError) {
        guard isStarted else { throw MediaError(.usage, "a packet cannot be written before the track") }
        if let lastDTS, dts <= lastDTS {
            throw MediaError(.usage, "the decoding time \(dts) is not after the preceding packet's, \(lastDTS)")
        }
        guard pts >= dts, Ticks.isPossible(pts), Ticks.isPossible(dts) else {
            throw MediaError(.usage, "the presentation time \(pts) is before the decoding time \(dts)")
        }
        lastDTS = dts
        try fill(accessUnit, isSync: isSync)
        packet.pointee.pts = pts
        packet.pointee.dts = dts
        packet.pointee.duration = max(0, duration)
        packet.pointee.stream_index = 0
        packet.pointee.flags = isSync ? AV_PKT_FLAG_KEY : 0
        movie?.note(accessUnit, pts: pts, duration: duration, isShown: isShown)
        try send(from: timeBase)
    }

    /// Copies an access unit to the packet, in the form that the container has.
    private func fill(_ accessUnit: UnsafeRawBufferPointer, isSync: Bool) throws(MediaError) {
        guard let formatter, !formatter.keepsBytes(isSync: isSync) else { return try fill(accessUnit) }
        try self.formatter?.format(accessUnit, isSync: isSync)
        var failure: MediaError?
        self.formatter?.bytes.withUnsafeBytes { bytes in
            do throws(MediaError) { try fill(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    private func fill(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
        guard let source = bytes.baseAddress, bytes.count <= Int(Int32.max) - 64,
            av_new_packet(packet, Int32(bytes.count)) >= 0, let data = packet.pointee.data
        else { throw MediaError(.usage, "a packet of \(bytes.count) bytes cannot be written") }
        UnsafeMutableRawPointer(data).copyMemory(from: source, byteCount: bytes.count)
    }

    /// Writes a packet of another stream than the video, or what it becomes.
    func write(copied source: MediaPacket) throws(MediaError) {
        let index = source.streamIndex
        guard let number = streamNumbers[index], copies[number]?.failure == nil else { return }
        guard isStarted else {
            queue.append(source)
            return
        }
        guard let converter = converters[index] else { return try put(source, number) }
        try convert(index, number) { () throws(MediaError) in try converter.convert(source) }
    }

    /// Writes what a converter makes; a stream that cannot be converted any further ends where other sound remains.
    private func convert(
        _ index: Int, _ number: Int32, _ packets: () throws(MediaError) -> [MediaPacket]
    ) throws(MediaError) {
        let made: [MediaPacket]
        do throws(MediaError) {
            made = try packets()
        } catch {
            let isOfStream = error.kind == .unsupported || error.kind == .badInput
            guard isOfStream, hasSound(besides: index) else { throw error }
            return copy(number) { $0.failure = error.reason }
        }
        for packet in made { try put(packet, number) }
    }

    /// Whether sound of another stream is written.
    private func hasSound(besides index: Int) -> Bool {
        copiedStreams.contains { stream in
            stream.content == .audio && stream.index != index
                && streamNumbers[stream.index].flatMap { copies[$0] }?.failure == nil
        }
    }

    private func put(_ source: MediaPacket, _ number: Int32) throws(MediaError) {
        guard av_packet_ref(packet, source.packet) >= 0,
            let stream = context.pointee.streams?[Int(number)]
        else { throw MediaError(.io, "\(sink.name): out of memory") }
        packet.pointee.stream_index = number
        packet.pointee.pos = -1
        var isWritten = false
        copy(number) { copy in
            isWritten = copy.times.place(
                &packet.pointee, from: source.timeBase.libAV, to: stream.pointee.time_base)
        }
        guard isWritten else { return av_packet_unref(packet) }
        copy(number) { $0.sent += 1 }
        try interleave(packet)
    }

    /// Gives libavformat a packet, or nil to have it write all that wait.
    ///
    /// A muxer refuses damaged packets, such as AAC without a valid header. A call may write several packets and ends with
    /// the first that is refused, of any stream: whose they are, only `countLost` knows.
    /// - Returns: whether none was refused.
    @discardableResult
    private func interleave(_ packet: UnsafeMutablePointer<AVPacket>?) throws(MediaError) -> Bool {
        do throws(MediaError) {
            try check(av_interleaved_write_frame(context, packet))
            return true
        } catch {
            guard error.kind == .badInput, !streamNumbers.isEmpty else { throw error }
            return false
        }
    }

    /// Writes the packets that wait, and counts those of each stream that were refused.
    /// - Throws: `badInput` where the video lacks some.
    private func countLost() throws(MediaError) {
        // Each call that fails removes a packet.
        while try !interleave(nil) {}
        func written(_ number: Int32) -> Int { Int(context.pointee.streams?[Int(number)]?.pointee.nb_frames ?? 0) }
        for number in copies.keys { copy(number) { $0.written = written(number) } }
        let lost = videoPackets - written(0)
        guard lost <= 0 else {
            let packets = lost == 1 ? "1 packet of the video is" : "\(lost) packets of the video are"
            throw MediaError(.badInput, "\(sink.name) cannot be written: \(packets) refused")
        }
    }

    /// Changes what is known of a copied stream.
    private func copy(_ number: Int32, _ change: (inout CopiedStream) -> Void) {
        let isStrict = context.pointee.oformat.pointee.flags & AVFMT_TS_NONSTRICT == 0
        var copy =
            copies[number]
            ?? CopiedStream(context.pointee.streams?[Int(number)]?.pointee, format, isStrict: isStrict)
        change(&copy)
        copies[number] = copy
    }

    /// Writes the last packets of converted sound and text, and all that wait.
    /// - Throws: `badInput` where no packet of the last sound could be written, or the video lacks some.
    private func finishConversions() throws(MediaError) {
        for (index, converter) in converters.sorted(by: { $0.key < $1.key }) {
            guard let number = streamNumbers[index], copies[number]?.failure == nil else { continue }
            try convert(index, number) { () throws(MediaError) in try converter.finish() }
        }
        try countLost()
        let sound = copiedStreams.filter { $0.content == .audio }
            .compactMap { stream in streamNumbers[stream.index].flatMap { copies[$0] }.map { (stream, $0) } }
        guard let (stream, copy) = sound.first(where: { $0.1.refused > 0 || $0.1.failure != nil }),
            !sound.contains(where: { $0.1.written > 0 })
        else { return }
        let reason = copy.failure ?? "\(sink.name): no packet of \(stream.description) can be written"
        throw MediaError(.badInput, LibAVLog.explain(reason))
    }

    /// Warnings about sound and text that is damaged or left out, and about parameter sets, one line each; complete after `finish`.
    var conversionWarnings: [String] {
        let upperSets =
            format.isHVC1 && formatter?.writesUpperSets ?? false
            ? [
                "warning: the parameter sets of the alpha layer are in the samples of \(format.title), where some programs "
                    + "do not look for them"
            ] : []
        return upperSets + converters.sorted { $0.key < $1.key }.compactMap(\.value.warning)
            + copiedStreams.flatMap { stream in
                streamNumbers[stream.index].flatMap { copies[$0] }?.warnings(stream.description) ?? []
            }
    }

    func finish(sync: Bool) throws(MediaError) {
        defer { sink.discard() }
        guard isStarted, lastDTS != nil else {
            throw MediaError(.usage, "\(sink.name) cannot be finished: it has no packet")
        }
        try finishConversions()
        let code = av_write_trailer(context)
        isStarted = false
        avio_flush(io.context)
        try check(code)
        if case .file(let file) = sink {
            do throws(BoxError) {
                try movie?.finish(file.descriptor, trackProperties)
            } catch {
                throw MediaError(.cannotWrite, "\(file.path) cannot be written: \(error.reason)")
            }
            if let partPackets { try PartDigest.write(to: file, packets: partPackets) }
        }
        try sink.finish(sync: sync)
    }

    func discard() { sink.discard() }

    private func send(from base: AVRational) throws(MediaError) {
        guard let stream = context.pointee.streams?[Int(packet.pointee.stream_index)] else { return }
        av_packet_rescale_ts(packet, base, stream.pointee.time_base)
        videoPackets += 1
        try interleave(packet)
    }

    /// The errno of a failed write is more specific than libavformat's code, and libavformat may not return it at all.
    private func check(_ code: Int32) throws(MediaError) {
        if io.failure != 0 { throw sink.failure(io.failure) }
        guard code < 0 else { return }
        let reason = "\(sink.name) cannot be written: \(MediaError.text(ofLibAV: code))"
        // Without a failed write, the muxer refuses what the input contains; movenc.c returns -1 for some of it.
        let isInputFault =
            code == clibav_error(EINVAL) || code == clibav_error(EPERM) || code == clibav_invalid_data()
        throw MediaError(isInputFault ? .badInput : .cannotWrite, LibAVLog.explain(reason))
    }
}
