// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDLibAV
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
    /// Whether a video track has an HDR transfer function (H.273 16 or 18).
    public var containsHDRVideo: Bool
    /// Whether a video track has alpha: in its pixels, or in an HEVC auxiliary layer.
    public var containsAlpha: Bool
    /// The video tracks, including pictures such as covers.
    public var video: [VideoTrackInfo]
    /// The other streams.
    public var otherStreams: [StreamInfo]
    /// The number of chapters.
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
    public init(path: String) throws(MediaError) {
        let file = try OpenedFile(path)
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
        addStreams(file)
        addY4MAlpha(file)
        guard !video.isEmpty || !otherStreams.isEmpty else {
            throw MediaError(.badInput, LibAVLog.explain("\(path) has no streams"))
        }
        addStaticMetadata(file)
        containsHDRVideo = video.contains { $0.hdr }
        containsAlpha = video.contains { $0.alpha == true }
    }

    private mutating func addStreams(_ opened: OpenedFile) {
        let context = opened.context.pointee
        let path = file
        let boxes = container.hasPrefix("mov,") && opened.canReopen ? SourceBoxes(path: path) : nil
        for index in 0..<min(Int(context.nb_streams), Self.maxStreams) {
            guard let stream = context.streams?[index]?.pointee, let parameters = stream.codecpar?.pointee else {
                continue
            }
            guard parameters.codec_type == AVMEDIA_TYPE_VIDEO else {
                otherStreams.append(StreamInfo(index, stream, parameters))
                continue
            }
            var track = VideoTrackInfo(index, stream, parameters, boxes) { configuration in
                guard opened.canReopen, AlphaLayerInfo.isUnsignaled(in: configuration) else { return [] }
                return StreamHead.nalUnits(path: path, streamIndex: index, cancelFlag: CancelFlag())
            }
            if parameters.codec_id == AV_CODEC_ID_HEVC { track.addLevels(path, opened.context, boxes) }
            video.append(track)
        }
    }

    /// Corrects Y4M with alpha: libavformat computes its duration from frames without alpha, whatever the header has.
    private mutating func addY4MAlpha(_ opened: OpenedFile) {
        guard file.lowercased().hasSuffix(".y4m"), opened.canReopen, video.count == 1,
            let y4m = try? Y4MSource(path: file, keepsAlpha: true, cancelFlag: CancelFlag()),
            y4m.header.format == .yuva
        else { return }
        video[0].alpha = true
        (video[0].duration, duration, bitRate) = (nil, nil, nil)
    }

    /// Takes HDR metadata from the first frame of the first HDR track whose container has none.
    ///
    /// Only of one track, the one that an encoder would read: a picture has to be decoded.
    private mutating func addStaticMetadata(_ opened: OpenedFile) {
        let needsFrame = { (track: VideoTrackInfo) in
            track.hdr && track.masteringDisplay == nil && track.contentLight == nil
        }
        guard opened.canReopen, let index = video.firstIndex(where: needsFrame) else { return }
        let light = FirstFrameLight(path: file, streamIndex: video[index].stream, cancelFlag: CancelFlag())
        video[index].masteringDisplay = light.masteringDisplay.flatMap { MasteringDisplayInfo($0) }
        video[index].contentLight = light.contentLight.flatMap { ContentLightInfo($0) }
    }

    /// Owner of an AVFormatContext while a description is made.
    private final class OpenedFile {
        let context: UnsafeMutablePointer<AVFormatContext>
        /// Whether the file can be opened a second time: neither a pipe nor a series of pictures.
        var canReopen: Bool { (context.pointee.pb?.pointee.seekable ?? 0) & AVIO_SEEKABLE_NORMAL != 0 }
        // The context's interrupt callback uses it without a reference.
        private let cancelFlag = CancelFlag()

        init(_ path: String) throws(MediaError) {
            LibAVLog.install()
            LibAVLog.forget()
            context = try Demuxer.open(path, cancelFlag, try ImageSeries(path), nil)
        }

        deinit {
            var context: UnsafeMutablePointer<AVFormatContext>? = context
            avformat_close_input(&context)
        }
    }
}
