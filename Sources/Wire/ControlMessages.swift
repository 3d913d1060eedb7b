// SPDX-License-Identifier: MIT
public import HWDModel

// The parameters of `org.hwdaemon`'s methods, field by field as `org.hwdaemon.varlink` defines them.

/// A method of `org.hwdaemon`: its name, what goes in, what comes out.
public protocol ControlMethod {
    /// What goes in.
    associatedtype Parameters: Codable & Sendable
    /// What comes out.
    associatedtype Reply: Codable & Sendable
    /// The method's full name.
    static var method: String { get }
}

/// Looks at the machine anew.
public enum Probe: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).Probe"
    /// Which node to look at, and how closely.
    public struct Parameters: Codable, Sendable {
        /// The one node to look at; nil for all.
        public var device: String?
        /// Whether to send frames through: true always, false never, nil unless an earlier probe has.
        public var verify: Bool?
        /// Asks for one node, or all.
        public init(device: String? = nil, verify: Bool? = nil) {
            self.device = device
            self.verify = verify
        }
    }
    /// What the machine can do.
    public typealias Reply = ProbeSnapshot
}

/// The encoders found by the last probe.
public enum ListEncoders: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).ListEncoders"
    /// Nothing.
    public typealias Parameters = Empty
    /// The encoders.
    public struct Reply: Codable, Sendable {
        /// Hardware first.
        public var encoders: [EncoderDescription]
        /// Answers these encoders.
        public init(encoders: [EncoderDescription]) { self.encoders = encoders }
    }
}

/// The properties that compression sessions of an encoder know.
public enum GetSupportedProperties: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).GetSupportedProperties"

    /// Which encoder.
    public struct Parameters: Codable, Sendable {
        /// An encoder of `ListEncoders` or a decoder; the software encoder when nil.
        public var codecID: String?

        public init(codecID: String? = nil) { self.codecID = codecID }

        enum CodingKeys: String, CodingKey { case codecID = "encoder_id" }
    }

    /// The properties.
    public struct Reply: Codable, Sendable {
        /// By name.
        public var properties: [String: PropertyInfo]
        /// Answers these properties.
        public init(properties: [String: PropertyInfo]) { self.properties = properties }
    }
}

extension Rational: Codable {
    private enum CodingKeys: String, CodingKey { case numerator, denominator }

    /// Reads `{"numerator": n, "denominator": d}`; the denominator must be positive.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        let numerator = try container.decode(Int32.self, forKey: .numerator)
        guard let value = Rational(numerator, try container.decode(Int32.self, forKey: .denominator)) else {
            throw DecodingError.dataCorruptedError(
                forKey: .denominator, in: container, debugDescription: "not positive")
        }
        self = value
    }

    /// Writes `{"numerator": n, "denominator": d}`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(numerator, forKey: .numerator)
        try container.encode(denominator, forKey: .denominator)
    }
}

/// Opens a compression session; an upgrade call.
public enum CreateCompressionSession: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).CreateCompressionSession"

    /// What is fixed for the session's life.
    public struct Parameters: Codable, Sendable {
        /// `hevc`.
        public var codec: String
        /// Luma samples a row.
        public var width: Int
        /// Rows of luma samples.
        public var height: Int
        /// The frames' DRM fourcc.
        public var pixelFormat: String
        /// Seconds that one unit of pts, dts and duration stands for.
        public var timeBase: Rational
        /// `Enable…`, `RequireHardwareAcceleratedVideoEncoder`, `EncoderID`.
        public var encoderSpecification: [String: PropertyValue]?
        /// Initial properties.
        public var properties: [String: PropertyValue]?

        /// Asks for a session.
        public init(
            codec: String = "hevc", width: Int, height: Int, pixelFormat: PixelFormat, timeBase: Rational,
            encoderSpecification: [PropertyKey: PropertyValue] = [:],
            properties: [PropertyKey: PropertyValue] = [:]
        ) {
            self.codec = codec
            self.width = width
            self.height = height
            self.pixelFormat = pixelFormat.rawValue
            self.timeBase = timeBase
            self.encoderSpecification = Self.named(encoderSpecification)
            self.properties = Self.named(properties)
        }

        private static func named(_ values: [PropertyKey: PropertyValue]) -> [String: PropertyValue] {
            Dictionary(uniqueKeysWithValues: values.map { ($0.key.rawValue, $0.value) })
        }

        enum CodingKeys: String, CodingKey {
            case codec, width, height, properties
            case pixelFormat = "pixel_format"
            case timeBase = "time_base"
            case encoderSpecification = "encoder_specification"
        }
    }

    /// What the session turned out to be.
    public struct Reply: Codable, Sendable {
        /// The id, for `GetSessionResult`.
        public var session: String
        /// The encoder that serves the session.
        public var encoderID: String
        /// Whether that is hardware.
        public var usingHardware: Bool
        /// Why it is not, when it was allowed.
        public var fallbackReason: String?
        /// Frames sent and not released, at most.
        public var maxFramesInFlight: Int
        /// Packets got and not released, at most.
        public var maxPacketsInFlight: Int

        /// Answers a session.
        public init(
            session: String, encoderID: String, usingHardware: Bool, fallbackReason: String?,
            maxFramesInFlight: Int, maxPacketsInFlight: Int
        ) {
            self.session = session
            self.encoderID = encoderID
            self.usingHardware = usingHardware
            self.fallbackReason = fallbackReason
            self.maxFramesInFlight = maxFramesInFlight
            self.maxPacketsInFlight = maxPacketsInFlight
        }

        enum CodingKeys: String, CodingKey {
            case session
            case encoderID = "encoder_id"
            case usingHardware = "using_hardware"
            case fallbackReason = "fallback_reason"
            case maxFramesInFlight = "max_frames_in_flight"
            case maxPacketsInFlight = "max_packets_in_flight"
        }
    }
}

/// How a session ended.
public enum GetSessionResult: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).GetSessionResult"

    /// Which session, and how long to wait for its end.
    public struct Parameters: Codable, Sendable {
        /// The session's id.
        public var session: String
        /// Milliseconds to wait for the end of a running session.
        public var timeoutMs: Int?

        /// Asks after a session.
        public init(session: String, timeoutMs: Int? = nil) {
            self.session = session
            self.timeoutMs = timeoutMs
        }

        enum CodingKeys: String, CodingKey {
            case session
            case timeoutMs = "timeout_ms"
        }
    }

    /// The end.
    public struct Reply: Codable, Sendable {
        /// False while the session still runs.
        public var finished: Bool
        /// VideoToolbox's number.
        public var code: Int32
        /// The sentence that goes with it.
        public var reason: String
        /// Frames taken.
        public var framesIn: UInt64
        /// Packets given.
        public var framesOut: UInt64

        /// Answers an end.
        public init(finished: Bool, code: Int32, reason: String, framesIn: UInt64, framesOut: UInt64) {
            self.finished = finished
            self.code = code
            self.reason = reason
            self.framesIn = framesIn
            self.framesOut = framesOut
        }

        enum CodingKeys: String, CodingKey {
            case finished, code, reason
            case framesIn = "frames_in"
            case framesOut = "frames_out"
        }
    }
}

/// The running sessions.
public enum ListSessions: ControlMethod {
    /// The method's full name.
    public static let method = "\(Interface.name).ListSessions"
    /// Nothing.
    public typealias Parameters = Empty
    /// The sessions.
    public struct Reply: Codable, Sendable {
        /// Oldest first.
        public var sessions: [SessionInfo]
        /// Answers these sessions.
        public init(sessions: [SessionInfo]) { self.sessions = sessions }
    }
}
