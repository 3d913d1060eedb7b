// SPDX-License-Identifier: MIT
public import HWDModel

// What the broker and `hwdaemon-probe` or `hwdaemon-verify` tell each other: one packet asks, some packets answer.

/// What the broker asks of a probe.
public struct ProbeRequest: Codable, Hashable, Sendable {
    /// What to look at.
    public enum Subject: Codable, Hashable, Sendable {
        /// What can be coded without hardware.
        case software
        /// What this node can do.
        case node(String)
        /// What Vulkan's drivers can do.
        case vulkan
    }

    /// Whether frames are sent through the paths that are claimed.
    public enum Verification: String, Codable, Hashable, Sendable {
        /// Only what the choice of encoder needs is looked at: for a daemon that starts.
        case startup
        /// Never; what an earlier probe verified still counts.
        case never
        /// Where no earlier probe did.
        case unlessKnown
        /// Always.
        case always
    }

    /// What to look at.
    public var subject: Subject
    /// Whether frames are sent through.
    public var verification: Verification
    /// What an earlier probe verified.
    public var known: ProbeRecord?

    /// Asks about a subject.
    public init(_ subject: Subject, verification: Verification = .unlessKnown, known: ProbeRecord? = nil) {
        self.subject = subject
        self.verification = verification
        self.known = known
    }
}

/// A packet of a probe's.
public enum ProbeReport: Codable, Sendable {
    /// A path is about to be tried, which the driver may not survive: what was found until then, and the path's name.
    case trying(ProbeRecord, path: String)
    /// The last packet.
    case answer(ProbeAnswer)
}

/// A probe's answer.
public struct ProbeAnswer: Codable, Sendable {
    /// The node that was asked about; nil for the software and for Vulkan.
    public var node: RenderNode?
    /// What was found of Vulkan; nil for other subjects.
    public var vulkan: VulkanReport?
    /// The encoders that sessions may use there.
    public var encoders: [EncoderDescription]
    /// The catalogue's paths there.
    public var paths: [CodecPath]
    /// What to remember, when something was verified, now or before.
    public var record: ProbeRecord?
    /// What is wrong with the catalogue's files.
    public var warnings: [String]
    /// How the node's encoders are opened.
    public var hardware: [HardwareEncoder]
    /// Names of paths that are claimed and that no frames were sent through yet.
    public var untried: [String]
    /// Whether all that was asked for was told, with no decoder loaded to judge anything.
    public var isWhole: Bool
    /// The files the answer came from; none where that cannot be told.
    public var files: [FileStamp]

    /// Answers.
    public init(
        node: RenderNode? = nil, vulkan: VulkanReport? = nil, encoders: [EncoderDescription] = [],
        paths: [CodecPath] = [], record: ProbeRecord? = nil, warnings: [String] = [],
        hardware: [HardwareEncoder] = [],
        untried: [String] = [], isWhole: Bool = true, files: [FileStamp] = []
    ) {
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

/// What was verified, and for what exactly: another driver, kernel, device, library or catalogue makes it worthless.
public struct ProbeRecord: Codable, Hashable, Sendable {
    /// What the results hold for.
    public struct Key: Codable, Hashable, Sendable {
        /// The PCI address, else the node; empty for the software; of Vulkan a digest of all its devices.
        public var device: String
        /// The driver's own name with its version; empty for the software and for Vulkan.
        public var driver: String
        /// The kernel's release.
        public var kernel: String
        /// The libraries that took part, with their versions.
        public var libraries: String
        /// A digest of the catalogue.
        public var catalogue: String

        /// A key by its parts.
        public init(device: String, driver: String, kernel: String, libraries: String, catalogue: String) {
            self.device = device
            self.driver = driver
            self.kernel = kernel
            self.libraries = libraries
            self.catalogue = catalogue
        }
    }

    /// What became of one path.
    public struct Result: Codable, Hashable, Sendable {
        /// The path's name.
        public var id: String
        /// Whether frames came back right.
        public var verified: Bool
        /// Why not.
        public var reason: String?
        /// What may be otherwise another time; such a result is not remembered for long.
        public var passing: Passing?

        /// Why a result may be otherwise another time.
        public enum Passing: String, Codable, Hashable, Sendable {
            /// The device was in use, or at its limit.
            case busy
            /// The driver crashed or hung.
            case fatal
        }

        /// A path's result.
        public init(id: String, verified: Bool, reason: String?, passing: Passing? = nil) {
            self.id = id
            self.verified = verified
            self.reason = reason
            self.passing = passing
        }
    }

    /// Who judged what came back: a library, and its file as it was then.
    public struct Judge: Codable, Hashable, Sendable {
        /// The library with its version.
        public var name: String
        /// Where it was loaded from; empty where that is not known.
        public var file: String
        /// The file's size, time and number: another file has others.
        public var stamp: String

        /// A judge by its parts.
        public init(name: String, file: String, stamp: String) {
            self.name = name
            self.file = file
            self.stamp = stamp
        }
    }

    /// What is worth remembering; nil when that is nothing.
    public var lasting: ProbeRecord? {
        let left = results.filter { $0.passing == nil }
        return left.isEmpty ? nil : ProbeRecord(key: key, results: left, judge: judge)
    }

    /// What worked; nil when nothing did.
    public var successes: ProbeRecord? {
        let left = results.filter(\.verified)
        return left.isEmpty ? nil : ProbeRecord(key: key, results: left, judge: judge)
    }

    /// What the results hold for.
    public var key: Key
    /// The results of all paths.
    public var results: [Result]
    /// Who judged.
    public var judge: Judge?

    /// Remembers results.
    public init(key: Key, results: [Result], judge: Judge? = nil) {
        self.key = key
        self.results = results
        self.judge = judge
    }
}
