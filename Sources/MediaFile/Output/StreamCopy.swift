// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel

/// Which of a source's streams an output takes over as they are, and why not the others.
enum StreamCopy {
    /// The outcome.
    struct Plan {
        var notes: [String] = []
        var streams: [OtherStream] = []
        /// Source stream number → output stream number.
        var numbers: [Int: Int32] = [:]
    }

    /// Adds an output stream for every audio and subtitle stream of `source` that the container can hold.
    ///
    /// `hasChapters` and `hasTimecode` say that these are written anew, so that the tracks they were in are not missed.
    static func plan(
        from source: MediaReader?, to output: UnsafeMutablePointer<AVFormatContext>, ending: String,
        hasChapters: Bool, hasTimecode: Bool
    ) -> Plan {
        var plan = Plan()
        guard let source, case .libAV(let input) = source.source else { return plan }
        for stream in source.otherStreams {
            if stream.isChapterTitles, hasChapters { continue }
            if stream.isTimecode, hasTimecode { continue }
            if let reason = add(stream, input.demuxer, output, ending) {
                plan.notes.append("\(stream.description) is not copied: \(reason)")
            } else {
                plan.streams.append(stream)
                plan.numbers[stream.index] = Int32(output.pointee.nb_streams) - 1
            }
        }
        return plan
    }

    /// Adds one stream; nil when that went well, else why not.
    private static func add(
        _ stream: OtherStream, _ input: Demuxer, _ output: UnsafeMutablePointer<AVFormatContext>, _ ending: String
    ) -> String? {
        switch stream.content {
        case .audio, .subtitle: break
        case .video: return stream.isPicture ? "pictures are not written" : "one video stream is written"
        case .data where stream.isTimecode: return "it does not count at the video's frame rate"
        case .data, .attachment: return "only audio, subtitles and timecodes are copied"
        }
        guard let source = input.stream(stream.index)?.pointee, let parameters = source.codecpar else {
            return "it has no parameters"
        }
        guard canHold(parameters, ending) else { return ".\(ending) cannot hold \(stream.codec)" }
        guard let copy = avformat_new_stream(output, nil), let target = copy.pointee.codecpar,
            avcodec_parameters_copy(target, parameters) >= 0
        else { return "out of memory" }
        target.pointee.codec_tag = tag(parameters, output)
        copy.pointee.time_base = source.time_base
        FileCopy.trackMetadata(from: source, to: copy)
        return nil
    }

    /// The source's tag where it means the same codec in the output, else the muxer's choice (0).
    private static func tag(
        _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ output: UnsafeMutablePointer<AVFormatContext>
    ) -> UInt32 {
        let tag = parameters.pointee.codec_tag
        guard let tables = output.pointee.oformat.pointee.codec_tag else { return 0 }
        return av_codec_get_id(tables, tag) == parameters.pointee.codec_id ? tag : 0
    }

    /// Asks for a tag of the container's own, then the muxer itself, which refuses some it has a tag for.
    ///
    /// Without the first the .mov muxer would take anything that WAV has a number for, and say it may be unplayable.
    private static func canHold(_ parameters: UnsafeMutablePointer<AVCodecParameters>, _ ending: String) -> Bool {
        var trial: UnsafeMutablePointer<AVFormatContext>?
        guard avformat_alloc_output_context2(&trial, nil, ending, nil) >= 0, let trial else { return false }
        guard avformat_query_codec(trial.pointee.oformat, parameters.pointee.codec_id, FF_COMPLIANCE_NORMAL) == 1,
            avio_open_dyn_buf(&trial.pointee.pb) >= 0
        else {
            avformat_free_context(trial)
            return false
        }
        // Nothing is written to it, but the muxer wants to hear that it could go back.
        trial.pointee.pb.pointee.seekable = AVIO_SEEKABLE_NORMAL
        defer {
            var bytes: UnsafeMutablePointer<UInt8>?
            avio_close_dyn_buf(trial.pointee.pb, &bytes)
            av_free(bytes)
            trial.pointee.pb = nil
            avformat_free_context(trial)
        }
        guard let stream = avformat_new_stream(trial, nil), let copy = stream.pointee.codecpar,
            avcodec_parameters_copy(copy, parameters) >= 0
        else { return false }
        copy.pointee.codec_tag = tag(parameters, trial)
        let ticks = parameters.pointee.sample_rate > 0 ? parameters.pointee.sample_rate : 1000
        stream.pointee.time_base = AVRational(num: 1, den: ticks)
        return avformat_init_output(trial, nil) >= 0
    }
}
