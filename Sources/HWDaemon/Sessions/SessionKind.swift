// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDWire

/// What a session is for, and everything the broker does differently because of it.
enum SessionKind: String, Hashable, Sendable, CaseIterable {
    case compression
    case decompression
    case transfer

    /// The kind that a Varlink method creates; nil for any other method.
    init?(createMethod: String) {
        guard let kind = Self.allCases.first(where: { $0.createMethod == createMethod }) else { return nil }
        self = kind
    }

    /// The Varlink method that creates such a session.
    var createMethod: String {
        switch self {
        case .compression: CreateCompressionSession.method
        case .decompression: CreateDecompressionSession.method
        case .transfer: CreateTransferSession.method
        }
    }

    /// The worker's executable in the libexec directory.
    var program: String {
        switch self {
        case .compression: "hwdaemon-encoder"
        case .decompression: "hwdaemon-decoder"
        case .transfer: "hwdaemon-transfer"
        }
    }

    /// How messages name the worker.
    var noun: String {
        switch self {
        case .compression: "encoder"
        case .decompression: "decoder"
        case .transfer: "converter"
        }
    }
}

// Status codes.
extension SessionKind {
    /// The status of a session whose worker died.
    var malfunction: Status {
        switch self {
        case .compression: .videoEncoderMalfunction
        case .decompression: .videoDecoderMalfunction
        // VideoToolbox has no malfunction status for transfer sessions.
        case .transfer: .invalidSession
        }
    }

    /// The status of a session that a limit forbids.
    var notAvailableNow: Status {
        switch self {
        case .compression: .videoEncoderNotAvailableNow
        case .decompression: .videoDecoderNotAvailableNow
        case .transfer: .allocationFailed
        }
    }

    /// The same error under this kind's status code.
    func adapted(_ error: SessionError) -> SessionError {
        switch error.status {
        case .videoEncoderNotAvailableNow, .videoDecoderNotAvailableNow:
            SessionError(notAvailableNow, error.reason)
        case .videoEncoderMalfunction, .videoDecoderMalfunction: SessionError(malfunction, error.reason)
        default: error
        }
    }
}

// What workers receive and may open.
extension SessionKind {
    /// The part of the probe results that a worker of this kind reads.
    func relevantPart(of snapshot: ProbeSnapshot) -> ProbeSnapshot {
        switch self {
        case .compression: snapshot.forChoice
        case .decompression: snapshot.forDecoding
        case .transfer: ProbeSnapshot(encoders: [], nodes: [])
        }
    }

    /// The hardware encoders that a worker of this kind may open.
    func hardwareEncoders(among encoders: [HardwareEncoder]) -> [HardwareEncoder] {
        switch self {
        case .compression: encoders
        case .decompression, .transfer: []
        }
    }

    /// The ids of the hardware that a worker may open.
    func hardware(of start: WorkerStart) -> Set<String> {
        switch self {
        case .compression: Set(start.hardware.map(\.encoderID))
        case .decompression: Set(DecoderPolicy.candidates(start.snapshot).filter(\.isHardware).map(\.id))
        case .transfer: [VulkanHints.converterID]
        }
    }

    /// Whether a session has verified hardware to choose from, so that waiting for more is pointless.
    func hasVerifiedHardware(in snapshot: ProbeSnapshot) -> Bool {
        switch self {
        case .compression: snapshot.encoders.contains(where: \.hardware)
        case .decompression: snapshot.paths.contains { $0.operation == .decode && $0.device != nil && $0.verified }
        case .transfer: true
        }
    }

    /// Whether the Create call declares the picture size; a decoder reads it from the stream.
    var declaresSize: Bool { self != .decompression }
}

// Workers started in advance.
extension SessionKind {
    /// When a worker is started ahead of the next session.
    enum SparePolicy {
        /// When the daemon starts, and again after every session.
        case always
        /// After the first session of the kind: not every machine has such sessions.
        case afterFirstSession
        /// Never.
        case never
    }

    var sparePolicy: SparePolicy {
        switch self {
        case .compression: .always
        case .decompression: .afterFirstSession
        // A converter starts in a few milliseconds, and few machines transfer pixels.
        case .transfer: .never
        }
    }
}
