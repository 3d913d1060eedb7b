// SPDX-License-Identifier: MIT
public import HWDModel

// The conversation of the broker with `hwdaemon-probe` or `hwdaemon-verify`: one request, then one or more reports.

/// The broker's request to a probe process.
public struct ProbeRequest: Codable, Hashable, Sendable {
    /// What a probe examines.
    public enum Subject: Codable, Hashable, Sendable {
        /// Codecs in software.
        case software
        /// A render node.
        case node(String)
        /// All Vulkan devices.
        case vulkan
    }

    /// When paths that a driver claims are verified by coding frames.
    public enum Verification: String, Codable, Hashable, Sendable {
        /// Never, and only what the choice of encoder needs is examined: for a daemon that starts.
        case startup
        /// Never; results of an earlier probe still apply.
        case never
        /// Where no earlier probe has.
        case unlessKnown
        /// Always.
        case always
    }

    public var subject: Subject
    public var verification: Verification
    /// Results of an earlier probe.
    public var known: ProbeRecord?

    public init(_ subject: Subject, verification: Verification = .unlessKnown, known: ProbeRecord? = nil) {
        self.subject = subject
        self.verification = verification
        self.known = known
    }
}

/// A packet from a probe to the broker.
public enum ProbeReport: Codable, Sendable {
    /// A path is about to be verified, in which the driver may crash or hang: the results so far, and the path's name.
    case trying(ProbeRecord, path: String)
    /// The last packet.
    case answer(ProbeAnswer)
}

/// A driver that is installed and that the sandbox keeps a process from opening.
public struct RefusedDriver: Codable, Hashable, Sendable {
    /// The driver's manifest, or its library where it has none.
    public var driver: String
    /// The first of its files that cannot be opened.
    public var path: String
    public var reason: String

    public init(driver: String, path: String, reason: String) {
        (self.driver, self.path, self.reason) = (driver, path, reason)
    }

    /// The file and the reason.
    public var fault: String { "\(path.printable(maxBytes: 200)): \(reason)" }

    /// The driver, the file and the reason, as a sentence.
    public var sentence: String {
        "the driver \(driver.printable(maxBytes: 200)) cannot be opened in its sandbox: \(fault)"
    }
}

/// A probe's results.
public struct ProbeAnswer: Codable, Sendable {
    /// The examined node; nil for software and for Vulkan.
    public var node: RenderNode?
    /// The state of Vulkan; nil for other subjects.
    public var vulkan: VulkanReport?
    /// The encoders that sessions may use.
    public var encoders: [EncoderDescription]
    /// The catalogue's paths, on the node or in software.
    public var paths: [CodecPath]
    /// The results to store, when something was verified now or earlier.
    public var record: ProbeRecord?
    /// Errors in the catalogue's files.
    public var warnings: [String]
    /// How to open the node's encoders.
    public var hardware: [HardwareEncoder]
    /// Names of paths that are claimed but not verified yet.
    public var untried: [String]
    /// Whether the answer is complete although no decoder was loaded to check streams.
    public var isWhole: Bool
    /// The files that the answer depends on; empty where they are not known.
    public var files: [FileStamp]
    /// The catalogue's quirks that loosen the sandbox, as in its files; from the probe of the software, which runs no driver.
    public var sandboxQuirks: [PropertyValue]
    /// The quirks that the paths name.
    public var quirks: [QuirkDescription]
    /// The drivers that the sandbox keeps from being opened.
    public var refused: [RefusedDriver]

    public init(
        node: RenderNode? = nil, vulkan: VulkanReport? = nil, encoders: [EncoderDescription] = [],
        paths: [CodecPath] = [], record: ProbeRecord? = nil, warnings: [String] = [],
        hardware: [HardwareEncoder] = [],
        untried: [String] = [], isWhole: Bool = true, files: [FileStamp] = [],
        sandboxQuirks: [PropertyValue] = [], quirks: [QuirkDescription] = [], refused: [RefusedDriver] = []
    ) {
        self.refused = refused
        self.quirks = quirks
        self.sandboxQuirks = sandboxQuirks
        self.files = files
        self.hardware = hardware
        self.untried = untried
        self.isWhole = isWhole
        self.node = node
        self.vulkan = vulkan
        self.encoders = encoders
        self.paths = paths
        self.record = record
        self.warnings = warnings
    }
}

/// Results of verification, valid only for the same driver, kernel, device, libraries and catalogue.
public struct ProbeRecord: Codable, Hashable, Sendable {
    /// The versions that results are valid for.
    public struct Key: Codable, Hashable, Sendable {
        /// The PCI address, else the node; empty for software; for Vulkan a digest of all its devices.
        public var device: String
        /// The driver's name with its version; empty for software and for Vulkan.
        public var driver: String
        /// The kernel's release.
        public var kernel: String
        /// The libraries involved, with their versions.
        public var libraries: String
        /// A digest of the catalogue.
        public var catalogue: String

        public init(device: String, driver: String, kernel: String, libraries: String, catalogue: String) {
            self.device = device
            self.driver = driver
            self.kernel = kernel
            self.libraries = libraries
            self.catalogue = catalogue
        }
    }

    /// The result of one path.
    public struct Result: Codable, Hashable, Sendable {
        /// The path's name in the catalogue.
        public var id: String
        /// Whether coded frames were correct.
        public var verified: Bool
        /// Why it is not verified.
        public var reason: String?
        /// Why the result may be transient; such a result is not stored for long.
        public var passing: Passing?
        /// The known cause of the failure; nil for others.
        public var cause: ProbeCause?
        /// What was measured; nil where nothing was.
        public var speed: ComputeDevice.Speed?

        /// A cause of a transient result.
        public enum Passing: String, Codable, Hashable, Sendable {
            /// The device was in use, or at its limit.
            case busy
            /// The driver crashed or hung.
            case fatal
            /// Two attempts in fresh processes ended differently.
            case unstable
        }

        public init(
            id: String, verified: Bool, reason: String?, passing: Passing? = nil, cause: ProbeCause? = nil
        ) {
            self.cause = cause
            self.id = id
            self.verified = verified
            self.reason = reason
            self.passing = passing
        }
    }

    /// The library that decoded the coded frames, and the state of its file.
    public struct Reference: Codable, Hashable, Sendable {
        /// The library with its version.
        public var name: String
        /// The path it was loaded from; empty when unknown.
        public var file: String
        /// The file's size, change time and inode number, which differ for another file.
        public var stamp: String

        public init(name: String, file: String, stamp: String) {
            self.name = name
            self.file = file
            self.stamp = stamp
        }
    }

    /// The results worth storing; nil when there are none.
    public var lasting: ProbeRecord? {
        let left = results.filter { $0.passing == nil }
        return left.isEmpty ? nil : ProbeRecord(key: key, results: left, reference: reference)
    }

    /// The verified results; nil when there are none.
    public var successes: ProbeRecord? {
        let left = results.filter(\.verified)
        return left.isEmpty ? nil : ProbeRecord(key: key, results: left, reference: reference)
    }

    public var key: Key
    public var results: [Result]
    public var reference: Reference?

    private enum CodingKeys: String, CodingKey {
        case key, results
        // Its name in the records that earlier versions have stored.
        case reference = "judge"
    }

    public init(key: Key, results: [Result], reference: Reference? = nil) {
        self.key = key
        self.results = results
        self.reference = reference
    }
}
