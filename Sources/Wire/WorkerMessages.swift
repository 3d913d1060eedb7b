// SPDX-License-Identifier: MIT
public import HWDModel

// What broker and worker tell each other over the SOCK_SEQPACKET pair at the worker's descriptor 4: one JSON document
// a packet. The worker trusts the broker; the broker treats what a worker says as hostile.

/// Where a worker finds its descriptors.
public enum WorkerDescriptor {
    /// The channel to the broker.
    public static let broker: Int32 = 4
    /// The sealed page the worker writes its counters to, in session workers.
    public static let stats: Int32 = 5
}

/// The broker's first and only packet to a session's worker; the client's connection comes with it.
public struct WorkerStart: Codable, Sendable {
    /// The id the broker gave the session.
    public var session: String
    /// The Create call's JSON text, as it came from the client.
    public var call: String
    /// What the machine can do.
    public var snapshot: ProbeSnapshot
    /// The bounds the worker keeps to.
    public var limits: WorkerLimits
    /// How the snapshot's hardware encoders are opened.
    public var hardware: [HardwareEncoder]
    /// Encoders, decoders or converters that need not be tried, because they failed other workers.
    public var failures: [EncoderFailure]
    /// What to know before a driver of Vulkan is opened.
    public var vulkan: VulkanHints

    /// Tells a worker its job.
    public init(
        session: String, call: String, snapshot: ProbeSnapshot, limits: WorkerLimits,
        hardware: [HardwareEncoder] = [], failures: [EncoderFailure] = [], vulkan: VulkanHints = VulkanHints()
    ) {
        self.session = session
        self.call = call
        self.snapshot = snapshot
        self.limits = limits
        self.hardware = hardware
        self.failures = failures
        self.vulkan = vulkan
    }
}

/// What probes have told of Vulkan, as far as a session's choice of a device needs it.
public struct VulkanHints: Codable, Hashable, Sendable {
    /// The id of conversions by Vulkan, whatever the device: a label of metrics.
    public static let converterID = "org.hwdaemon.transfer.vulkan"

    /// The PCI address of the GPU that codes here.
    public var preferred: String?
    /// Why devices must not be used, by their ids.
    public var faults: [String: String]
    /// Why drivers are better left alone.
    public var avoidReason: String?

    /// Hints by their parts; none by default.
    public init(preferred: String? = nil, faults: [String: String] = [:], avoidReason: String? = nil) {
        self.preferred = preferred
        self.faults = faults
        self.avoidReason = avoidReason
    }
}

/// How a hardware encoder is opened: what a probe found and verified, for workers alone.
public struct HardwareEncoder: Codable, Hashable, Sendable {
    /// One bit depth's way through a VA-API driver.
    public struct Path: Codable, Hashable, Sendable {
        /// Bits of a coded sample.
        public var bitDepth: Int
        /// libva's name of the profile (`VAProfileHEVCMain`).
        public var vaProfile: String
        /// libva's name of the entry point (`VAEntrypointEncSlice`).
        public var vaEntrypoint: String
        /// libva's surface format, without `VA_RT_FORMAT_` (`YUV420`).
        public var vaRTFormat: String
        /// The catalogue's features of the path, less what quirks take away.
        public var features: [String]
        /// What quirks adjust.
        public var adjustments: [String: PropertyValue]

        /// A path by its parts.
        public init(
            bitDepth: Int, vaProfile: String, vaEntrypoint: String, vaRTFormat: String, features: [String],
            adjustments: [String: PropertyValue]
        ) {
            self.bitDepth = bitDepth
            self.vaProfile = vaProfile
            self.vaEntrypoint = vaEntrypoint
            self.vaRTFormat = vaRTFormat
            self.features = features
            self.adjustments = adjustments
        }
    }

    /// The encoder's id.
    public var encoderID: String
    /// The node to open.
    public var node: String
    /// A path for each bit depth.
    public var paths: [Path]

    /// An encoder by its parts.
    public init(encoderID: String, node: String, paths: [Path]) {
        self.encoderID = encoderID
        self.node = node
        self.paths = paths
    }
}

/// An encoder, decoder or converter that was tried and did not open.
public struct EncoderFailure: Codable, Hashable, Sendable {
    /// Which.
    public var encoderID: String
    /// Why, a sentence without its full stop.
    public var reason: String
    /// Whether it may work later.
    public var isTransient: Bool

    /// Remembers a failure.
    public init(encoderID: String, reason: String, isTransient: Bool) {
        self.encoderID = encoderID
        self.reason = reason
        self.isTransient = isTransient
    }
}

/// The bounds a session's worker keeps to.
public struct WorkerLimits: Codable, Hashable, Sendable {
    /// Bytes of all pools a client may register.
    public var maxPoolBytes: UInt64
    /// Seconds a client may hold every packet slot.
    public var clientStallSeconds: Double
    /// Seconds after which the broker kills a worker whose hardware does not go on.
    public var hardwareStallSeconds: Double

    /// Bounds by their numbers.
    public init(
        maxPoolBytes: UInt64 = 2 << 30, clientStallSeconds: Double = 30, hardwareStallSeconds: Double = 5
    ) {
        self.maxPoolBytes = maxPoolBytes
        self.clientStallSeconds = clientStallSeconds
        self.hardwareStallSeconds = hardwareStallSeconds
    }

    enum CodingKeys: String, CodingKey {
        case maxPoolBytes = "max_pool_bytes"
        case clientStallSeconds = "client_stall_seconds"
        case hardwareStallSeconds = "hardware_stall_seconds"
    }
}

/// What a session's worker tells the broker.
public enum WorkerReport: Codable, Sendable {
    /// This encoder, decoder or converter is about to be opened, which its driver may not survive.
    case opening(encoderID: String)
    /// The session was created, by this encoder.
    case created(encoderID: String, usingHardware: Bool, fallbackReason: String?)
    /// The session ends.
    case ended(code: Int32, reason: String)
}
