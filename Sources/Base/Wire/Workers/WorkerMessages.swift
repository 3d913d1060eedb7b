// SPDX-License-Identifier: MIT
public import HWDModel

// The conversation of broker and worker over the SOCK_SEQPACKET pair at the worker's descriptor 4: one JSON document
// per packet. The worker trusts the broker; the broker treats a worker's packets as hostile.

/// The descriptors that a worker inherits.
public enum WorkerDescriptor {
    /// The channel to the broker.
    public static let broker: Int32 = 4
    /// The sealed page that a session's worker writes its counters to.
    public static let stats: Int32 = 5
    /// The memory for samples of an encoder's output, in a compression session's worker and in the process that checks them.
    public static let samples: Int32 = 6
}

/// What a session's process may do from its first packet on; the broker's packet before the one with the work.
///
/// It holds nothing that a client sent, so that it can be read before the process is confined.
public struct SandboxRequest: Codable, Hashable, Sendable {
    /// Which code the process runs.
    public enum Policy: String, Codable, Hashable, Sendable, CaseIterable {
        /// Codecs in software only: no device, and no memory becomes executable.
        case codec
        /// A driver too: it reads the system's libraries and uses its device nodes.
        case driver
    }

    /// What happens to what the policy forbids.
    public enum Mode: String, Codable, Hashable, Sendable, CaseIterable {
        /// It fails or ends the process, and is reported at the session's end.
        case enforce
        /// It succeeds, and the kernel's audit log names it; files are not restricted.
        case report
        /// Nothing is forbidden.
        case off
    }

    public var policy: Policy
    public var mode: Mode
    /// Paths of the device nodes that a driver may open.
    public var nodes: [String]
    /// More paths beneath which a driver may read and write.
    public var paths: [String]
    /// The folder for what a driver compiles, in which it may write too; nil for none.
    public var cache: String?

    public init(
        policy: Policy, mode: Mode = .enforce, nodes: [String] = [], paths: [String] = [], cache: String? = nil
    ) {
        self.policy = policy
        self.mode = mode
        self.nodes = nodes
        self.paths = paths
        self.cache = cache
    }

    /// The paths beneath which a driver may write.
    public var writable: [String] { paths + (cache.map { [$0] } ?? []) }
}

/// The broker's packet that assigns a session to a worker; the client's connection comes with it.
public struct SessionAssignment<Parameters: Codable & Sendable>: Codable, Sendable {
    public var start: WorkerStart
    /// The parameters of the Create call, as the broker has decoded them.
    public var parameters: Parameters
}

/// What a worker learns with its session besides the Create call.
public struct WorkerStart: Codable, Sendable {
    /// The broker's id of the session.
    public var session: String
    public var snapshot: ProbeSnapshot
    public var limits: WorkerLimits
    /// How to open the snapshot's hardware encoders.
    public var hardware: [HardwareEncoder]
    /// Encoders, decoders or converters to skip, because they recently failed in other workers.
    public var failures: [CodecFailure]
    public var vulkan: VulkanHints
    /// What the client should know about the session's process, a clause each.
    public var notices: [String]
    /// What the GPUs of encoders and decoders do already.
    public var loads: [HardwareLoad] = []
    /// The encoder, decoder or converter with which the client's session began, if this one continues another.
    public var firstCodecID: String?
    /// Whether its threads may run before others, where the call asks for that (`RealTime`).
    public var realTime: RealTimeDecision?

    public init(
        session: String, snapshot: ProbeSnapshot, limits: WorkerLimits,
        hardware: [HardwareEncoder] = [], failures: [CodecFailure] = [], vulkan: VulkanHints = VulkanHints(),
        notices: [String] = []
    ) {
        self.notices = notices
        self.session = session
        self.snapshot = snapshot
        self.limits = limits
        self.hardware = hardware
        self.failures = failures
        self.vulkan = vulkan
    }

    /// The packet's text with the parameters of a Create call.
    public func packet(with parameters: some Codable & Sendable) throws(SessionError) -> [UInt8] {
        try JSON.encode(SessionAssignment(start: self, parameters: parameters))
    }
}

/// Probe results about Vulkan that a session's choice of device depends on.
public struct VulkanHints: Codable, Hashable, Sendable {
    /// The id of conversions by Vulkan on any device; a label of metrics.
    public static let converterID = "org.hwdaemon.transfer.vulkan"

    /// The PCI address of the GPU that encodes or decodes on this machine.
    public var preferred: String?
    /// Reasons why devices must not be used, by device id.
    public var faults: [String: String]
    /// How fast devices are, by device id.
    public var speeds: [String: ComputeDevice.Speed]
    /// Why no Vulkan driver should be loaded: a probe of it crashed or hung.
    public var avoidReason: String?

    public init(
        preferred: String? = nil, faults: [String: String] = [:], speeds: [String: ComputeDevice.Speed] = [:],
        avoidReason: String? = nil
    ) {
        self.preferred = preferred
        self.faults = faults
        self.speeds = speeds
        self.avoidReason = avoidReason
    }
}

/// How a hardware encoder is opened: the paths that a probe found and verified; never sent to clients.
public struct HardwareEncoder: Codable, Hashable, Sendable {
    /// The VA-API configuration for one bit depth.
    public struct Path: Codable, Hashable, Sendable {
        /// Bits of a coded sample.
        public var bitDepth: Int
        /// libva's name of the profile (`VAProfileHEVCMain`).
        public var vaProfile: String
        /// libva's name of the entry point (`VAEntrypointEncSlice`).
        public var vaEntrypoint: String
        /// libva's surface format, without `VA_RT_FORMAT_` (`YUV420`).
        public var vaRTFormat: String
        /// The catalogue's features of the path, minus those that quirks disable.
        public var features: [CodecFeature]
        /// Encoder parameters that quirks override.
        public var adjustments: [String: PropertyValue]

        public init(
            bitDepth: Int, vaProfile: String, vaEntrypoint: String, vaRTFormat: String, features: [CodecFeature],
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

    /// Its id in the snapshot's list of encoders.
    public var encoderID: String
    /// The render node to open.
    public var node: String
    /// One path per bit depth.
    public var paths: [Path]

    public init(encoderID: String, node: String, paths: [Path]) {
        self.encoderID = encoderID
        self.node = node
        self.paths = paths
    }
}

/// The limits that a session's worker enforces.
public struct WorkerLimits: Codable, Hashable, Sendable {
    /// Bytes of all pools that a client registers.
    public var maxPoolBytes: UInt64
    /// Seconds a client may hold every packet slot.
    public var clientStallSeconds: Double
    /// Seconds without progress after which the broker kills a worker that uses hardware.
    public var hardwareStallSeconds: Double
    /// The same for software.
    public var softwareStallSeconds: Double
    /// Seconds within which a client registers a pool or prepares the session; 0: no limit.
    public var prepareSeconds: Double
    /// Seconds for which a session may continue after the broker was killed.
    public var orphanSeconds: Double
    /// Bytes that the session may take until it asks for more; nil for no limit.
    public var memoryBytes: UInt64?
    /// Bytes of private memory that the process may have; nil for no limit.
    public var privateBytes: UInt64?

    public init(
        maxPoolBytes: UInt64 = 2 << 30, clientStallSeconds: Double = 30, hardwareStallSeconds: Double = 5,
        softwareStallSeconds: Double = 30, prepareSeconds: Double = 60, orphanSeconds: Double = 3600,
        memoryBytes: UInt64? = nil, privateBytes: UInt64? = nil
    ) {
        self.maxPoolBytes = maxPoolBytes
        self.clientStallSeconds = clientStallSeconds
        self.hardwareStallSeconds = hardwareStallSeconds
        self.softwareStallSeconds = softwareStallSeconds
        self.prepareSeconds = prepareSeconds
        self.orphanSeconds = orphanSeconds
        self.memoryBytes = memoryBytes
        self.privateBytes = privateBytes
    }

    enum CodingKeys: String, CodingKey {
        case maxPoolBytes = "max_pool_bytes"
        case clientStallSeconds = "client_stall_seconds"
        case hardwareStallSeconds = "hardware_stall_seconds"
        case softwareStallSeconds = "software_stall_seconds"
        case prepareSeconds = "prepare_seconds"
        case orphanSeconds = "orphan_seconds"
        case memoryBytes = "memory_bytes"
        case privateBytes = "private_bytes"
    }
}

/// The broker's answer to `WorkerReport.memory`.
public struct MemoryGrant: Codable, Hashable, Sendable {
    /// Bytes that the session may take altogether; nil for no limit.
    public var granted: UInt64?
    /// Bytes of private memory that the process may have; nil for no limit.
    public var bound: UInt64?
    /// Why it is not more, with figures; nil where it suffices.
    public var refusal: String?

    public init(granted: UInt64?, bound: UInt64?, refusal: String? = nil) {
        self.granted = granted
        self.bound = bound
        self.refusal = refusal
    }
}

/// The broker's decision whether a session's threads may run before others, at Create or as its answer to
/// `WorkerReport.realTime`.
public struct RealTimeDecision: Codable, Hashable, Sendable {
    /// Why they run as a normal session's, a clause; nil where they may run before others.
    public var refusal: String?

    /// Grants the session one of its user's slots.
    public init() {}

    /// A session whose threads run as a normal one's, for a reason.
    public init(refusing reason: String) {
        refusal = "the session's threads do not run before others although RealTime is set: \(reason)"
    }
}

/// A packet from a session's worker to the broker.
public enum WorkerReport: Codable, Sendable {
    /// An encoder, decoder or converter is about to be opened; its driver may crash or hang this process.
    case opening(codecID: String)
    /// The session was created, or its decoder switched between hardware and software; `pixelFormat` is that of a created
    /// decoder's pictures.
    case created(codecID: String, usingHardware: Bool, fallbackReason: String?, pixelFormat: String? = nil)
    /// The session takes more memory than it was granted and waits for a `MemoryGrant`: `needed` bytes altogether at least,
    /// `wanted` so that it asks less often; `picture` is the size of its pictures in bytes, 0 where that is not known.
    case memory(needed: UInt64, wanted: UInt64, picture: UInt64)
    /// The session's properties ask for threads that run before others, which Create did not; waits for a
    /// `RealTimeDecision`.
    case realTime
    /// A sample of the encoder's output is to be checked.
    case sample(OutputSample)
    /// The session ends.
    case ended(code: Int32, reason: String)
}
