// SPDX-License-Identifier: MIT
public import Model

// What the broker and `hwdaemon-probe` or `hwdaemon-verify` tell each other, one packet each way.

/// What the broker asks of a probe.
public struct ProbeRequest: Codable, Hashable, Sendable {
    /// What to look at.
    public enum Subject: Codable, Hashable, Sendable {
        /// What can be coded without hardware.
        case software
        /// What this node can do.
        case node(String)
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

/// A probe's answer.
public struct ProbeAnswer: Codable, Sendable {
    /// The node that was asked about; nil for the software.
    public var node: RenderNode?
    /// The encoders that sessions may use there.
    public var encoders: [EncoderDescription]
    /// The catalogue's paths there.
    public var paths: [CodecPath]
    /// What to remember, when something was verified, now or before.
    public var record: ProbeRecord?
    /// What is wrong with the catalogue's files.
    public var warnings: [String]

    /// Answers.
    public init(
        node: RenderNode? = nil, encoders: [EncoderDescription] = [], paths: [CodecPath] = [],
        record: ProbeRecord? = nil, warnings: [String] = []
    ) {
        self.node = node
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
        /// The PCI address, else the node; empty for the software.
        public var device: String
        /// The driver's own name with its version; empty for the software.
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

        /// A path's result.
        public init(id: String, verified: Bool, reason: String?) {
            self.id = id
            self.verified = verified
            self.reason = reason
        }
    }

    /// What the results hold for.
    public var key: Key
    /// The results of all paths.
    public var results: [Result]

    /// Remembers results.
    public init(key: Key, results: [Result]) {
        self.key = key
        self.results = results
    }
}
