// SPDX-License-Identifier: MIT
package import HWClient
internal import HWDExport
package import HWDModel
package import HWDWire
package import HWMovies

/// The session of a recording.
package struct CaptureSettings: Sendable {
    /// Ticks a second of all times of a recording.
    package static let timeScale: UInt32 = 90_000

    /// The ticks that are nearest to nanoseconds.
    package static func ticks(_ nanoseconds: UInt64) -> Int64 { Int64((nanoseconds * 9 + 50_000) / 100_000) }

    package let format: CaptureFormat
    package let pixelFormat: PixelFormat
    /// The rate of the file, whatever the source's is; nil where frames are recorded as they come.
    package let constantRate: CaptureRate?
    private let specification: [PropertyKey: PropertyValue]
    private let asked: [PropertyKey: PropertyValue]
    /// x265's preset that the trial has chosen.
    package var preset: String?

    /// - Parameters:
    ///   - specification: of the encoder.
    ///   - asked: properties that replace those of recordings.
    ///   - constantRate: the rate of the file, whatever the source's is.
    package init(
        _ format: CaptureFormat, _ pixelFormat: PixelFormat, specification: [PropertyKey: PropertyValue],
        properties asked: [PropertyKey: PropertyValue], constantRate: CaptureRate? = nil
    ) {
        (self.format, self.pixelFormat) = (format, pixelFormat)
        (self.specification, self.asked) = (specification, asked)
        self.constantRate = constantRate
    }

    /// Frames per second; 30 for sources without a rate.
    package var rate: Double { recordedRate?.perSecond ?? 30 }

    /// That of the file where it is known.
    private var recordedRate: CaptureRate? { constantRate ?? format.rate }

    /// Nanoseconds of a frame that none follows: a second at most, however seldom the source means to send one.
    package var frameDuration: UInt64 { UInt64(min(1, 1 / rate) * 1e9) }

    /// Whether the person has chosen how fast the encoder is.
    package var hasSpeed: Bool { asked[.x265Preset] != nil || asked[.prioritizeSpeed] != nil }

    /// The color of the coded pictures; nil where the source does not state it.
    package var color: MovieColor? {
        guard pixelFormat.isYCbCr else {
            return MovieColor(primaries: 1, transfer: 13, matrix: 1, isFullRange: false)
        }
        guard let primaries = format.primaries, let transfer = format.transfer, let matrix = format.matrix else {
            return nil
        }
        return MovieColor(primaries: primaries, transfer: transfer, matrix: matrix, isFullRange: format.isFullRange)
    }

    /// The parameters of Create.
    package var parameters: CreateCompressionSession.Parameters {
        var properties: [PropertyKey: PropertyValue] = [
            .realTime: .bool(true), .allowFrameReordering: .bool(false), .maxKeyFrameIntervalDuration: .double(2),
        ]
        if let rate = recordedRate, let numerator = Int32(exactly: rate.numerator),
            let denominator = Int32(exactly: rate.denominator), let rate = Rational(numerator, denominator)
        {
            properties[.expectedFrameRate] = .string(rate.description)
        }
        if let color {
            properties[.colorPrimaries] = .int(Int64(color.primaries))
            properties[.transferFunction] = .int(Int64(color.transfer))
            properties[.yCbCrMatrix] = .int(Int64(color.matrix))
        }
        // Which does not depend on the color's being known.
        if pixelFormat.isYCbCr, format.isFullRange { properties[.fullRangeVideo] = .bool(true) }
        let rates: [PropertyKey] = [.averageBitRate, .quality, .qp]
        if !rates.contains(where: { asked[$0] != nil }) {
            let size = ExportPreset.Size(width: format.width, height: format.height)
            properties[.averageBitRate] = .int(
                ExportCatalogue.builtIn.rates.bitsPerSecond(
                    size, frameRate: rate, bitDepth: pixelFormat.bitDepth > 8 ? 10 : 8))
        }
        if let preset { properties[.x265Preset] = .string(preset) }
        properties.merge(asked) { _, asked in asked }
        return CreateCompressionSession.Parameters(
            width: format.width, height: format.height, pixelFormat: pixelFormat,
            timeBase: Rational(1, Int32(Self.timeScale)) ?? Rational(1),
            encoderSpecification: specification, properties: properties)
    }

    /// A session with these parameters.
    package func session(_ daemon: Daemon) throws(ClientError) -> CompressionSession {
        try CompressionSession(daemon, parameters)
    }
}
