// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDMetadata

/// The description of a stream other than video.
public struct StreamInfo: Hashable, Sendable, Encodable {
    /// The stream's number.
    public var stream: Int
    /// `audio`, `subtitle`, `data`, `attachment`.
    public var content: String
    /// libavcodec's name of the codec.
    public var codec: String
    /// The container's four-character code; nil when it has none.
    public var tag: String?
    /// ISO 639-2; nil without one.
    public var language: String?
    /// Audio samples per second.
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
        language = LibAVDictionary.value(stream.metadata, "language")
        sampleRate = parameters.sample_rate > 0 ? Int(parameters.sample_rate) : nil
        channels = parameters.ch_layout.nb_channels > 0 ? Int(parameters.ch_layout.nb_channels) : nil
        duration = VideoTrackInfo.seconds(stream)
    }
}
