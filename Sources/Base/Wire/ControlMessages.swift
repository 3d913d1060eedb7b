// SPDX-License-Identifier: MIT
public import HWDModel

// The methods of `org.hwdaemon`; org.hwdaemon.varlink defines and documents every field.

/// A method of `org.hwdaemon`.
public protocol ControlMethod {
    associatedtype Parameters: Codable & Sendable
    associatedtype Reply: Codable & Sendable
    /// The full name, with the interface's.
    static var method: String { get }
}

/// Probes the machine's encoders, decoders and converters again.
public enum Probe: ControlMethod {
    public static let method = "\(Interface.name).Probe"

    public struct Parameters: Codable, Sendable {
        /// The only node to probe; nil for all.
        public var device: String?
        /// Whether to verify paths by coding frames: true always, false never, nil where no earlier probe has.
        public var verify: Bool?
        public init(device: String? = nil, verify: Bool? = nil) {
            self.device = device
            self.verify = verify
        }
    }
    public typealias Reply = ProbeSnapshot
}

/// The encoders found by the last probe.
public enum ListEncoders: ControlMethod {
    public static let method = "\(Interface.name).ListEncoders"

    public typealias Parameters = Empty

    public struct Reply: Codable, Sendable {
        /// Hardware comes first.
        public var encoders: [EncoderDescription]
        public init(encoders: [EncoderDescription]) { self.encoders = encoders }
    }
}

/// The properties that sessions of an encoder or decoder support.
public enum GetSupportedProperties: ControlMethod {
    public static let method = "\(Interface.name).GetSupportedProperties"

    public struct Parameters: Codable, Sendable {
        /// An encoder of `ListEncoders` or a decoder; the software encoder when nil.
        public var codecID: String?

        public init(codecID: String? = nil) { self.codecID = codecID }

        enum CodingKeys: String, CodingKey { case codecID = "encoder_id" }
    }

    public struct Reply: Codable, Sendable {
        /// By name.
        public var properties: [String: PropertyInfo]
        public init(properties: [String: PropertyInfo]) { self.properties = properties }
    }
}

extension Rational: Codable {
    private enum CodingKeys: String, CodingKey, CaseIterable { case numerator, denominator }

    static let memberNames = MemberNames(CodingKeys.self)

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
    public static let method = "\(Interface.name).CreateCompressionSession"

    public struct Parameters: Codable, Sendable {
        /// `hevc` or `hevc-with-alpha`.
        public var codec: String
        /// Width in luma samples.
        public var width: Int
        /// Height in luma samples.
        public var height: Int
        /// The frames' DRM fourcc.
        public var pixelFormat: String
        /// The unit of pts, dts and duration, in seconds.
        public var timeBase: Rational
        /// `Enable…`, `RequireHardwareAcceleratedVideoEncoder`, `EncoderID`.
        public var encoderSpecification: [String: PropertyValue]?
        /// Initial property values.
        public var properties: [String: PropertyValue]?
        /// The number of frames that will be encoded, where it is known.
        public var frames: Int?
        /// The session whose process failed, and which this one continues.
        public var resumes: String?
        /// The most pictures that may precede a picture in decoding order and follow it in output order
        /// (sps_max_num_reorder_pics); nil for no limit.
        public var maxReorder: Int?
        /// The frames, where they differ in size from the coded pictures or a part of them is coded.
        public var source: Source?
        /// Milliseconds to wait for a slot at most where a limit is reached; nil is refused at once.
        public var maxWaitMs: Int?

        /// Width and height of the frames that the client sends.
        public var frameSize: (width: Int, height: Int) { (source?.width ?? width, source?.height ?? height) }

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

        enum CodingKeys: String, CodingKey, CaseIterable {
            case codec, width, height, properties, frames, resumes, source
            case pixelFormat = "pixel_format"
            case timeBase = "time_base"
            case encoderSpecification = "encoder_specification"
            case maxReorder = "max_reorder"
            case maxWaitMs = "max_wait_ms"
        }
    }

    public struct Reply: Codable, Sendable {
        /// The id, which `GetSessionResult` takes.
        public var session: String
        /// The encoder that serves the session.
        public var encoderID: String
        public var usingHardware: Bool
        /// Why it is not hardware, where hardware was allowed.
        public var fallbackReason: String?
        /// The limit of frames that the client has sent and the worker not released.
        public var maxFramesInFlight: Int
        /// The limit of packets that the worker has sent and the client not released.
        public var maxPacketsInFlight: Int
        /// The most frames that the worker has released and not returned as packets; nil from an older daemon.
        public var maxFramesHeld: Int?
        /// sps_max_num_reorder_pics, as the properties of the call determine it; nil from an older daemon.
        public var reorderDepth: Int?
        /// Why the session's threads do not run before others, where `RealTime` asks for it.
        public var priorityReason: String?

        public init(
            session: String, encoderID: String, usingHardware: Bool, fallbackReason: String?,
            maxFramesInFlight: Int, maxPacketsInFlight: Int, maxFramesHeld: Int? = nil, reorderDepth: Int? = nil
        ) {
            self.maxFramesHeld = maxFramesHeld
            self.reorderDepth = reorderDepth
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
            case maxFramesHeld = "max_frames_held"
            case reorderDepth = "reorder_depth"
            case priorityReason = "priority_reason"
        }
    }
}

/// How a session ended.
public enum GetSessionResult: ControlMethod {
    public static let method = "\(Interface.name).GetSessionResult"

    public struct Parameters: Codable, Sendable {
        public var session: String
        /// Milliseconds to wait for the end of a running session.
        public var timeoutMs: Int?

        public init(session: String, timeoutMs: Int? = nil) {
            self.session = session
            self.timeoutMs = timeoutMs
        }

        enum CodingKeys: String, CodingKey {
            case session
            case timeoutMs = "timeout_ms"
        }
    }

    public struct Reply: Codable, Sendable {
        /// False while the session runs; the other fields then mean nothing.
        public var finished: Bool
        /// The status, by VideoToolbox's number.
        public var code: Int32
        public var reason: String
        /// Frames or packets that the client sent.
        public var framesIn: UInt64
        /// Packets or frames that the worker sent.
        public var framesOut: UInt64

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

/// The running sessions that the caller may see.
public enum ListSessions: ControlMethod {
    public static let method = "\(Interface.name).ListSessions"

    public typealias Parameters = Empty

    public struct Reply: Codable, Sendable {
        /// The oldest comes first.
        public var sessions: [SessionInfo]
        public init(sessions: [SessionInfo]) { self.sessions = sessions }
    }
}
