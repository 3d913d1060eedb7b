// SPDX-License-Identifier: MIT
public import HWDModel

/// Opens a decompression session; an upgrade call.
public enum CreateDecompressionSession: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).CreateDecompressionSession"

    /// What is fixed for the session's life.
    public struct Parameters: Codable, Sendable {
        /// `hevc`.
        public var codec: String
        /// An hvcC record (ISO/IEC 14496-15, 8.3.3.1) or Annex B parameter sets, in hexadecimal.
        ///
        /// Packets come in the same form: length-prefixed NAL units, or a byte stream.
        public var formatDescription: String
        /// Seconds that one unit of pts and duration stands for.
        public var timeBase: Rational
        /// The pictures' DRM fourcc; the stream's native one when nil.
        public var pixelFormat: String?
        /// `Enable…`, `RequireHardwareAcceleratedVideoDecoder`, `DecoderID`.
        public var decoderSpecification: [String: PropertyValue]?
        /// Initial properties.
        public var properties: [String: PropertyValue]?

        /// Asks for a session.
        public init(
            codec: String = "hevc", formatDescription: [UInt8], timeBase: Rational, pixelFormat: PixelFormat? = nil,
            decoderSpecification: [PropertyKey: PropertyValue] = [:],
            properties: [PropertyKey: PropertyValue] = [:]
        ) {
            self.codec = codec
            self.formatDescription = Hexadecimal.text(formatDescription)
            self.timeBase = timeBase
            self.pixelFormat = pixelFormat?.rawValue
            self.decoderSpecification = Self.named(decoderSpecification)
            self.properties = Self.named(properties)
        }

        private static func named(_ values: [PropertyKey: PropertyValue]) -> [String: PropertyValue] {
            Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
        }

        enum CodingKeys: String, CodingKey {
            case codec, properties
            case formatDescription = "format_description"
            case timeBase = "time_base"
            case pixelFormat = "pixel_format"
            case decoderSpecification = "decoder_specification"
        }
    }

    /// What the session turned out to be.
    public struct Reply: Codable, Sendable {
        /// The id, for `GetSessionResult`.
        public var session: String
        /// The decoder that serves the session.
        public var decoderID: String
        /// Whether that is hardware; each picture tells for itself, too.
        public var usingHardware: Bool
        /// Why it is not, when it was allowed.
        public var fallbackReason: String?
        /// Samples a row, by the format description.
        public var width: Int
        /// Rows, by the format description.
        public var height: Int
        /// The DRM fourcc of the pictures to come, as long as the format stays.
        public var pixelFormat: String
        /// Packets sent and not released, at most.
        public var maxPacketsInFlight: Int
        /// Pictures got and not released, at most.
        public var maxFramesInFlight: Int

        /// Answers a session.
        public init(
            session: String, decoderID: String, usingHardware: Bool, fallbackReason: String?, width: Int,
            height: Int, pixelFormat: String, maxPacketsInFlight: Int, maxFramesInFlight: Int
        ) {
            self.session = session
            self.decoderID = decoderID
            self.usingHardware = usingHardware
            self.fallbackReason = fallbackReason
            self.width = width
            self.height = height
            self.pixelFormat = pixelFormat
            self.maxPacketsInFlight = maxPacketsInFlight
            self.maxFramesInFlight = maxFramesInFlight
        }

        enum CodingKeys: String, CodingKey {
            case session, width, height
            case decoderID = "decoder_id"
            case usingHardware = "using_hardware"
            case fallbackReason = "fallback_reason"
            case pixelFormat = "pixel_format"
            case maxPacketsInFlight = "max_packets_in_flight"
            case maxFramesInFlight = "max_frames_in_flight"
        }
    }
}
