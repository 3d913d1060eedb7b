// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import Glibc
internal import HWDHEVC
internal import HWDLibAV
public import HWDMetadata
internal import HWDModel

/// The description of a media file, read without decoding it, except for HDR metadata that only a frame has.
public struct MediaInfo: Hashable, Sendable, Encodable {
    /// The version of the JSON form.
    public private(set) var schema = 1
    /// The path it was read from.
    public var file: String
    /// libavformat's name of the format (`mov,mp4,m4a,3gp,3g2,mj2`).
    public var container: String
    /// libavformat's long name of the format.
    public var containerName: String
    /// The brand of a .mov or .mp4; nil for others.
    public var brand: String?
    /// Seconds; nil when not known.
    public var duration: Double?
    /// Bits per second of the whole file; nil when not known.
    public var bitRate: Int?
    /// Whether any part of a video track has an HDR transfer function (H.273 16 or 18).
    public var containsHDRVideo: Bool
    /// Whether a video track has alpha: in its pixels, or in an HEVC auxiliary layer.
    public var containsAlpha: Bool
    /// The video tracks, including pictures such as covers.
    public var video: [VideoTrackInfo]
    /// The other streams.
    public var otherStreams: [StreamInfo]
    /// The number of chapters.
    public var chapters: Int
    /// What makes the file the video of a Live Photo; nil for others.
    public var livePhoto: LivePhotoDescription?
    /// The file's metadata.
    public var metadata: [String: String]

    enum CodingKeys: String, CodingKey {
        case schema, file, container, brand, duration, video, chapters, metadata
        case containerName = "container_name"
        case bitRate = "bit_rate"
        case containsHDRVideo = "contains_hdr_video"
        case containsAlpha = "contains_alpha"
        case otherStreams = "other_streams"
        case livePhoto = "live_photo"
    }

    /// The most streams that are described.
    private static let maxStreams = 1000

    /// Reads the description of the file at `path`, or of a series of pictures.
    /// - Throws: `noInput`, `noPermission`, `badInput` or `unsupported`.
    public init(path: String) throws(MediaError) { try self.init(try InputFile(path)) }

    /// Reads the description of an open file.
    /// - Parameter scansPictures: whether pictures are searched for metadata that the container does not have.
    /// - Throws: `noInput` for standard input, `badInput` or `unsupported`.
    public init(_ input: InputFile, scansPictures: Bool = true) throws(MediaError) {
        let path = input.path
        guard path != "-" else { throw .opening(path, errno: ENOENT) }
        let file = try OpenedFile(input)
        let context = file.context.pointee
        self.file = path
        container = context.iformat.map { String(cString: $0.pointee.name) } ?? "unknown"
        containerName = context.iformat.flatMap { $0.pointee.long_name }.map { String(cString: $0) } ?? container
        metadata = LibAVDictionary.all(context.metadata)
        brand = metadata["major_brand"].map { String($0.reversed().drop { $0 == " " }.reversed()) }
        duration = context.duration > 0 ? Double(context.duration) / Double(AV_TIME_BASE) : nil
        bitRate = context.bit_rate > 0 ? Int(context.bit_rate) : nil
        chapters = Int(context.nb_chapters)
        video = []
        otherStreams = []
        containsHDRVideo = false
        containsAlpha = false
        addStreams(file, input)
        addY4MAlpha(input)
        if container.hasPrefix("mov,"), input.isSeekable {
            livePhoto = (try? LivePhotoClip(path)).flatMap { LivePhotoDescription($0) }
        }
        guard !video.isEmpty || !otherStreams.isEmpty else {
            throw MediaError(.badInput, LibAVLog.explain("\(path) has no streams"))
        }
        if scansPictures {
            addScans(input)
            addStaticMetadata(input)
        }
        containsHDRVideo = video.contains { $0.hdr || $0.colorSegments?.contains { $0.hdr } == true }
        containsAlpha = video.contains { $0.alpha == true }
    }

    private mutating func addStreams(_ opened: OpenedFile, _ input: InputFile) {
        let context = opened.context.pointee
        let boxes = container.hasPrefix("mov,") && input.isSeekable ? SourceBoxes(input) : nil
        let tracks = MatroskaTracks(input, opened.context)
        for index in 0..<Int(context.nb_streams) where video.count + otherStreams.count < Self.maxStreams {
            guard let stream = context.streams?[index]?.pointee, !stream.isItem(of: opened.context),
                let parameters = stream.codecpar?.pointee
            else { continue }
            guard parameters.codec_type == AVMEDIA_TYPE_VIDEO else {
                otherStreams.append(StreamInfo(index, stream, parameters))
                continue
            }
            var track = VideoTrackInfo(index, stream, parameters, boxes, tracks) { configuration in
                guard input.isSeekable, AlphaLayerInfo.isUnsignaled(in: configuration) else { return [] }
                return StreamHead.nalUnits(input, streamIndex: index, cancelFlag: CancelFlag())
            }
            track.addRates(stream, isUntimed: Demuxer.isUntimed(opened.context, stream.time_base))
            if input.isSeekable, !track.picture { track.addFields(parameters, input) }
            track.addHDRRecords(stream, boxes)
            if parameters.codec_id == AV_CODEC_ID_HEVC { track.addLevels(input, opened.context, boxes) }
            video.append(track)
        }
    }

    /// Corrects Y4M with alpha: libavformat computes its duration from frames without alpha, whatever the header has.
    private mutating func addY4MAlpha(_ input: InputFile) {
        guard file.lowercased().hasSuffix(".y4m"), input.isSeekable, video.count == 1,
            let y4m = try? Y4MSource(input, options: MediaReader.Options(), cancelFlag: CancelFlag()),
            y4m.header.chroma.native == .yuva
        else { return }
        video[0].alpha = true
        (video[0].duration, duration, bitRate) = (nil, nil, nil)
    }

    /// Takes HDR metadata from the first frame of the first HDR track whose container has none.
    ///
    /// Only of one track, the one that an encoder would read: a picture has to be decoded.
    private mutating func addStaticMetadata(_ input: InputFile) {
        let needsFrame = { (track: VideoTrackInfo) in
            track.hdr && track.masteringDisplay == nil && track.contentLight == nil
        }
        guard input.isSeekable, let index = video.firstIndex(where: needsFrame) else { return }
        let light = FirstFrame(input, streamIndex: video[index].stream, cancelFlag: CancelFlag())
        video[index].masteringDisplay = light.masteringDisplay.flatMap { MasteringDisplayInfo($0) }
        video[index].contentLight = light.contentLight.flatMap { ContentLightInfo($0) }
    }

    /// Owner of an AVFormatContext while the file is described.
    private final class OpenedFile {
        let context: UnsafeMutablePointer<AVFormatContext>
        // The context uses both until it is closed.
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
