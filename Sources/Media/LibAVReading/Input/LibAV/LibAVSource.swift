// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDEdits
internal import HWDHEVC
internal import HWDLibAV
package import HWDMetadata
internal import HWDModel

/// A file demuxed by libavformat and decoded by libavcodec.
package final class LibAVSource: InputReader {
    package let demuxer: Demuxer
    let video: VideoDescription
    let otherStreams: [OtherStream]
    /// Notices about the input to show before it is used, one line each.
    let warnings: [String]
    /// Boxes of the video's first sample entry that a copy keeps as they are.
    let carriedBoxes: [Box]
    /// What the file holds that nothing here knows, by its type.
    let unknownContents: [String]
    /// The boxes of tracks of timed metadata by stream number.
    package let timedMetadata: [Int: TimedMetadataBoxes]
    /// The end of the video's edit list in seconds; nil without one.
    let editListEnd: Double?
    /// The sample entries of a movie that the video's samples use.
    let sampleEntries: [Box]
    /// The sample entries in the order of the samples; empty where the sample table does not show that.
    let entryRuns: [Box]
    var report = DecodeReport()
    /// Drops temporal levels; nil when all are read.
    let levels: LevelFilter?

    private var decoder: VideoDecoder?
    private let threads: Int
    private let streamsRead: Set<Int>
    private var converters: PictureConverters
    /// Whether pictures of another size are scaled to the first one's.
    private let scalesPictures: Bool
    var clock: PresentationClock
    private var colors: StreamColor
    private var packetMetadata: PacketMetadata?
    package private(set) var timeline: InputTimeline
    private let packet: UnsafeMutablePointer<AVPacket>
    private let frame: UnsafeMutablePointer<AVFrame>
    private let cancelFlag: CancelFlag
    /// Splits samples of sound that hold several frames, by stream number.
    private let splitters: [Int: FrameSplitter]
    /// The frames behind the first one of a sample, the last one first.
    private var frames: [MediaPacket] = []
    private var state = State.reading
    /// The configuration of a dropped packet, which the next one gets.
    private var newConfiguration: [UInt8]?
    /// The error that ended reading early; thrown after the decoder's last frame.
    private var earlyEnd: MediaError?

    /// Failures in a row, without a packet taken or a frame returned, after which decoding ends.
    private static let maxFailures = 4096

    /// The progress of reading; `packetPending` if the decoder has not accepted the last packet yet.
    private enum State { case reading, packetPending, draining, ended }

    init(
        _ file: InputFile, options: MediaReader.Options, cancelFlag: CancelFlag
    ) throws(MediaError) {
        let opening = try Opening.positioned(file, options, cancelFlag)
        demuxer = opening.demuxer
        threads = options.threads
        scalesPictures = options.scalesToFirstSize
        decoder = opening.isDecoded ? try opening.demuxer.makeDecoder(threads: options.threads) : nil
        otherStreams = opening.otherStreams
        streamsRead = opening.streamsRead
        warnings = opening.warnings(options)
        sampleEntries = opening.sampleEntries
        entryRuns = opening.boxes?.entryRuns(track: opening.stream.id) ?? []
        carriedBoxes =
            opening.boxes?.entryBoxes(track: opening.stream.id, FileContent.carriedTypes)
            ?? [DolbyVisionBox.make(opening.stream)].compactMap { $0 }
        unknownContents = opening.unknownContents
        timedMetadata = opening.timedMetadata
        editListEnd = opening.boxes?.editListEnd(track: opening.stream.id)
        var video = opening.video
        video.addMetadata(of: carriedBoxes)
        video.addProjection(opening.stream, opening.boxes)
        levels = try LevelFilter(
            options, opening.demuxer, opening.boxes, leavesUnsignaled: opening.isForDaemon, &video)
        self.video = video
        converters = PictureConverters(opening.conversion, video, path: opening.demuxer.path)
        clock = PresentationClock(video, isUntimed: opening.demuxer.isUntimed)
        colors = StreamColor(video.color)
        packetMetadata = (opening.stream.codecpar?.pointee.codec_id).flatMap(PacketMetadata.init)
        timeline = opening.demuxer.timeline(opening.streamsRead)
        splitters = opening.demuxer.splitters(opening.streamsRead)
        self.cancelFlag = cancelFlag
        // Last: deinit, which frees them, does not run when init throws before every property is set.
        guard let packet = av_packet_alloc(), let frame = av_frame_alloc() else {
            throw MediaError(.io, "\(file.path): out of memory")
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

    /// Whether `next()` returns frames of the video, not packets.
    var decodes: Bool { decoder != nil }

    var isUntimed: Bool { demuxer.isUntimed }

    var levelReport: LevelReport? { levels?.report }

    /// Decodes a video that was left to the daemon; call it before the first `next()`.
    func decodeInProcess() throws(MediaError) {
        guard decoder == nil else { return }
        decoder = try demuxer.makeDecoder(threads: threads)
        levels?.dropUnsignaled()
    }

    func use(_ memory: any FrameMemory) { decoder?.use(memory) }

    var slotsHeld: Int { decoder?.heldPictures ?? 0 }

    /// Bytes of a slot that the decoder can write into; 0 when its pictures are copied anyway.
    var directByteCount: Int {
        decoder?.slotByteCount(converters.conversion.source, width: video.width, height: video.height) ?? 0
    }

    func next() throws(MediaError) -> MediaReader.Item? {
        while true {
            try cancelFlag.check()
            countLoggedErrors()
            if let decoder, let item = try receive(decoder) { return item }
            switch state {
            case .ended: return nil
            case .draining: try end()
            case .packetPending: try sendPacket()
            case .reading:
                if let item = try readPacket() { return item }
            }
        }
    }

    /// Reads a packet; returns it unless it is decoded or dropped.
    private func readPacket() throws(MediaError) -> MediaReader.Item? {
        if let frame = frames.popLast() { return .packet(frame) }
        guard try readUnlessEnded() else {
            if let decoder {
                _ = decoder.send(nil)
                state = .draining
            } else {
                try end()
            }
            return nil
        }
        let index = Int(packet.pointee.stream_index)
        timeline.place(packet)
        report.discontinuities = timeline.jumps
        if index == demuxer.videoIndex {
            if packet.pointee.flags & AV_PKT_FLAG_KEY != 0 { demuxer.tally.passKeyFrame() }
            guard try isKept() else {
                av_packet_unref(packet)
                return nil
            }
            guard decoder == nil else {
                try sendPacket()
                return nil
            }
        }
        // Packets that were read while the file was probed ignore `discard`.
        guard streamsRead.contains(index),
            let base = demuxer.stream(index).flatMap({ Rational(positive: $0.pointee.time_base) })
        else {
            av_packet_unref(packet)
            return nil
        }
        guard let item = MediaPacket(moving: packet, timeBase: base) else {
            throw MediaError(.io, "\(demuxer.path): out of memory")
        }
        guard let parts = splitters[index]?.frames(of: item), parts.count > 1 else { return .packet(item) }
        frames = parts.dropFirst().reversed()
        return .packet(parts[0])
    }

    /// Whether the temporal level of the video's packet is read; a change of the configuration is kept in any case.
    private func isKept() throws(MediaError) -> Bool {
        guard let levels else { return true }
        if let configuration = MediaPacket.newConfiguration(packet) {
            newConfiguration = configuration
            levels.change(to: HEVCConfiguration(configuration))
        }
        guard levels.keeps(packet) else { return false }
        // Without the dropped pictures the remaining ones are shown for longer than the file's durations.
        if levels.changesRate { packet.pointee.duration = 0 }
        if let newConfiguration, !MediaPacket.set(newConfiguration: newConfiguration, of: packet) {
            throw MediaError(.io, "\(demuxer.path): out of memory")
        }
        newConfiguration = nil
        return true
    }

    /// Reads a packet; false at the end of the file, or after an error, which becomes `earlyEnd`.
    private func readUnlessEnded() throws(MediaError) -> Bool {
        do throws(MediaError) {
            if try demuxer.read(into: packet) { return true }
            earlyEnd = demuxer.cutOff(streamsRead)
        } catch {
            if error.kind == .interrupted { throw error }
            earlyEnd = error
        }
        return false
    }

    private func sendPacket() throws(MediaError) {
        guard let decoder else { return }
        if state == .reading { packetMetadata?.note(packet.pointee) }
        switch decoder.send(packet) {
        case .full: state = .packetPending
        case .taken:
            av_packet_unref(packet)
            state = .reading
        case .failed(let code):
            countFailure(code, at: packet.pointee.pts)
            av_packet_unref(packet)
            state = .reading
        }
    }

    /// The decoder's next frame; nil when it needs more packets or has ended.
    private func receive(_ decoder: VideoDecoder) throws(MediaError) -> MediaReader.Item? {
        guard state != .ended else { return nil }
        for _ in 0..<Self.maxFailures {
            switch decoder.receive(frame) {
            case .frame:
                countLoggedErrors()
                return .frame(try take(decoder))
            case .needsInput: return nil
            case .ended:
                try end()
                return nil
            case .failed(let code):
                if code == clibav_error(ENOMEM) { throw MediaError(.io, "\(demuxer.path): out of memory") }
                countFailure(code, at: clock.last)
            }
        }
        throw MediaError(.badInput, LibAVLog.explain("\(demuxer.path): the decoder makes no progress"))
    }

    private func take(_ decoder: VideoDecoder) throws(MediaError) -> SourceFrame {
        let picture = frame.pointee
        defer { av_frame_unref(frame) }
        let form = PictureConverters.Form(picture)
        let isScaled = (form.width, form.height) != (video.width, video.height)
        guard !isScaled || scalesPictures else {
            throw MediaError(
                .unsupported,
                "\(demuxer.path): the picture's size changes from \(video.width)x\(video.height) to "
                    + "\(picture.width)x\(picture.height) at frame \(report.frames)")
        }
        if picture.decode_error_flags != 0 || picture.flags & AV_FRAME_FLAG_CORRUPT != 0 {
            countError("the picture is damaged", at: picture.best_effort_timestamp)
        }
        let format = AVPixelFormat(rawValue: picture.format)
        let isNative = !isScaled && SampleFormats.native(format) == video.format
        let converter = isNative ? nil : try converters.converter(of: form)
        report.changes.note(
            frame: report.frames, width: form.width, height: form.height, format: SampleFormats.name(format),
            isScaled: isScaled, isConverted: format != converters.conversion.source)
        let direct = isNative ? decoder.direct(frame, video.format) : nil
        let color = color(of: picture, isConverted: !isNative)
        let (pts, duration, isRepaired) = clock.stamp(
            timestamp(of: picture), duration: clibav_duration(frame), index: report.frames)
        let metadata = PictureMetadata(frame, hdr10Plus: packetMetadata?.take(pts: picture.pts))
        if metadata.isIncomplete { report.incompleteMetadata += 1 }
        guard let owner = PictureOwner(moving: frame, converter: converter) else {
            throw MediaError(.io, "\(demuxer.path): out of memory")
        }
        let index = report.frames
        report.frames += 1
        if direct != nil { report.directFrames += 1 }
        if isRepaired { report.repairedTimestamps += 1 }
        let info = FrameInfo(
            pts: pts, duration: duration, size: (video.width, video.height), format: video.format, color: color,
            sideData: metadata.entries)
        return SourceFrame(
            index: index, info, alphaMode: video.alphaMode, DecodedSamples(owner, direct: direct))
    }

    /// A picture's time; HEVC's is as sessions return it.
    ///
    /// libavcodec's guess takes decoding times from a picture on that has the time of the one before it, as at a jump.
    private func timestamp(of picture: AVFrame) -> Int64 {
        video.codec == "hevc" && picture.pts != clibav_no_pts() ? picture.pts : picture.best_effort_timestamp
    }

    /// The color of a picture's samples; a conversion to the first picture's format gives them its range and siting.
    private func color(of picture: AVFrame, isConverted: Bool) -> ColorDescription {
        var color = colors.color(of: ColorDescription(picture))
        if isConverted {
            (color.isFullRange, color.chromaLocation) = (video.color.isFullRange, video.color.chromaLocation)
        }
        return color
    }

    /// Ends reading.
    /// - Throws: why the file ended early, or `badInput` when nothing in it could be decoded.
    private func end() throws(MediaError) {
        state = .ended
        if let earlyEnd { throw earlyEnd }
        guard decoder != nil, report.frames == 0 else { return }
        let reason = "\(demuxer.path): no frame of its \(video.codec) video can be decoded"
        throw MediaError(.badInput, LibAVLog.explain(reason))
    }
}
