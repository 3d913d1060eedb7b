// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel

extension Demuxer {
    /// Whether the format stores no timestamps, as elementary streams do not.
    ///
    /// libavformat counts those in 1/1200000 s, which no container does, and makes timestamps up from the frame rate.
    var isUntimed: Bool {
        guard let format = context.pointee.iformat, let base = video?.time_base else { return false }
        return format.pointee.flags & AVFMT_NOTIMESTAMPS != 0 || (base.num == 1 && base.den == 1_200_000)
    }

    /// What the file says of the video stream, and how its frames will be handed out.
    func describeVideo(
        _ stream: AVStream, _ parameters: AVCodecParameters, _ plan: SampleConversion
    ) -> VideoDescription {
        let average = Rational(positive: stream.avg_frame_rate)
        let base = Rational(positive: stream.r_frame_rate)
        let ticks = isUntimed ? (average ?? base)?.inverse : Rational(positive: stream.time_base)
        let aspect =
            Rational(positive: stream.sample_aspect_ratio) ?? Rational(positive: parameters.sample_aspect_ratio)
        let matrix = Self.displayMatrix(stream)
        let extradata = UnsafeBufferPointer(
            start: parameters.extradata, count: parameters.extradata == nil ? 0 : Int(parameters.extradata_size))
        return VideoDescription(
            streamIndex: videoIndex, codec: Self.codecName(parameters), codecConfiguration: Array(extradata),
            width: Int(parameters.width), height: Int(parameters.height),
            sourceFormat: SampleFormats.name(plan.source), sourceBitDepth: SampleFormats.bitDepth(plan.source),
            format: plan.target, conversion: plan.sentence,
            isInterlaced: parameters.field_order.rawValue > AV_FIELD_PROGRESSIVE.rawValue, color: plan.color,
            averageFrameRate: average,
            baseFrameRate: base, timeBase: ticks ?? Rational(1, 25) ?? Rational(1),
            duration: isUntimed || stream.duration <= 0 ? nil : stream.duration,
            frameCount: stream.nb_frames > 0 ? Int(stream.nb_frames) : nil, sampleAspectRatio: aspect,
            displayMatrix: matrix, rotation: Self.rotation(matrix), masteringDisplay: Self.masteringDisplay(stream),
            contentLight: Self.contentLight(stream))
    }

    /// Every stream but the video that is decoded.
    var otherStreams: [OtherStream] {
        (0..<streamCount).filter { $0 != videoIndex }.compactMap { index in
            guard let stream = stream(index)?.pointee, let parameters = stream.codecpar?.pointee else { return nil }
            let language = av_dict_get(stream.metadata, "language", nil, 0)
                .flatMap { $0.pointee.value }.map { String(cString: $0) }
            let isData = parameters.codec_type == AVMEDIA_TYPE_DATA
            let isTimecode = isData && parameters.codec_tag == clibav_tag(0x74, 0x6D, 0x63, 0x64)  // tmcd
            return OtherStream(
                index: index, content: Self.content(parameters.codec_type),
                codec: isTimecode ? "timecode" : Self.codecName(parameters), language: language,
                isPicture: stream.disposition & (AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS)
                    != 0,
                // What movenc and QuickTime write, and mov.c turns into chapters.
                isChapterTitles: isData && parameters.codec_id == AV_CODEC_ID_BIN_DATA
                    && context.pointee.nb_chapters > 0,
                isTimecode: isTimecode)
        }
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
        for index in 0..<Int(stream.nb_side_data) {
            guard let data = stream.side_data?[index], data.type == AV_PKT_DATA_DISPLAYMATRIX,
                data.size >= 9 * MemoryLayout<Int32>.size, let bytes = data.data
            else { continue }
            return (0..<9).map {
                UnsafeRawPointer(bytes).loadUnaligned(fromByteOffset: $0 * 4, as: Int32.self)
            }
        }
        return nil
    }

    /// libavutil counts counterclockwise and has no angle for a singular matrix.
    static func rotation(_ matrix: [Int32]?) -> Double {
        guard let matrix else { return 0 }
        let degrees = av_display_rotation_get(matrix)
        guard degrees.isFinite else { return 0 }
        let clockwise = -degrees
        return clockwise < 0 ? clockwise + 360 : clockwise + 0
    }
}
