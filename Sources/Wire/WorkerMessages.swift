// SPDX-License-Identifier: MIT
public import Model

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

    /// Tells a worker its job.
    public init(session: String, call: String, snapshot: ProbeSnapshot, limits: WorkerLimits) {
        self.session = session
        self.call = call
        self.snapshot = snapshot
        self.limits = limits
    }
}

/// The bounds a session's worker keeps to.
public struct WorkerLimits: Codable, Hashable, Sendable {
    /// Bytes of all pools a client may register.
    public var maxPoolBytes: UInt64
    /// Seconds a client may hold every packet slot.
    public var clientStallSeconds: Double

    /// Bounds by their numbers.
    public init(maxPoolBytes: UInt64 = 2 << 30, clientStallSeconds: Double = 30) {
        self.maxPoolBytes = maxPoolBytes
        self.clientStallSeconds = clientStallSeconds
    }

    enum CodingKeys: String, CodingKey {
        case maxPoolBytes = "max_pool_bytes"
        case clientStallSeconds = "client_stall_seconds"
    }
}

/// What a session's worker tells the broker.
public enum WorkerReport: Codable, Sendable {
    /// The session was created, by this encoder.
    case created(encoderID: String, usingHardware: Bool, fallbackReason: String?)
    /// The session ends.
    case ended(code: Int32, reason: String)
}
