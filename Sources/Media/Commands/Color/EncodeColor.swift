// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDEdits
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// The color of an encoded video, and how frames of other colors become it.
struct EncodeColor {
    /// What the user asked for.
    struct Request {
        var hdr = HDRMode.preserve
        var properties: [PropertyKey: PropertyValue] = [:]
        /// Whether the properties change the description alone.
        var retags = false
        var effects = EffectList()
    }

    /// The source's color; properties describe what its file leaves unspecified.
    let source: ColorDescription
    /// The color that frames are converted to.
    let target: ColorDescription
    /// The color that the stream and its file declare: the target's, except where only the description changes.
    let tags: ColorDescription
    /// The format of the source's frames, until it changes within the stream.
    let sourceFormat: PixelFormat
    /// The format of the encoder's frames.
    let format: PixelFormat
    /// Whether the samples of the first frame change.
    let converts: Bool
    /// Whether the source's HDR metadata describe a picture that the output does not have.
    let dropsHDRMetadata: Bool
    /// The effects on all frames; nil for none.
    let effects: EffectRequest?
    /// What happens to the source's HDR metadata: a color that it has already needs no other than its own.
    let mode: HDRMode

    /// Chooses the color for a source in `format`.
    ///
    /// - Throws: `unsupported` for a color that cannot be converted; the errors of the effects' files.
    init(_ video: VideoDescription, _ format: PixelFormat, _ request: Request) throws(MediaError) {
        let properties = ColorProperties(request.properties)
        let source = properties.describing(video.color)
        let wanted = properties.applied(to: Self.color(of: request.hdr, source))
        target = request.retags ? source : wanted
        tags = wanted
        self.source = source
        sourceFormat = format
        let changes = try Self.differs(source, target, video)
        self.format = changes ? Self.format(format, source, target, request) : format
        effects = try EffectRequest.of(request.effects)
        converts = changes || effects != nil
        let codes = { (color: ColorDescription) in [color.primaries, color.transfer, color.matrix] }
        dropsHDRMetadata = effects != nil || codes(source) != codes(wanted)
        switch request.hdr {
        case .preserve where dropsHDRMetadata: mode = wanted.transfer == 18 ? .hlg : wanted.isHDR ? .pq : .sdr
        case .sdr where !dropsHDRMetadata, .pq where !dropsHDRMetadata, .hlg where !dropsHDRMetadata:
            mode = .preserve
        default: mode = request.hdr
        }
        if effects != nil { try Self.checkKnown(target, video, for: "--effect") }
        guard converts, format.hasAlpha else { return }
        throw MediaError(
            .unsupported,
            effects == nil
                ? "colors of frames with alpha cannot be converted to \(target.name)"
                : "--effect is not possible for frames with alpha; --background leaves alpha out")
    }

    /// The color that `--hdr` asks for.
    private static func color(of mode: HDRMode, _ source: ColorDescription) -> ColorDescription {
        var color = source
        switch mode {
        case .preserve, .regenerate, .drop: return source
        case .sdr:
            guard source.isHDR else { return source }
            (color.primaries, color.transfer, color.matrix) = (1, 1, 1)
        case .pq, .hlg:
            let transfer: UInt8 = mode == .pq ? 16 : 18
            guard source.transfer != transfer else { return source }
            (color.primaries, color.transfer, color.matrix) = (9, transfer, 9)
        }
        return color
    }

    /// The layout stays; SDR from HDR has 8 bits unless Main 10 is requested, HDR has 10.
    private static func format(
        _ format: PixelFormat, _ source: ColorDescription, _ target: ColorDescription, _ request: Request
    ) -> PixelFormat {
        var isDeep = format.bitDepth > 8 || target.isHDR
        if request.hdr == .sdr, source.isHDR, !target.isHDR {
            isDeep = request.properties[.profileLevel]?.description.contains("Main10") ?? false
        }
        return format.isSemiPlanar ? (isDeep ? .p010 : .nv12) : format.hasAlpha ? format : isDeep ? .i010 : .yu12
    }

    /// Whether samples differ where two descriptions do.
    private static func differs(
        _ source: ColorDescription, _ target: ColorDescription, _ video: VideoDescription
    ) throws(MediaError) -> Bool {
        guard source != target else { return false }
        do throws(SessionError) {
            let (from, to) = (try signal(source, video), try signal(target, video))
            return from != to
        } catch {
            throw MediaError(.unsupported, "\(source.name) cannot be converted to \(target.name): \(error.reason)")
        }
    }

    private static func signal(
        _ color: ColorDescription, _ video: VideoDescription
    ) throws(SessionError) -> SignalDescription {
        try SignalDescription(color, width: video.width, height: video.height)
    }

    /// Refuses to filter light where the light of the target's samples is not known.
    /// - Throws: `unsupported`, naming what is not known.
    func checkLight(_ video: VideoDescription) throws(MediaError) {
        try Self.checkKnown(target, video, for: "--filter-light linear")
    }

    private static func checkKnown(
        _ color: ColorDescription, _ video: VideoDescription, for option: String
    ) throws(MediaError) {
        do throws(SessionError) { _ = try signal(color, video) } catch {
            throw MediaError(.unsupported, "\(option) is not possible: \(error.reason)")
        }
    }

    /// How samples of a color are read; nil for one that cannot be converted.
    func signal(of color: ColorDescription, _ video: VideoDescription) -> SignalDescription? {
        try? Self.signal(color, video)
    }

    /// The source's description as the output has it.
    func applied(to video: VideoDescription) -> VideoDescription {
        var video = video
        // A profile describes samples of one color.
        if converts || tags != video.color || video.profileVaries { video.profile = nil }
        video.color = tags
        _ = removeHDRMetadata(of: &video)
        return video
    }

    /// Removes what does not hold for the output; returns its names.
    private func removeHDRMetadata(of video: inout VideoDescription) -> [String] {
        if dropsHDRMetadata { return video.removeHDRMetadata(convertedTo: tags) }
        // An RPU describes samples: a conversion of any kind removes it.
        guard converts, video.dolbyVision != nil else { return [] }
        video.dolbyVision = nil
        return ["the Dolby Vision metadata"]
    }

    /// The conversion of the first frame's colors in one line; nil where its samples stay.
    func summary(_ video: VideoDescription) -> String? {
        guard converts else {
            return source.name == tags.name
                ? nil
                : "the color description changes from \(source.name) to \(tags.name); samples stay as they are"
        }
        let applied = effects.map { "applying effects: \($0.texts.joined(separator: " "))" }
        guard source.name != target.name else { return applied }
        var line = "converting colors: \(source.name) → \(target.name), \(format.bitDepth) bit"
        if source.isHDR, let mapping = HDRMapping(to: target, isHLG: source.transfer == 18, video) {
            let peak = mapping.sourcePeak ?? HDRMapping.usualPeak
            let room = mapping.headroom * HDRMapping.referenceWhite
            if peak > room { line += ", tone-mapped from \(Int(peak.rounded())) to \(Int(room.rounded())) cd/m²" }
        }
        return [line, applied].compactMap { $0 }.joined(separator: "; ")
    }

    /// What the output leaves out of the source's HDR metadata, one line each.
    func notes(_ video: VideoDescription) -> [String] {
        var rest = video
        let why =
            effects != nil
            ? "effects change the picture"
            : dropsHDRMetadata ? "the picture is no longer \(source.name)" : "the samples are converted"
        return removeHDRMetadata(of: &rest).map { "left out: \($0), because \(why)" }
    }

    /// A warning about fields, whose chroma is mixed where colors of 4:2:0 are converted; nil where none are converted.
    ///
    /// - Parameter changedFrames: frames that were converted because their color is not the first one's.
    func interlacedWarning(_ video: VideoDescription, changedFrames: Int = 0) -> String? {
        guard video.isInterlaced, converts || changedFrames > 0 else { return nil }
        return "warning: the colors of interlaced frames are converted as if the frames were progressive"
    }

    /// How the colors of a video's frames relate to their alpha.
    func alphaMode(_ video: VideoDescription) -> AlphaChannelMode? { video.alphaMode ?? video.alphaLayerMode }

    /// The parameters of a session that keeps the color of frames, whatever it is: only the range of samples and the place of
    /// chroma matter, unless light is filtered.
    func parameters(
        keeping color: ColorDescription, format: PixelFormat, alphaMode: AlphaChannelMode?, filtersLight: Bool,
        _ video: VideoDescription
    ) throws(SessionError) -> CreateTransferSession.Parameters {
        guard let siting = ChromaSiting(locationType: color.chromaLocation ?? 0) else {
            throw SessionError(.parameter, "there is no chroma location \(color.chromaLocation ?? 0)")
        }
        let signal =
            filtersLight
            ? try Self.signal(color, video) : SignalDescription(isFullRange: color.isFullRange, siting: siting)
        var (source, target) = (
            CreateTransferSession.Image(format, signal), CreateTransferSession.Image(self.format, signal)
        )
        if format.hasAlpha { (source.alpha, target.alpha) = (alphaMode?.rawValue, alphaMode?.rawValue) }
        return CreateTransferSession.Parameters(
            width: video.width, height: video.height, source: source, target: target)
    }

    /// The parameters of a session that converts frames of one format.
    ///
    /// - Parameter color: the color of the first of them; each frame is sent with its own.
    func parameters(
        format: PixelFormat, color: ColorDescription, _ video: VideoDescription
    ) throws(SessionError) -> CreateTransferSession.Parameters {
        var options = CreateTransferSession.Options()
        options.chromaDownsampling = ConversionOptions.ChromaDownsampling.siting.rawValue
        let mapping = HDRMapping(to: target, isHLG: color.transfer == 18, video)
        options.targetHeadroom = mapping?.headroom
        options.masteringPeak = mapping?.sourcePeak
        effects?.apply(to: &options)
        return CreateTransferSession.Parameters(
            width: video.width, height: video.height,
            source: CreateTransferSession.Image(format, try Self.signal(color, video)),
            target: CreateTransferSession.Image(self.format, try Self.signal(target, video)), options: options)
    }
}

/// The tone mapping of HDR frames to a darker display (BT.2390 5.4.1).
struct HDRMapping {
    /// The display's peak in multiples of reference white, 203 cd/m² (BT.2408).
    let headroom: Double
    /// The source's peak in cd/m²; nil for HLG, whose display has 1000.
    let sourcePeak: Double?

    /// cd/m² of the displays that PQ and HLG are graded for where nothing is known, and of HLG's.
    static let usualPeak = 1000.0
    static let referenceWhite = 203.0

    /// nil where the target has room for all of the light: PQ, or SDR's own colors.
    init?(to target: ColorDescription, isHLG: Bool, _ video: VideoDescription) {
        switch target.transfer {
        case 16: return nil
        case 18: headroom = Self.usualPeak / Self.referenceWhite
        default: headroom = 1
        }
        sourcePeak = isHLG ? nil : video.peakLuminance ?? Self.usualPeak
    }
}

extension CreateTransferSession.Image {
    /// Frames of Y'CbCr, or of RGB, which has neither a matrix nor a range nor a siting.
    init(_ format: PixelFormat, _ signal: SignalDescription) {
        self.init(
            pixelFormat: format.rawValue, primaries: signal.primaries.rawValue, transfer: signal.transfer.rawValue)
        guard format.isYCbCr else { return }
        matrix = signal.matrix.rawValue
        range = signal.isFullRange ? "full" : "video"
        siting = signal.siting.rawValue
    }
}
