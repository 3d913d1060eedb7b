// SPDX-License-Identifier: MIT

/// What a worker or a probe may do from its first packet on; the broker's packet before the one with the work.
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
    /// Device nodes that a driver may open: paths; all nodes of graphics cards if empty.
    public var nodes: [String]
    /// More paths beneath which a driver may read and write.
    public var paths: [String]

    public init(policy: Policy, mode: Mode = .enforce, nodes: [String] = [], paths: [String] = []) {
        self.policy = policy
        self.mode = mode
        self.nodes = nodes
        self.paths = paths
    }
}
