// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// What a session continues with after its process has failed: a pure function of what failed before.
public enum RestartPolicy {
    /// A process of the session that failed.
    public struct Failure: Hashable, Sendable {
        /// Its encoder, decoder or converter; nil if it reported none.
        public var codecID: String?
        public var isHardware: Bool
        /// One clause.
        public var reason: String

        public init(codecID: String?, isHardware: Bool, reason: String) {
            self.codecID = codecID
            self.isHardware = isHardware
            self.reason = reason
        }
    }

    /// The machine at the moment of the restart.
    public struct Surroundings: Hashable, Sendable {
        /// Whether the session may use nothing but hardware.
        public var requiresHardware: Bool
        /// Ids of the hardware that the session may use.
        public var hardware: Set<String>
        /// Other sessions that use the hardware that failed last, or lost it within the last second.
        public var neighbors: Int

        public init(requiresHardware: Bool, hardware: Set<String>, neighbors: Int) {
            self.requiresHardware = requiresHardware
            self.hardware = hardware
            self.neighbors = neighbors
        }
    }

    public enum Decision: Hashable, Sendable {
        /// Start another process that avoids the hardware of these failures, after a random delay of so many milliseconds at
        /// most.
        case restart(avoiding: [CodecFailure], maxDelayMilliseconds: Int)
        /// The session has ended for good.
        case giveUp(reason: String)
    }

    /// Seconds for which a failed session's slot stays reserved.
    public static let reservationSeconds = 10
    /// Milliseconds of the longest delay.
    static let maxDelay = 500
    /// Milliseconds of delay for each neighbor.
    static let delayPerNeighbor = 125
    /// Failures after which hardware is avoided.
    static let failuresToAvoid = 2

    /// Decides how a session continues.
    ///
    /// The first restart uses the same hardware, because most failures do not repeat. A GPU that is reset fails all its
    /// sessions at once, which therefore wait for a random time each. Hardware that has failed twice is avoided, unless the
    /// session requires hardware and there is no other.
    /// - Parameter failures: of the session's processes, oldest first; not empty.
    public static func decide(_ failures: [Failure], _ surroundings: Surroundings) -> Decision {
        guard failures.count <= SessionKind.maxRestarts else {
            return .giveUp(reason: "its process was replaced \(SessionKind.maxRestarts) times already")
        }
        let hardware = failures.filter(\.isHardware)
        var counts: [String: Int] = [:]
        for id in hardware.compactMap(\.codecID) { counts[id, default: 0] += 1 }
        var avoided = Set(counts.filter { $0.value >= failuresToAvoid }.keys)
        if surroundings.requiresHardware, surroundings.hardware.isSubset(of: avoided) { avoided = [] }
        let avoiding = avoided.sorted().map { id in
            CodecFailure(
                codecID: id, reason: hardware.last { $0.codecID == id }?.reason ?? "it failed", isTransient: false)
        }
        let last = failures.last
        let waits = last?.isHardware == true && last?.codecID.map { !avoided.contains($0) } ?? false
        let delay = waits ? min(maxDelay, delayPerNeighbor * surroundings.neighbors) : 0
        return .restart(avoiding: avoiding, maxDelayMilliseconds: delay)
    }
}
