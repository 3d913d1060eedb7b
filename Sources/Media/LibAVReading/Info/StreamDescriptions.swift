// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

extension Demuxer {
    /// Whether the format stores no timestamps, as elementary streams do not.
    ///
    /// libavformat derives theirs from the frame rate, in a time base of 1/1200000 s that no container has.
    var isUntimed: Bool {
        guard let base = video?.time_base else { return false }
        return Self.isUntimed(context, base)
    }

    /// The same of a stream with this time base.
    static func isUntimed(_ context: UnsafePointer<AVFormatContext>, _ base: AVRational) -> Bool {
        guard let format = context.pointee.iformat else { return false }
        return format.pointee.flags & AVFMT_NOTIMESTAMPS != 0 || (base.num == 1 && base.den == 1_200_000)
    }

    /// The time line of the packets of `streams`.
    ///
    /// A movie's edit lists place its streams already, and elementary streams have no times.
    func timeline(_ streams: Set<Int>) -> InputTimeline {
        guard !isMovie, !isUntimed, let format = context.pointee.iformat else {
            return InputTimeline(start: nil, followsJumps: false, streams: [:])
        }
        let described = streams.compactMap { index in
            stream(index).flatMap { Self.timing($0.pointee) }.map { (index, $0) }
        }
        return InputTimeline(
            start: MediaPacket.timestamp(context.pointee.start_time),
            followsJumps: format.pointee.flags & AVFMT_TS_DISCONT != 0,
            streams: Dictionary(uniqueKeysWithValues: described))
    }

    private static func timing(_ stream: AVStream) -> InputTimeline.Stream? {
        guard let base = Rational(positive: stream.time_base), let parameters = stream.codecpar?.pointee else {
            return nil
        }
        let isAudio = parameters.codec_type == AVMEDIA_TYPE_AUDIO
        var timing = InputTimeline.Stream(timeBase: base, wrapBits: Int(stream.pts_wrap_bits))
        if isAudio, parameters.frame_size > 0, parameters.sample_rate > 0 {
            timing.packetDuration = Int64(parameters.frame_size) * 1_000_000 / Int64(parameters.sample_rate)
        }
        timing.isContinuous = isAudio || parameters.codec_type == AVMEDIA_TYPE_VIDEO
        timing.start = MediaPacket.timestamp(stream.start_time)
        return timing
    }

    /// The description of the video stream, whose frames pass through `conversion`.
    func describeVideo(
        _ stream: AVStream, _ parameters: AVCodecParameters, _ conversion: SampleConversion
    ) -> VideoDescription {
        let (average, base) = stream.frameRates(isUntimed: isUntimed)
        let ticks = isUntimed ? (average ?? base)?.inverse : Rational(positive: stream.time_base)
        let aspect =
            Rational(positive: stream.sample_aspect_ratio) ?? Rational(positive: parameters.sample_aspect_ratio)
        let matrix = Self.displayMatrix(stream)
        let extradata = UnsafeBufferPointer(
            start: parameters.extradata, count: parameters.extradata == nil ? 0 : Int(parameters.extradata_size))
        return VideoDescription(
            streamIndex: videoIndex, codec: Self.codecName(parameters), codecConfiguration: Array(extradata),
            width: Int(parameters.width), height: Int(parameters.height),
            sourceFormat: SampleFormats.name(conversion.source),
            sourceBitDepth: SampleFormats.bitDepth(conversion.source),
            format: conversion.target, conversion: conversion.summary,
            isInterlaced: parameters.field_order.rawValue > AV_FIELD_PROGRESSIVE.rawValue,
            fieldDetail: FieldDetail(parameters.field_order),
            color: conversion.color,
            averageFrameRate: average, baseFrameRate: base, timeBase: ticks ?? Rational(1, 25) ?? Rational(1),
            duration: isUntimed || stream.duration <= 0 ? nil : stream.duration,
            frameCount: stream.nb_frames > 0 ? Int(stream.nb_frames) : nil, sampleAspectRatio: aspect,
            displayMatrix: matrix, rotation: Self.rotation(matrix), masteringDisplay: Self.masteringDisplay(stream),
            contentLight: Self.contentLight(stream))
    }

    /// Every stream but the video that is decoded, and items.
    var otherStreams: [OtherStream] {
        (0..<streamCount).filter { $0 != videoIndex }.compactMap { index in
            guard let stream = stream(index)?.pointee, !stream.isItem(of: context),
                let parameters = stream.codecpar?.pointee
            else { return nil }
            let isData = parameters.codec_type == AVMEDIA_TYPE_DATA
            let isTimecode = isData && parameters.codec_tag == clibav_tag(0x74, 0x6D, 0x63, 0x64)  // tmcd
            // text and tx3g.
            let titleTags = [0, clibav_tag(0x74, 0x65, 0x78, 0x74), clibav_tag(0x74, 0x78, 0x33, 0x67)]
            var other = OtherStream(
                index: index, content: Self.content(parameters.codec_type),
                codec: isTimecode ? "timecode" : typeName(parameters, index),
                language: LibAVDictionary.value(stream.metadata, "language"), isPicture: stream.isPicture,
                // As written by movenc.c and QuickTime; mov.c also makes chapters of them.
                isChapterTitles: isData && parameters.codec_id == AV_CODEC_ID_BIN_DATA
                    && context.pointee.nb_chapters > 0 && titleTags.contains(parameters.codec_tag),
                isTimecode: isTimecode,
                sampleRate: parameters.sample_rate > 0 ? Int(parameters.sample_rate) : nil,
                channels: parameters.ch_layout.nb_channels > 0 ? Int(parameters.ch_layout.nb_channels) : nil)
            other.title = LibAVDictionary.value(stream.metadata, "title").flatMap { $0.isEmpty ? nil : $0 }
            other.flags = TrackFlag.flags(stream.disposition)
            other.isOfOtherProgram = isOfOtherProgram(index)
            other.isEncrypted = stream.isEncrypted
            return other
        }
    }

    /// Whether a stream belongs to programs, none of which has the video (ISO/IEC 13818-1 2.4.4.8).
    private func isOfOtherProgram(_ index: Int) -> Bool {
        var program = av_find_program_from_stream(context, nil, Int32(index))
        guard program != nil else { return false }
        while let found = program {
            let count = Int(found.pointee.nb_stream_indexes)
            let hasVideo = (0..<count).contains { found.pointee.stream_index?[$0] == UInt32(videoIndex) }
            if hasVideo { return false }
            program = av_find_program_from_stream(context, found, Int32(index))
        }
        return av_find_program_from_stream(context, nil, Int32(videoIndex)) != nil
    }

    /// The name of a stream's type: libavcodec's of the codec, or the container's code of one that it does not know.
    private func typeName(_ parameters: AVCodecParameters, _ index: Int) -> String {
        if parameters.codec_id == AV_CODEC_ID_NONE, let name = matroska?.codec(index) { return name }
        let isNamed = ![AV_CODEC_ID_NONE, AV_CODEC_ID_BIN_DATA].contains(parameters.codec_id)
        // The bytes of a tag are in the file's order; other numbers, such as MPEG-TS's types, are no codes.
        let tag = FourCC(rawValue: parameters.codec_tag.byteSwapped)
        return isNamed || tag.description.contains("?") ? Self.codecName(parameters) : tag.description
    }

    static func codecName(_ parameters: AVCodecParameters) -> String {
        parameters.codec_id == AV_CODEC_ID_NONE ? "unknown" : String(cString: avcodec_get_name(parameters.codec_id))
    }

    static func content(_ type: AVMediaType) -> OtherStream.Content {
        switch type {
        case AVMEDIA_TYPE_VIDEO: .video
        case AVMEDIA_TYPE_AUDIO: .audio
        case AVMEDIA_TYPE_SUBTITLE: .subtitle
        case AVMEDIA_TYPE_ATTACHMENT: .attachment
        default: .data
        }
    }

    static func displayMatrix(_ stream: AVStream) -> [Int32]? {
        guard let bytes = stream.sideData(AV_PKT_DATA_DISPLAYMATRIX),
            bytes.count >= 9 * MemoryLayout<Int32>.size
        else { return nil }
        return (0..<9).map { bytes.loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self) }
    }

    /// The matrix's clockwise rotation; libavutil counts counterclockwise and has no angle for singular matrices.
    static func rotation(_ matrix: [Int32]?) -> Double {
        guard let matrix else { return 0 }
        let degrees = av_display_rotation_get(matrix)
        guard degrees.isFinite else { return 0 }
        let clockwise = -degrees
        return clockwise < 0 ? clockwise + 360 : clockwise + 0
    }
}
