// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// The streams of a source that an output gets beside the video, and the reasons against the others.
struct StreamCopy {
    /// The reasons against streams, one line each.
    private(set) var notes: [String] = []
    /// The streams that the output gets.
    private(set) var streams: [OtherStream] = []
    /// Source stream number → output stream number.
    private(set) var numbers: [Int: Int32] = [:]
    /// The boxes of tracks of timed metadata by output stream number.
    private(set) var timedMetadata: [Int32: TimedMetadataBoxes] = [:]
    /// The converters of sound and text by source stream number; the packets of other streams are copied.
    private(set) var converters: [Int: any PacketConverter] = [:]

    /// Adds an output stream for every subtitle stream of `source` that the container supports, and for its sound.
    ///
    /// - Parameters:
    ///   - isSeekable: whether the output is a file.
    ///   - hasChapters: whether chapters are written, which replaces the source's track of their titles.
    ///   - hasTimecode: whether a timecode is written, which replaces the source's timecode track.
    /// - Throws: `unsupported` where sound would be lost.
    init(
        from source: MediaReader?, to output: UnsafeMutablePointer<AVFormatContext>, _ format: OutputFormat,
        _ edits: FileEdits, isSeekable: Bool, hasChapters: Bool, hasTimecode: Bool
    ) throws(MediaError) {
        guard let source, let input = source.libAV else { return }
        let plan = try SoundPlan(
            source.otherStreams.filter { $0.content == .audio }, format, edits.sound,
            SoundPlan.Abilities(input.demuxer, isSeekable: isSeekable), path: source.path)
        var failure: (track: OtherStream, reason: String)?
        for stream in source.otherStreams {
            if stream.isChapterTitles, hasChapters { continue }
            if stream.isTimecode, hasTimecode { continue }
            let reason: String? =
                if let treatment = plan.treatments[stream.index] {
                    try add(stream, treatment, input.demuxer, output, format, edits.sound)
                } else if stream.isOfOtherProgram {
                    OtherStream.otherProgram
                } else if stream.isEncrypted {
                    "it is encrypted"
                } else if stream.content == .subtitle {
                    try add(text: stream, input.demuxer, output, format, edits.text)
                } else if format.isMovie, let boxes = input.timedMetadata[stream.index] {
                    add(stream, boxes, input.demuxer, output)
                } else {
                    Self.add(stream, input.demuxer, output, format)
                }
            if let reason {
                notes.append("\(stream.description) is not copied: \(reason)")
                if plan.treatments[stream.index]?.isKept ?? false { failure = failure ?? (stream, reason) }
            } else {
                streams.append(stream)
                numbers[stream.index] = Int32(output.pointee.nb_streams) - 1
            }
        }
        guard let failure, !streams.contains(where: { $0.content == .audio }) else { return }
        try SoundPlan.refuse(failure.track, because: failure.reason, edits.sound)
    }

    /// What is converted, one line each.
    var conversions: [String] { streams.compactMap { converters[$0.index]?.note } }

    /// Adds a track of sound; returns the reason against it, or nil.
    private mutating func add(
        _ track: OtherStream, _ treatment: SoundPlan.Treatment, _ input: Demuxer,
        _ output: UnsafeMutablePointer<AVFormatContext>, _ format: OutputFormat, _ sound: SoundOptions
    ) throws(MediaError) -> String? {
        switch treatment {
        case .leftOut(let reason): return reason
        case .copied:
            guard let source = input.stream(track.index)?.pointee,
                let frames = ADTSFrames(track, source, for: format)
            else { return Self.add(track, input, output, format) }
            guard let target = avformat_new_stream(output, nil), frames.describe(target) else {
                throw MediaError(.io, "\(input.path): out of memory")
            }
            FileCopy.trackMetadata(from: source, to: target, title: track.title)
            converters[track.index] = frames
            return nil
        case .converted(let codecs, let reason):
            guard let source = input.stream(track.index)?.pointee else { return "it has no parameters" }
            do throws(MediaError) {
                let converter = try SoundConverter(
                    track, source, to: codecs, because: reason, bitRate: sound.bitRate, path: input.path)
                guard let target = avformat_new_stream(output, nil), converter.describe(target) else {
                    throw MediaError(.io, "\(input.path): out of memory")
                }
                FileCopy.trackMetadata(from: source, to: target, title: track.title)
                converters[track.index] = converter
                return nil
            } catch {
                guard error.kind == .unsupported else { throw error }
                return error.reason
            }
        }
    }

    /// Adds a track of subtitles, converted where the container has another form of text; returns the reason against it,
    /// or nil.
    private mutating func add(
        text track: OtherStream, _ input: Demuxer, _ output: UnsafeMutablePointer<AVFormatContext>,
        _ format: OutputFormat, _ form: TextForm?
    ) throws(MediaError) -> String? {
        guard form != TextForm.none else { return "--subtitle none was given" }
        guard let reason = Self.add(track, input, output, format) else { return nil }
        guard form == nil, let source = input.stream(track.index)?.pointee,
            TextConverter.isText(source.codecpar.pointee.codec_id), TextConverter.codec(of: format) != nil
        else { return reason }
        do throws(MediaError) {
            let converter = try TextConverter(track, source, for: format, path: input.path)
            guard let target = avformat_new_stream(output, nil), converter.describe(target) else {
                throw MediaError(.io, "\(input.path): out of memory")
            }
            FileCopy.trackMetadata(from: source, to: target, title: track.title)
            converters[track.index] = converter
            return nil
        } catch {
            guard error.kind == .unsupported else { throw error }
            return "\(reason), and \(error.reason)"
        }
    }

    /// Adds a track of timed metadata as one of GoPro's, whose samples the muxer writes; its boxes are replaced at the end.
    private mutating func add(
        _ track: OtherStream, _ boxes: TimedMetadataBoxes, _ input: Demuxer,
        _ output: UnsafeMutablePointer<AVFormatContext>
    ) -> String? {
        guard let source = input.stream(track.index)?.pointee, let copy = avformat_new_stream(output, nil),
            let parameters = copy.pointee.codecpar
        else { return "out of memory" }
        parameters.pointee.codec_type = AVMEDIA_TYPE_DATA
        parameters.pointee.codec_id = AV_CODEC_ID_BIN_DATA
        parameters.pointee.codec_tag = clibav_tag(0x67, 0x70, 0x6D, 0x64)  // gpmd
        copy.pointee.time_base = source.time_base
        FileCopy.trackMetadata(from: source, to: copy)
        timedMetadata[Int32(output.pointee.nb_streams) - 1] = boxes
        return nil
    }

    /// Adds one stream; returns the reason against it, or nil.
    private static func add(
        _ stream: OtherStream, _ input: Demuxer, _ output: UnsafeMutablePointer<AVFormatContext>,
        _ format: OutputFormat
    ) -> String? {
        switch stream.content {
        case .audio, .subtitle: break
        case .video: return stream.isPicture ? "pictures are not written" : "one video stream is written"
        case .data where stream.isTimecode: return "it does not count at the video's frame rate"
        case .data where stream.isTimedMetadata: return "\(format.title) cannot hold timed metadata"
        case .data, .attachment: return FileContent.copiedStreams
        }
        guard let source = input.stream(stream.index)?.pointee, let parameters = source.codecpar else {
            return "it has no parameters"
        }
        guard canHold(parameters, format) else { return "\(format.title) cannot hold \(stream.codec)" }
        guard let copy = avformat_new_stream(output, nil), let target = copy.pointee.codecpar,
            clibav_copy_parameters(target, parameters) >= 0
        else { return "out of memory" }
        target.pointee.codec_tag = tag(parameters, output)
        copy.pointee.time_base = source.time_base
        FileCopy.trackMetadata(from: source, to: copy, title: stream.title)
        return nil
    }

    /// The source's tag where it denotes the same codec in the output, else the muxer's choice (0).
    private static func tag(
        _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ output: UnsafeMutablePointer<AVFormatContext>
    ) -> UInt32 {
        let tag = parameters.pointee.codec_tag
        guard let tables = output.pointee.oformat.pointee.codec_tag else { return 0 }
        return av_codec_get_id(tables, tag) == parameters.pointee.codec_id ? tag : 0
    }

    /// Whether the container has a tag for the codec and its muxer accepts it; some tags it refuses.
    ///
    /// Without the first check the .mov muxer accepts every codec with a WAV number, and warns that it may be unplayable.
    static func canHold(_ parameters: UnsafeMutablePointer<AVCodecParameters>, _ format: OutputFormat) -> Bool {
        var trial: UnsafeMutablePointer<AVFormatContext>?
        let isSound = parameters.pointee.codec_type == AVMEDIA_TYPE_AUDIO
        // A stream that begins behind what was probed has no parameters.
        guard !isSound || parameters.pointee.sample_rate > 0 && parameters.pointee.ch_layout.nb_channels > 0,
            format.isKnown(parameters.pointee.codec_id), format.takesChannels(of: parameters.pointee),
            avformat_alloc_output_context2(&trial, nil, format.muxer, nil) >= 0, let trial
        else { return false }
        guard
            format == .mpegts
                || avformat_query_codec(trial.pointee.oformat, parameters.pointee.codec_id, FF_COMPLIANCE_NORMAL)
                    == 1,
            avio_open_dyn_buf(&trial.pointee.pb) >= 0
        else {
            avformat_free_context(trial)
            return false
        }
        // Nothing is written to it, but the muxer requires seekable output.
        trial.pointee.pb.pointee.seekable = AVIO_SEEKABLE_NORMAL
        defer {
            var bytes: UnsafeMutablePointer<UInt8>?
            avio_close_dyn_buf(trial.pointee.pb, &bytes)
            av_free(bytes)
            trial.pointee.pb = nil
            avformat_free_context(trial)
        }
        guard let stream = avformat_new_stream(trial, nil), let copy = stream.pointee.codecpar,
            clibav_copy_parameters(copy, parameters) >= 0
        else { return false }
        copy.pointee.codec_tag = tag(parameters, trial)
        let ticks = parameters.pointee.sample_rate > 0 ? parameters.pointee.sample_rate : 1000
        stream.pointee.time_base = AVRational(num: 1, den: ticks)
        return avformat_init_output(trial, nil) >= 0
    }
}
