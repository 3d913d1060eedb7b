// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

extension ContainerWriter {
    /// The highest movie time scale that is chosen to represent all tracks exactly.
    private static let maxMovieScale: Int64 = 10_000_000

    /// Sets the codec parameters of the video stream.
    func configure(
        _ parameters: UnsafeMutablePointer<AVCodecParameters>, _ track: VideoTrack, _ boxes: VideoTrackBoxes
    ) throws(MediaError) {
        let configuration = format.hasStartCodes ? try Self.parameterSets(of: track) : track.hvcC
        guard let extradata = av_mallocz(configuration.count + Int(AV_INPUT_BUFFER_PADDING_SIZE)) else {
            throw MediaError(.io, "\(sink.name): out of memory")
        }
        configuration.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: extradata, count: $0.count).copyMemory(from: $0)
        }
        parameters.pointee.extradata = extradata.assumingMemoryBound(to: UInt8.self)
        parameters.pointee.extradata_size = Int32(configuration.count)
        parameters.pointee.codec_type = AVMEDIA_TYPE_VIDEO
        parameters.pointee.codec_id = AV_CODEC_ID_HEVC
        parameters.pointee.codec_tag = format.isHVC1 ? clibav_tag(0x68, 0x76, 0x63, 0x31) : 0  // hvc1
        parameters.pointee.width = Int32(boxes.codedWidth)
        parameters.pointee.height = Int32(boxes.codedHeight)
        // Encoded frames have both fields' lines; a copy's pictures are as its source declares them.
        let fields = track.isCopy ? track.fieldDetail : track.fieldDetail?.interleaved
        parameters.pointee.field_order =
            track.isInterlaced ? fields?.libAV ?? AV_FIELD_UNKNOWN : AV_FIELD_PROGRESSIVE
        track.color.write(to: &parameters.pointee)
        if let aspect = Self.aspectRatio(track, boxes) { parameters.pointee.sample_aspect_ratio = aspect }
    }

    private static func parameterSets(of track: VideoTrack) throws(MediaError) -> [UInt8] {
        AccessUnitFormatter.parameterSets(try TrackConfiguration(hvcC: track.hvcC).record())
    }

    /// Sets the video stream's time base, frame rate and aspect ratio.
    func configure(_ stream: UnsafeMutablePointer<AVStream>, _ track: VideoTrack, _ boxes: VideoTrackBoxes) {
        if let aspect = Self.aspectRatio(track, boxes) { stream.pointee.sample_aspect_ratio = aspect }
        stream.pointee.time_base = track.timeBase.libAV
        if let rate = track.frameRate?.libAV {
            stream.pointee.avg_frame_rate = rate
            stream.pointee.r_frame_rate = rate
        }
    }

    /// The sample aspect ratio, 1:1 where there is a clean aperture.
    ///
    /// Players derive an aspect ratio from a `tkhd` size that is not the picture's, unless there is a `pasp`.
    private static func aspectRatio(_ track: VideoTrack, _ boxes: VideoTrackBoxes) -> AVRational? {
        (track.sampleAspectRatio ?? boxes.cleanAperture.map { _ in Rational(1) })?.libAV
    }

    /// Attaches a display matrix of 9 numbers.
    func attach(
        _ matrix: [Int32]?, to stream: UnsafeMutablePointer<AVStream>
    ) throws(MediaError) {
        guard let matrix else { return }
        guard matrix.count == 9 else { throw MediaError(.usage, "a display matrix has 9 numbers") }
        guard let data = clibav_new_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, 9 * 4) else {
            throw MediaError(.io, "\(sink.name): out of memory")
        }
        matrix.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: data, count: $0.count).copyMemory(from: $0) }
    }

    /// Writes the header; returns libavformat's code.
    func writeHeader(_ track: VideoTrack) -> Int32 {
        var options: OpaquePointer?
        defer { av_dict_free(&options) }
        switch format {
        case .mov, .mp4, .fmp4: setMovieOptions(&options, track)
        case .nut where !sink.isFile:
            // An index at the end would grow with the stream, and no reader of a pipe finds it.
            av_dict_set_int(&options, "write_index", 0, 0)
        case .mpegts:
            // Decoders buffer so long before they start (ISO/IEC 13818-1 2.4.2.6 allows 1 s); decoding times stay positive.
            context.pointee.max_delay = 700_000
        case .matroska, .nut, .hevc: break
        }
        // Muxers write Dolby Vision's record as an extension of their formats.
        if movie == nil { context.pointee.strict_std_compliance = FF_COMPLIANCE_UNOFFICIAL }
        return avformat_write_header(context, &options)
    }

    private func setMovieOptions(_ options: inout OpaquePointer?, _ track: VideoTrack) {
        var flags: [String] = []
        if track.color.isSpecified { flags.append("write_colr") }
        if movie?.writesMetadataKeys ?? false { flags.append("use_metadata_tags") }
        // The movie box waits for the first packets, whose times its edit lists have.
        if format == .fmp4 { flags += ["frag_keyframe", "delay_moov", "default_base_moof"] }
        if !flags.isEmpty { av_dict_set(&options, "movflags", flags.joined(separator: "+"), 0) }
        // Edit lists are in ticks of the movie, and start times must be exact.
        av_dict_set_int(&options, "movie_timescale", movieScale(track), 0)
        av_dict_set(&options, "write_tmcd", timecode == nil ? "0" : "1", 0)
    }

    /// What the muxer does not write of the streams, in the order of their tracks.
    var trackProperties: [TrackProperties] {
        (0..<Int(context.pointee.nb_streams)).map { index in
            let stream = context.pointee.streams?[index]?.pointee
            return TrackProperties(
                language: LibAVDictionary.value(stream?.metadata, "language"),
                flags: TrackFlag.flags(stream?.disposition ?? 0),
                isSubtitle: stream?.codecpar?.pointee.codec_type == AVMEDIA_TYPE_SUBTITLE)
        }
    }

    /// A time scale in which every track's ticks are integers; the video's own where that would be too high.
    private func movieScale(_ track: VideoTrack) -> Int64 {
        var video = Int64(track.timeBase.denominator)
        // movenc.c doubles a track's scale up to this bound.
        while video < 10_000 { video *= 2 }
        var scale = video
        // movenc.c has a chapter's duration in these ticks, in 32 bits.
        let limit = Double(Int32.max) / (FileCopy.longestChapter(context) + 1)
        for number in streamNumbers.values {
            guard let rate = context.pointee.streams?[Int(number)]?.pointee.codecpar?.pointee.sample_rate, rate > 0
            else { continue }
            let next = scale / av_gcd(scale, Int64(rate)) * Int64(rate)
            if next > Self.maxMovieScale { return video }
            scale = next
        }
        if Double(scale) > limit { scale = Double(video) <= limit ? video : 1000 }
        return scale
    }
}
