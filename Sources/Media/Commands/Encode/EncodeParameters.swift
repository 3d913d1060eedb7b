// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDExport
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// The parameters of the sessions that one `hwctl encode` creates.
struct EncodeParameters {
    /// Frames per second that rate control accepts; timestamps are kept whatever the rate.
    private static let possibleRates = 0.001...1000

    /// How the encoder is chosen.
    var specification: [PropertyKey: PropertyValue]
    /// Properties that the user set.
    var userProperties: [PropertyKey: PropertyValue]
    /// Whether alpha is coded.
    var keepsAlpha: Bool
    /// Whether hardware may decode the input.
    var allowsHardwareDecoder: Bool
    /// What happens to the source's HDR metadata and colors.
    var hdr = HDRMode.preserve
    /// Whether properties of color change the description alone.
    var retags = false
    /// The size, part and rate of the pictures.
    var picture = PictureRequest()
    /// Settings that apply where the user set none.
    var preset: ExportPreset?

    /// Adds the preset's properties for an input, which those that the user set override.
    /// - Throws: `unsupported` where the preset does not fit the input.
    mutating func applyPreset(to reader: MediaReader) throws(MediaError) {
        guard let preset else { return }
        var source = ExportSource(reader.video)
        source.apply(picture)
        if let reason = ExportCompatibility(preset, source).reason {
            throw MediaError(.unsupported, "\(reader.path): the preset \(preset.name) does not fit: \(reason)")
        }
        let size = preset.size(of: source.size)
        if size != source.size, picture.size == nil, picture.maxHeight == nil {
            picture.size = PictureRequest.Size(width: size.width, height: size.height)
        }
        let rates: Set<PropertyKey> = [.averageBitRate, .quality, .qp]
        for (name, value) in preset.properties(for: source, PresetFiles.catalogue.rates) {
            let key = PropertyKey(rawValue: name)
            if rates.contains(key), rates.contains(where: { userProperties[$0] != nil }) { continue }
            if key == .prioritizeSpeed, userProperties[.x265Preset] != nil { continue }
            if userProperties[key] == nil { userProperties[key] = value }
        }
    }

    /// How often the frames are coded.
    var passCount: Int { (userProperties[.multiPassStorage] ?? .null) == .null ? 1 : 2 }

    /// Refuses a profile that cannot hold the frames, in the words of the command line.
    func check(_ format: PixelFormat) throws(MediaError) {
        guard userProperties[.profileLevel] == EncoderArguments.ProfileName.main.property, format.isYCbCr,
            format.bitDepth > 8
        else { return }
        throw MediaError(
            .usage, "--profile main holds 8 bits and this video has \(format.bitDepth): leave --profile out")
    }

    /// Whether the input's alpha is read.
    var readsAlpha: Bool { keepsAlpha || picture.background != nil }

    /// The request about colors.
    var color: EncodeColor.Request {
        EncodeColor.Request(hdr: hdr, properties: userProperties, retags: retags, effects: picture.effects)
    }

    /// The parameters of Create: size, format, color and rate of the source, overridden by what the user set.
    ///
    /// - Parameters:
    ///   - video: the source, with the output's color.
    ///   - format: the format of the frames that are sent.
    ///   - layerMode: the mode of the input's HEVC alpha layer; nil for other inputs.
    func create(
        _ video: VideoDescription, _ format: PixelFormat, layerMode: AlphaChannelMode?
    ) -> CreateCompressionSession.Parameters {
        var properties: [PropertyKey: PropertyValue] = [:]
        if let rate = Self.frameRate(video) { properties[.expectedFrameRate] = .string(rate.description) }
        let color = video.color
        if color.isSpecified {
            properties[.colorPrimaries] = .int(Int64(color.primaries))
            properties[.transferFunction] = .int(Int64(color.transfer))
            properties[.yCbCrMatrix] = .int(Int64(color.matrix))
        }
        if color.isFullRange { properties[.fullRangeVideo] = .bool(true) }
        if let location = color.chromaLocation { properties[.chromaLocation] = .int(Int64(location)) }
        properties.merge(SessionRequest.properties) { _, set in set }
        properties.merge(userProperties) { _, set in set }
        // The mode of the frames, which differs from the file's where the reader converted them.
        if picture.background != nil { properties[.sourceAlphaMode] = nil }
        if let mode = layerMode ?? video.alphaMode { properties[.sourceAlphaMode] = .string(mode.rawValue) }
        return CreateCompressionSession.Parameters(
            codec: keepsAlpha ? "hevc-with-alpha" : "hevc", width: video.width, height: video.height,
            pixelFormat: format, timeBase: video.timeBase,
            encoderSpecification: specification, properties: properties)
    }

    /// The source's rate, if a session accepts it.
    static func frameRate(_ video: VideoDescription) -> Rational? {
        [video.averageFrameRate, video.baseFrameRate].compactMap { $0 }.first { possibleRates.contains($0.value) }
    }

    /// The decoder's specification: it never requires hardware, because `--hardware require` is about the encoder.
    var decoderSpecification: [PropertyKey: PropertyValue] {
        [.enableHardwareDecoder: .bool(allowsHardwareDecoder && specification[.enableHardware] != .bool(false))]
    }
}
