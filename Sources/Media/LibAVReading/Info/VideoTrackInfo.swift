// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDHEVC
internal import HWDLibAV
public import HWDMetadata
internal import HWDModel

/// The description of a video track.
public struct VideoTrackInfo: Hashable, Sendable, Encodable {
    /// The stream's number.
    public var stream: Int
    /// libavcodec's name of the codec.
    public var codec: String
    /// The four-character code of the sample entry or container (`hvc1`, `hev1`); nil when it has none.
    public var tag: String?
    /// The number of sample entries that the samples of a .mov or .mp4 use; nil for other files.
    public var sampleEntries: Int?
    /// The profile's name (`Main 10`); nil when not known.
    public var profile: String?
    /// The level in the standard's notation (`4.1`); nil when not known.
    public var level: String?
    /// HEVC's tier, `Main` or `High`; nil for other codecs.
    public var tier: String?
    /// Bits per sample; nil when not known.
    public var bitDepth: Int?
    /// `4:2:0`, …, `RGB`; nil when not known.
    public var chroma: String?
    /// libavutil's name of the pixel format; nil when not known.
    public var pixelFormat: String?
    /// Decoded width in samples.
    public var width: Int
    /// Decoded height in rows.
    public var height: Int
    /// The displayed part, from `clap`; nil when it is the whole picture.
    public var cleanAperture: CleanApertureInfo?
    /// `h:v` of one sample; nil when not known.
    public var pixelAspectRatio: String?
    /// Clockwise rotation by a player, in degrees.
    public var rotation: Double
    /// Frames per second over the whole track, as `n/d`; nil when not known.
    public var averageFrameRate: String?
    /// The lowest rate that represents every timestamp exactly, as `n/d`; nil when not known.
    public var baseFrameRate: String?
    /// The number of frames that the file declares; nil when it does not.
    public var frames: Int?
    /// Seconds; nil when not known.
    public var duration: Double?
    /// Whether frames are pairs of fields.
    public var interlaced: Bool
    /// The field that is shown first, `top` or `bottom`; nil for progressive video, and when not known.
    public var fieldOrder: String?
    /// Color, with libavutil's names of H.273's code points.
    public var color: ColorInfo
    /// Whether the transfer function is PQ or HLG.
    public var hdr: Bool
    /// Mastering display color volume; nil when not known.
    public var masteringDisplay: MasteringDisplayInfo?
    /// Content light levels; nil when not known.
    public var contentLight: ContentLightInfo?
    /// Dolby Vision; nil without.
    public var dolbyVision: DolbyVisionInfo?
    /// HDR10+; nil without.
    public var hdr10Plus: HDR10PlusInfo?
    /// The environment that it was mastered in; nil when not known.
    public var ambientViewing: AmbientViewingInfo?
    /// Closed captions inside the video, `CEA-608` and `CEA-708`; nil without any.
    public var captions: [String]?
    /// HEVC: the parts with one color each, where the color changes; else nil.
    public var colorSegments: [ColorSegmentInfo]?
    /// HEVC and H.264: the number of pictures that were searched for the above; nil where all were.
    public var searchedFrames: Int?
    /// HEVC: `vps_max_layers_minus1` + 1, which is 2 with an alpha layer; nil when not known.
    public var layers: Int?
    /// Whether there is alpha: in the pixels, or in a layer that the VPS or an alpha_channel_info message declares; nil
    /// when not known.
    public var alpha: Bool?
    /// `premultiplied` or `straight`, from an HEVC stream's alpha_channel_info; nil without one.
    public var alphaMode: String?
    /// HEVC with alpha: deviations from the interoperability profile; nil without an alpha layer.
    public var alphaDeviations: [String]?
    /// HEVC with alpha: whether its description follows the interoperability profile; nil without an alpha layer.
    public var followsAlphaProfile: Bool?
    /// HEVC: temporal sub-layers; nil when not known.
    public var temporalLayers: Int?
    /// HEVC: the temporal levels; nil with one level, and when not known.
    public var levels: [TemporalLevelInfo]?
    /// HEVC in a .mov or .mp4: the sample groups and `sdtp` that annotate its pictures; nil where there are none.
    public var annotations: [String]?
    /// Damage in the annotations, and contradictions to the pictures' NAL unit headers; nil without any.
    public var annotationFaults: [String]?
    /// Whether it is a single picture, such as a cover.
    public var picture: Bool
    /// ISO 639-2; nil without one.
    public var language: String?

    enum CodingKeys: String, CodingKey {
        case stream, codec, tag, profile, level, tier, chroma, width, height, rotation, frames, duration, interlaced
        case color, hdr, layers, alpha, picture, language, annotations
        case captions
        case dolbyVision = "dolby_vision"
        case hdr10Plus = "hdr10_plus"
        case ambientViewing = "ambient_viewing"
        case colorSegments = "color_segments"
        case searchedFrames = "searched_frames"
        case sampleEntries = "sample_entries"
        case bitDepth = "bit_depth"
        case fieldOrder = "field_order"
        case pixelFormat = "pixel_format"
        case cleanAperture = "clean_aperture"
        case pixelAspectRatio = "pixel_aspect_ratio"
        case averageFrameRate = "average_frame_rate"
        case baseFrameRate = "base_frame_rate"
        case masteringDisplay = "mastering_display"
        case contentLight = "content_light"
        case temporalLayers = "temporal_layers"
        case alphaMode = "alpha_mode"
        case alphaDeviations = "alpha_profile_deviations"
        case followsAlphaProfile = "follows_alpha_profile"
        case levels = "temporal_levels"
        case annotationFaults = "annotation_faults"
    }

    /// Describes a stream; `leadingUnits` reads the NAL units before the first picture of a byte stream.
    init(
        _ index: Int, _ stream: AVStream, _ parameters: AVCodecParameters, _ boxes: SourceBoxes?,
        _ tracks: MatroskaTracks?, leadingUnits: ([UInt8]) -> [[UInt8]]
    ) {
        self.stream = index
        codec = Demuxer.codecName(parameters)
        tag = Self.tag(parameters.codec_tag)
        width = Int(max(0, parameters.width))
        height = Int(max(0, parameters.height))
        let aspect =
            Rational(positive: stream.sample_aspect_ratio) ?? Rational(positive: parameters.sample_aspect_ratio)
        pixelAspectRatio = aspect.map { "\($0.numerator):\($0.denominator)" }
        if let tracks, let shown = tracks.aspect(index, aspect, width: width, height: height) {
            pixelAspectRatio = "\(shown.numerator):\(shown.denominator)"
        }
        let matrix = Demuxer.displayMatrix(stream)
        rotation = Demuxer.rotation(matrix)
        frames = stream.nb_frames > 0 ? Int(stream.nb_frames) : nil
        duration = Self.seconds(stream)
        interlaced = parameters.field_order.rawValue > AV_FIELD_PROGRESSIVE.rawValue
        fieldOrder = FieldDetail(parameters.field_order).map { $0.isTopFirst ? "top" : "bottom" }
        let description = ColorDescription(parameters)
        color = ColorInfo(description)
        hdr = description.isHDR
        masteringDisplay = Demuxer.masteringDisplay(stream).flatMap { MasteringDisplayInfo($0) }
        contentLight = Demuxer.contentLight(stream).flatMap { ContentLightInfo($0) }
        picture = stream.isPicture
        language = LibAVDictionary.value(stream.metadata, "language")
        sampleEntries = boxes.map { $0.sampleEntries(track: stream.id).count }
        let aperture =
            boxes?.cleanAperture(track: stream.id, width: width, height: height)
            ?? tracks?.aperture(index, width: width, height: height)
        cleanAperture = aperture.map { CleanApertureInfo($0) }
        profile = avcodec_profile_name(parameters.codec_id, parameters.profile).map { String(cString: $0) }
        let format = AVPixelFormat(rawValue: parameters.format)
        if parameters.format >= 0 {
            pixelFormat = SampleFormats.name(format)
            bitDepth = SampleFormats.bitDepth(format)
            chroma = Self.chroma(SampleFormats.traits(format))
            alpha = SampleFormats.traits(format).hasAlpha || Demuxer.alphaDecoder(stream) != nil
        }
        switch parameters.codec_id {
        case AV_CODEC_ID_HEVC: addParameterSets(parameters, leadingUnits)
        case AV_CODEC_ID_H264 where parameters.level > 0: level = Self.decimal(Int(parameters.level), 10)
        default: break
        }
    }

    /// Fills in the frame rates.
    mutating func addRates(_ stream: AVStream, isUntimed: Bool) {
        let rates = stream.frameRates(isUntimed: isUntimed)
        (averageFrameRate, baseFrameRate) = (rates.average?.description, rates.base?.description)
    }

    /// Corrects the fields by the track's first picture; for codecs other than HEVC only in the file's best video stream,
    /// which is the one that `FirstFrame` decodes.
    mutating func addFields(_ parameters: AVCodecParameters, _ file: InputFile) {
        let index = stream
        let fields = VideoFields(parameters) {
            StreamHead.nalUnits(
                file, streamIndex: index, framing: HEVCConfiguration(parameters.configuration).framing,
                cancelFlag: CancelFlag())
        } firstFrame: {
            FirstFrame(file, streamIndex: index, cancelFlag: CancelFlag())
        }
        interlaced = fields.isInterlaced
        fieldOrder = fields.detail.map { $0.isTopFirst ? "top" : "bottom" }
    }

    /// Fills in the contents of the parameter sets of the configuration record or the start of the byte stream.
    private mutating func addParameterSets(
        _ parameters: AVCodecParameters, _ leadingUnits: ([UInt8]) -> [[UInt8]]
    ) {
        guard let start = parameters.extradata, parameters.extradata_size > 0 else { return }
        let bytes = Array(UnsafeBufferPointer(start: start, count: Int(parameters.extradata_size)))
        let configuration = HEVCConfiguration(bytes)
        let units = configuration.nalUnits + leadingUnits(bytes)
        if let sps = HEVCConfiguration.baseLayerSets(units).first {
            tier = sps.profileTierLevel.general.map { $0.tierFlag ? "High" : "Main" }
            level = Self.decimal(sps.profileTierLevel.generalLevelIdc, 30)
            temporalLayers = sps.spsMaxSubLayersMinus1 + 1
            bitDepth = sps.bitDepthLuma
        }
        if let count = configuration.record?.numTemporalLayers, count > 0 { temporalLayers = count }
        if let vps = units.lazy.compactMap({ try? VideoParameterSet(nal: $0) }).first {
            layers = vps.vpsMaxLayersMinus1 + 1
            // The VPS extension defines the second layer's type; an alpha_channel_info message alone adds no layer.
            alpha = layers == 1 ? false : nil
        }
        if let layer = AlphaLayerInfo(nalUnits: units) {
            alpha = true
            alphaMode = layer.info.map { _ in layer.mode.rawValue }
            alphaDeviations = layer.deviations
            followsAlphaProfile = layer.deviations.isEmpty
        }
        addMessages(units)
    }

    private mutating func addMessages(_ units: [[UInt8]]) {
        for message in units.lazy.compactMap({ try? SEI(nal: $0) }).flatMap(\.messages) {
            switch try? message.interpreted() {
            case .alphaChannelInfo(.some)? where alpha == nil: alpha = true
            case .masteringDisplayColourVolume?:
                masteringDisplay = masteringDisplay ?? MasteringDisplayInfo(message.payload)
            case .contentLightLevelInfo?: contentLight = contentLight ?? ContentLightInfo(message.payload)
            default: break
            }
        }
    }

    /// `hvc1`; nil for 0.
    static func tag(_ tag: UInt32) -> String? { tag == 0 ? nil : FourCC(rawValue: tag.byteSwapped).description }

    /// A stream's duration in seconds; nil when not known.
    static func seconds(_ stream: AVStream) -> Double? {
        stream.duration > 0 && stream.time_base.den > 0 ? Double(stream.duration) * av_q2d(stream.time_base) : nil
    }

    private static func chroma(_ traits: SampleFormats.Traits) -> String? {
        if traits.isRGB { return "RGB" }
        if traits.isGray { return "4:0:0" }
        switch traits.chromaShift {
        case (0, 0): return "4:4:4"
        case (1, 0): return "4:2:2"
        case (1, 1): return "4:2:0"
        case (2, 0): return "4:1:1"
        default: return nil
        }
    }

    /// `value` / `unit` with one decimal, in the notation of levels: `4.1`, `5.0`.
    private static func decimal(_ value: Int, _ unit: Int) -> String {
        let tenths = (value * 10 + unit / 2) / unit
        return "\(tenths / 10).\(tenths % 10)"
    }
}
