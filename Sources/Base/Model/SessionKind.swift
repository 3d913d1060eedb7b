// SPDX-License-Identifier: MIT

/// The kinds of sessions, and what differs between them for both the broker and the workers.
public enum SessionKind: String, CaseIterable, Codable, Hashable, Sendable {
    case compression
    case decompression
    case transfer

    /// The most restarts of one session, for the daemon and its clients.
    public static let maxRestarts = 3

    /// The adjective used in messages: "a pixel-transfer session".
    public var adjective: String { self == .transfer ? "pixel-transfer" : rawValue }

    /// The worker's executable, in the directory of the daemon's programs.
    public var program: String {
        switch self {
        case .compression: "hwdaemon-encoder"
        case .decompression: "hwdaemon-decoder"
        case .transfer: "hwdaemon-transfer"
        }
    }

    /// The worker in messages: "the encoder process".
    public var noun: String {
        switch self {
        case .compression: "encoder"
        case .decompression: "decoder"
        case .transfer: "converter"
        }
    }

    /// The status of a session whose worker died.
    public var malfunction: Status {
        switch self {
        case .compression: .videoEncoderMalfunction
        case .decompression: .videoDecoderMalfunction
        // VideoToolbox defines no malfunction of transfer sessions.
        case .transfer: .invalidSession
        }
    }

    /// The status of a session that a limit forbids, or that the daemon's shutdown ends.
    public var notAvailableNow: Status {
        switch self {
        case .compression: .videoEncoderNotAvailableNow
        case .decompression: .videoDecoderNotAvailableNow
        case .transfer: .allocationFailed
        }
    }
}
