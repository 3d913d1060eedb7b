// SPDX-License-Identifier: MIT

/// How much the sessions on a GPU use it, for the choice among several.
public struct HardwareLoad: Codable, Hashable, Sendable {
    /// The encoder or decoder, which shares its GPU with others.
    public var codecID: String
    /// Σ width · height · rate of all sessions on its GPU, in luma samples a second.
    public var pixelRate: Double
    /// The number of those sessions.
    public var sessionCount: Int
    /// Whether the GPU has as many sessions as it may.
    public var isFull: Bool

    public init(codecID: String, pixelRate: Double, sessionCount: Int, isFull: Bool) {
        self.codecID = codecID
        self.pixelRate = pixelRate
        self.sessionCount = sessionCount
        self.isFull = isFull
    }

    /// Why a full GPU takes no further session.
    public var fullReason: String {
        "\(codecID) is not available now: its GPU has \(sessionCount == 1 ? "1 session" : "\(sessionCount) sessions"), as many as MaxHardwareSessions allows"
    }
}
