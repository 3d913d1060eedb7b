// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMediaFile
internal import HWDModel
internal import HWDWire

/// What the sessions of one `hwctl encode` are asked for.
struct EncodeParameters {
    /// Frames a second that rate control can count with; timestamps are kept whatever the rate.
    private static let possibleRates = 0.001...1000

    /// What the user wants of the encoder's choice.
    var specification: [PropertyKey: PropertyValue]
    /// What the user wants of the stream.
    var wanted: [PropertyKey: PropertyValue]
    /// Whether alpha is coded.
    var keepsAlpha: Bool
    /// Whether hardware may decode the input.
    var allowsHardwareDecoder: Bool

    /// Create's parameters: the source's form, its colour and its rate, then what the user wants instead.
    ///
    /// - Parameter layerMode: How colours stand to an alpha that comes from an HEVC layer.
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
        properties.merge(wanted) { _, wanted in wanted }
        // What the frames are by now, which is not what the file was where they were converted on the way.
        if let mode = layerMode ?? video.alphaMode { properties[.sourceAlphaMode] = .string(mode.rawValue) }
        return CreateCompressionSession.Parameters(
            codec: keepsAlpha ? "hevc-with-alpha" : "hevc", width: video.width, height: video.height,
            pixelFormat: format, timeBase: video.timeBase,
            encoderSpecification: specification, properties: properties)
    }

    /// The source's average rate, if a session can take it.
    static func frameRate(_ video: VideoDescription) -> Rational? {
        [video.averageFrameRate, video.baseFrameRate].compactMap { $0 }.first { possibleRates.contains($0.value) }
    }

    /// As for the encoder, but that a decoder in software is no reason to refuse hardware that encodes.
    var decoderSpecification: [PropertyKey: PropertyValue] {
        [.enableHardwareDecoder: .bool(allowsHardwareDecoder && specification[.enableHardware] != .bool(false))]
    }
}
