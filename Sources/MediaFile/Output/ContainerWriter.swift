// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDHEVC
internal import HWDLibAV
internal import HWDModel

/// Owner of an output's AVFormatContext: a .mov or .mp4 with one HEVC track and copied audio.
///
/// `MediaWriter`'s lock guards it, so it may cross threads.
final class ContainerWriter: @unchecked Sendable {
    let notes: [String]
    let copiedStreams: [OtherStream]
    /// The sound that is converted, one line each.
    let conversions: [String]
    let context: UnsafeMutablePointer<AVFormatContext>
    let file: AtomicFile
    /// Source stream number → number in the output.
    let streamNumbers: [Int: Int32]
    /// Whether metadata has QuickTime's keys, which are arbitrary, instead of its four-character atoms.
    let writesMetadataKeys: Bool
    /// A timecode such as `01:00:00:00`, written as a `tmcd` track.
    let timecode: String?
    private let io: DescriptorIO
    private let packet: UnsafeMutablePointer<AVPacket>
    private var entries: SampleEntries?
    private var sampleCount = 0
    private var annotations: PictureAnnotations?
    /// Compatible brands that the muxer does not write.
    private var brands: [FourCC] = []
    private let isQuickTime: Bool
    /// Metadata that the muxer does not write.
    private let metadata: MovieMetadata
    /// Boxes of the source's sample entry that a copy keeps.
    private let carried: [Box]
    /// All boxes of that entry.
    private let sourceBoxes: [Box]?
    private var timeBase = AVRational(num: 1, den: 1)
    private var lastDTS: Int64?
    private var lastCopiedDTS: [Int32: Int64] = [:]
    /// The latest times of pictures that are shown and hidden, and the end of those that are shown, in ticks.
    private var (lastShown, lastHidden, shownEnd) = (Int64.min, Int64.min, Int64.min)
    /// The end of the source's edit list in seconds.
    private let sourceEnd: Double?
    /// Copied packets that came before `start`.
    private var queue: [MediaPacket] = []
    /// By source stream number.
    private let converters: [Int: SoundConverter]
    private var isStarted = false

    /// Microseconds by which audio may be ahead of the video: more than any encoder's look-ahead.
    private static let interleaveWindow: Int64 = 60_000_000

    init(
        _ file: AtomicFile, ending: String, source: MediaReader?, edits: FileEdits
    ) throws(MediaError) {
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
        (carried, sourceBoxes) = (source?.carriedBoxes ?? [], source?.firstEntryBoxes)
        sourceEnd = edits.range == nil ? source?.editListEnd : nil
        let video = source?.video
        timecode = FileCopy.timecode(
            from: source, rate: video?.averageFrameRate ?? video?.baseFrameRate, start: edits.range?.start ?? 0)
        let copy: StreamCopy
        do throws(MediaError) {
            copy = try StreamCopy(
                from: source, to: context, ending: ending, edits.sound,
                hasChapters: FileCopy.chapters(from: source, to: context, edits.range) > 0,
                hasTimecode: timecode != nil)
        } catch {
            // A class whose init throws runs no deinit until every property has a value.
            Self.free(context, packet)
            throw error
        }
        (copiedStreams, streamNumbers) = (copy.streams, copy.numbers)
        (converters, conversions) = (copy.converters, copy.conversions)
        FileCopy.videoMetadata(from: source, to: context, timecode: timecode)
        let copied = FileCopy.metadata(from: source, to: context)
        writesMetadataKeys = isQuickTime && copied.keys.contains { $0.hasPrefix("com.") }
        metadata = writesMetadataKeys ? MovieMetadata() : MovieMetadata(copied, isQuickTime: isQuickTime)
        notes = copy.notes + metadata.notes
        if isQuickTime, !writesMetadataKeys {
            for key in MovieMetadata.takenFromQuickTimeMuxer { av_dict_set(&context.pointee.metadata, key, nil, 0) }
        }
        context.pointee.pb = io.context
        context.pointee.flags |= AVFMT_FLAG_CUSTOM_IO
        context.pointee.avoid_negative_ts = AVFMT_AVOID_NEG_TS_DISABLED
        context.pointee.max_interleave_delta = Self.interleaveWindow
    }

    deinit {
        // The I/O context is this module's, not libavformat's to close.
        context.pointee.pb = nil
        Self.free(context, packet)
        file.discard()
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
            throw MediaError(.io, "\(file.path): out of memory")
        }
        try configure(parameters, track, boxes)
        configure(stream, track, boxes)
        try attach(track.displayMatrix, to: stream)
        var boxes = boxes
        if track.isCopy { boxes.carried = carried }
        // QuickTime movies have no such brand.
        brands = boxes.isDolbyVision && !isQuickTime ? ["dby1"] : []
        entries = SampleEntries(boxes, record, hvcC: track.hvcC, source: sourceBoxes, isQuickTime: isQuickTime)
        annotations = PictureAnnotations(record, isQuickTime: isQuickTime)
        timeBase = track.timeBase.libAV
        try check(writeHeader(track))
        isStarted = true
        for packet in queue { try write(copied: packet) }
        queue = []
    }

    /// Changes the configuration of the packets that follow.
    func change(to configuration: TrackConfiguration) throws(MediaError) {
        guard isStarted else { throw MediaError(.usage, "a configuration cannot change before the track") }
        try entries?.change(to: configuration, atSample: sampleCount)
    }

    /// The number of sample entries of the video track.
    var entryCount: Int { entries?.count ?? 0 }

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
        if isShown {
            (lastShown, shownEnd) = (max(lastShown, pts), max(shownEnd, pts + max(0, duration)))
        } else {
            lastHidden = max(lastHidden, pts)
        }
        sampleCount += 1
        try send(from: timeBase)
    }

    /// Writes a packet of another stream than the video, or what it becomes.
    func write(copied source: MediaPacket) throws(MediaError) {
        guard let number = streamNumbers[source.streamIndex] else { return }
        guard isStarted else {
            queue.append(source)
            return
        }
        guard let converter = converters[source.streamIndex] else { return try put(source, number) }
        for packet in try converter.convert(source) { try put(packet, number) }
    }

    private func put(_ source: MediaPacket, _ number: Int32) throws(MediaError) {
        guard av_packet_ref(packet, source.packet) >= 0 else {
            throw MediaError(.io, "\(file.path): out of memory")
        }
        packet.pointee.stream_index = number
        packet.pointee.pos = -1
        repairTimes(&packet.pointee, after: lastCopiedDTS[number])
        lastCopiedDTS[number] = packet.pointee.dts
        try send(from: source.timeBase.libAV)
    }

    /// Writes the last packets of converted sound.
    private func finishSound() throws(MediaError) {
        for (index, converter) in converters.sorted(by: { $0.key < $1.key }) {
            guard let number = streamNumbers[index] else { continue }
            for packet in try converter.finish() { try put(packet, number) }
        }
    }

    /// Warnings about damaged sound, one line each.
    var soundWarnings: [String] { converters.sorted { $0.key < $1.key }.compactMap(\.value.warning) }

    /// Makes decoding times ascend where a container has none, or where they jump back: the next tick is used.
    private func repairTimes(_ packet: inout AVPacket, after last: Int64?) {
        let none = clibav_no_pts()
        if !Ticks.isPossible(packet.dts) { packet.dts = none }
        if !Ticks.isPossible(packet.pts) { packet.pts = none }
        if packet.dts == none { packet.dts = packet.pts }
        if packet.dts == none { packet.dts = last.map { $0 + 1 } ?? 0 }
        if let last, packet.dts <= last { packet.dts = last + 1 }
        if packet.pts == none || packet.pts < packet.dts { packet.pts = packet.dts }
    }

    func finish(sync: Bool) throws(MediaError) {
        defer { file.discard() }
        guard isStarted, lastDTS != nil else {
            throw MediaError(.usage, "\(file.path) cannot be finished: it has no packet")
        }
        try finishSound()
        let code = av_write_trailer(context)
        isStarted = false
        avio_flush(io.context)
        try check(code)
        do throws(BoxError) {
            let languages = languages
            try MovieFile.finish(file.descriptor, brands: brands) { movie throws(BoxError) in
                try entries?.write(into: &movie, annotations)
                try TrackLanguages.write(languages, into: &movie)
                try metadata.write(into: &movie, isQuickTime: isQuickTime)
                if lastHidden >= lastShown, shownEnd > 0 {
                    let end = min(Double(shownEnd) * av_q2d(timeBase), sourceEnd ?? .infinity)
                    try EditListEnd.write(end, track: 1, into: &movie)
                }
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

    /// The errno of a failed write is more specific than libavformat's code, and libavformat may not return it at all.
    private func check(_ code: Int32) throws(MediaError) {
        if io.failure != 0 {
            throw MediaError(.io, "\(file.path) cannot be written: \(MediaError.text(ofErrno: io.failure))")
        }
        guard code < 0 else { return }
        let reason = "\(file.path) cannot be written: \(MediaError.text(ofLibAV: code))"
        // Without a failed write, the muxer refuses what the input contains.
        let isInputFault = code == clibav_error(EINVAL) || code == clibav_invalid_data()
        throw MediaError(isInputFault ? .badInput : .io, LibAVLog.explain(reason))
    }
}
