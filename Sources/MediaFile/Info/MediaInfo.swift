// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDHEVC
internal import HWDLibAV
internal import HWDModel

/// What a media file says of itself, read without decoding it (but for a picture where nothing else tells).
public struct MediaInfo: Hashable, Sendable, Encodable {
    /// The version of this description's JSON form.
    public private(set) var schema = 1
    /// The path it was read from.
    public var file: String
    /// The format as libavformat names it (`mov,mp4,m4a,3gp,3g2,mj2`).
    public var container: String
    /// The same in words.
    public var containerName: String
    /// The brand of a .mov or .mp4; nil for others.
    public var brand: String?
    /// Seconds; nil when not known.
    public var duration: Double?
    /// Bits a second of the whole file; nil when not known.
    public var bitRate: Int?
    /// Whether a video track's format description gives an HDR transfer function (H.273 16 or 18).
    public var containsHDRVideo: Bool
    /// Whether a video track has alpha: in its pixels, or in an HEVC layer of its own.
    public var containsAlpha: Bool
    /// The video tracks, pictures such as covers among them.
    public var video: [VideoTrackInfo]
    /// The other streams.
    public var otherStreams: [StreamInfo]
    /// How many chapters there are.
    public var chapters: Int
    /// The file's metadata.
    public var metadata: [String: String]

    enum CodingKeys: String, CodingKey {
        case schema, file, container, brand, duration, video, chapters, metadata
        case containerName = "container_name"
        case bitRate = "bit_rate"
        case containsHDRVideo = "contains_hdr_video"
        case containsAlpha = "contains_alpha"
        case otherStreams = "other_streams"
    }

    /// The most streams that are described.
    private static let maxStreams = 1000

    /// Reads the description of the file at `path`, or of a series of pictures.
    /// - Throws: `noInput`, `noPermission`, `badInput` or `unsupported`.
    public init(path: String) throws(MediaError) { try self.init(try InputFile(path)) }

    /// Reads the description of an open file.
    /// - Throws: `noInput` for standard input, `badInput` or `unsupported`.
    public init(_ input: InputFile) throws(MediaError) {
        let path = input.path
        guard path != "-" else { throw .opening(path, errno: ENOENT) }
        let file = try OpenedFile(input)
        let context = file.context.pointee
        self.file = path
        container = context.iformat.map { String(cString: $0.pointee.name) } ?? "unknown"
        containerName = context.iformat.flatMap { $0.pointee.long_name }.map { String(cString: $0) } ?? container
        metadata = Self.dictionary(context.metadata)
        brand = metadata["major_brand"].map { String($0.reversed().drop { $0 == " " }.reversed()) }
        duration = context.duration > 0 ? Double(context.duration) / Double(AV_TIME_BASE) : nil
        bitRate = context.bit_rate > 0 ? Int(context.bit_rate) : nil
        chapters = Int(context.nb_chapters)
        video = []
        otherStreams = []
        let boxes = container.hasPrefix("mov,") && input.isSeekable ? SourceBoxes(input) : nil
        for index in 0..<min(Int(context.nb_streams), Self.maxStreams) {
            guard let stream = context.streams?[index]?.pointee, let parameters = stream.codecpar?.pointee else {
                continue
            }
            if parameters.codec_type == AVMEDIA_TYPE_VIDEO {
                video.append(
                    VideoTrackInfo(index, stream, parameters, boxes) { configuration in
                        guard input.isSeekable, AlphaLayerInfo.isUnsignaled(in: configuration) else { return [] }
                        return StreamHead.nalUnits(input, streamIndex: index, cancelFlag: CancelFlag())
                    })
                if parameters.codec_id == AV_CODEC_ID_HEVC {
                    video[video.count - 1].takeLevels(input, file.context, boxes)
                }
            } else {
                otherStreams.append(StreamInfo(index, stream, parameters))
            }
        }
        // libavformat counts frames of 4:2:0 without alpha, whatever the header says.
        if path.lowercased().hasSuffix(".y4m"), input.isSeekable, video.count == 1,
            let y4m = try? Y4MSource(input, keepsAlpha: true, cancelFlag: CancelFlag()),
            y4m.header.format == .yuva
        {
            video[0].alpha = true
            (video[0].duration, duration, bitRate) = (nil, nil, nil)
        }
        containsHDRVideo = video.contains { $0.hdr }
        containsAlpha = video.contains { $0.alpha == true }
        guard !video.isEmpty || !otherStreams.isEmpty else {
            throw MediaError(.badInput, LibAVLog.explain("\(path) has no streams"))
        }
        // Only one stream's first picture is looked into: the one that would be encoded.
        let isSilent = { (track: VideoTrackInfo) in
            track.hdr && track.masteringDisplay == nil && track.contentLight == nil
        }
        if input.isSeekable, let place = video.firstIndex(where: isSilent) {
            let light = FirstFrameLight(input, streamIndex: video[place].stream, cancelFlag: CancelFlag())
            video[place].masteringDisplay = light.masteringDisplay.flatMap { MasteringDisplayInfo($0) }
            video[place].contentLight = light.contentLight.flatMap { ContentLightInfo($0) }
        }
    }

    static func dictionary(_ source: OpaquePointer?) -> [String: String] {
        var result: [String: String] = [:]
        var entry: UnsafeMutablePointer<AVDictionaryEntry>?
        while let next = av_dict_get(source, "", entry, AV_DICT_IGNORE_SUFFIX) {
            entry = next
            if let key = next.pointee.key, let value = next.pointee.value {
                result[String(cString: key)] = String(cString: value)
            }
        }
        return result
    }

    /// Owner of an AVFormatContext while the file is described.
    private final class OpenedFile {
        let context: UnsafeMutablePointer<AVFormatContext>
        // The context uses both while it lives.
        private let cancelFlag = CancelFlag()
        private let io: InputIO?

        init(_ file: InputFile) throws(MediaError) {
            LibAVLog.install()
            LibAVLog.forget()
            io = InputIO(file, cancelFlag)
            context = try Demuxer.open(file, io, cancelFlag, nil)
        }

        deinit {
            var context: UnsafeMutablePointer<AVFormatContext>? = context
            avformat_close_input(&context)
        }
    }
}

/// What a file says of a stream that is no video.
public struct StreamInfo: Hashable, Sendable, Encodable {
    /// The stream's number.
    public var stream: Int
    /// `audio`, `subtitle`, `data`, `attachment`.
    public var content: String
    /// The codec as libavcodec names it.
    public var codec: String
    /// The four letters the container has for it; nil when it has none.
    public var tag: String?
    /// ISO 639-2; nil when not given.
    public var language: String?
    /// Audio samples a second.
    public var sampleRate: Int?
    /// Audio channels.
    public var channels: Int?
    /// Seconds; nil when not known.
    public var duration: Double?

    enum CodingKeys: String, CodingKey {
        case stream, content, codec, tag, language, channels, duration
        case sampleRate = "sample_rate"
    }

    init(_ index: Int, _ stream: AVStream, _ parameters: AVCodecParameters) {
        self.stream = index
        content = Demuxer.content(parameters.codec_type).rawValue
        codec = Demuxer.codecName(parameters)
        tag = VideoTrackInfo.tag(parameters.codec_tag)
        language = MediaInfo.dictionary(stream.metadata)["language"]
        sampleRate = parameters.sample_rate > 0 ? Int(parameters.sample_rate) : nil
        channels = parameters.ch_layout.nb_channels > 0 ? Int(parameters.ch_layout.nb_channels) : nil
        duration = VideoTrackInfo.seconds(stream)
    }
}
