// SPDX-License-Identifier: MIT
public import HWDModel

/// Opens a decompression session; an upgrade call.
public enum CreateDecompressionSession: ControlMethod {
    public static let method = "\(Interface.name).CreateDecompressionSession"

    public struct Parameters: Codable, Sendable {
        /// `hevc`.
        public var codec: String
        /// An hvcC record (ISO/IEC 14496-15, 8.3.3.1) or Annex B parameter sets, in hexadecimal.
        ///
        /// Packets are framed accordingly: length-prefixed NAL units, or a byte stream.
        public var formatDescription: String
        /// The unit of pts and duration, in seconds.
        public var timeBase: Rational
        /// The pictures' DRM fourcc; nil is the decoder's own format.
        public var pixelFormat: String?
        /// `Enable…`, `RequireHardwareAcceleratedVideoDecoder`, `DecoderID`.
        public var decoderSpecification: [String: PropertyValue]?
        /// Initial property values.
        public var properties: [String: PropertyValue]?
        /// The number of pictures that will be decoded, where it is known.
        public var frames: Int?
        /// The session whose process failed, and which this one continues.
        public var resumes: String?
        /// Milliseconds to wait for a slot at most where a limit is reached; nil is refused at once.
        public var maxWaitMs: Int?

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

        enum CodingKeys: String, CodingKey, CaseIterable {
            case codec, properties, frames, resumes
            case formatDescription = "format_description"
            case timeBase = "time_base"
            case pixelFormat = "pixel_format"
            case decoderSpecification = "decoder_specification"
            case maxWaitMs = "max_wait_ms"
        }
    }

    public struct Reply: Codable, Sendable {
        /// The id, which `GetSessionResult` takes.
        public var session: String
        /// The decoder that serves the session.
        public var decoderID: String
        /// Whether decoding begins in hardware; each picture has its own flag.
        public var usingHardware: Bool
        /// Why it is not hardware, where hardware was allowed.
        public var fallbackReason: String?
        /// Width in luma samples, from the format description.
        public var width: Int
        /// Height in luma samples, from the format description.
        public var height: Int
        /// The pictures' DRM fourcc, until the stream's format changes.
        public var pixelFormat: String
        /// The limit of packets that the client has sent and the worker not released.
        public var maxPacketsInFlight: Int
        /// The limit of pictures that the worker has sent and the client not released.
        public var maxFramesInFlight: Int
        /// Why the session's threads do not run before others, where `RealTime` asks for it.
        public var priorityReason: String?

        public init(
            session: String, decoderID: String, usingHardware: Bool, width: Int, height: Int, pixelFormat: String,
            maxPacketsInFlight: Int, maxFramesInFlight: Int
        ) {
            self.session = session
            self.decoderID = decoderID
            self.usingHardware = usingHardware
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
            case priorityReason = "priority_reason"
        }
    }
}
