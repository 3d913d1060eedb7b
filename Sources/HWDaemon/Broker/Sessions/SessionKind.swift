// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDWire

// Everything that the broker does differently for each kind of session.

// Create calls.
extension SessionKind {
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
    ///
    /// - Parameter mayUseHardware: whether the session may choose hardware.
    func relevantPart(of snapshot: ProbeSnapshot, mayUseHardware: Bool) -> ProbeSnapshot {
        switch self {
        case .compression: snapshot.forEncoding
        case .decompression: mayUseHardware ? snapshot.forDecoding : ProbeSnapshot(encoders: [], nodes: [])
        case .transfer: ProbeSnapshot(encoders: [], nodes: [])
        }
    }

    /// The program that serves a session; one that may use NVIDIA's encoder has a program of its own, which links libavcodec.
    ///
    /// - Parameters:
    ///   - encoders: what the session may open.
    ///   - failures: what it must not use of that.
    func program(_ encoders: [HardwareEncoder], _ failures: [CodecFailure]) -> String {
        let mayUseCard = encoders.contains { encoder in
            CodecInterface(node: encoder.node) == .nvidia && !failures.contains { $0.codecID == encoder.encoderID }
        }
        return self == .compression && mayUseCard ? "hwdaemon-encoder-nv" : program
    }

    /// The hardware encoders that a worker of this kind may open.
    func hardwareEncoders(among encoders: [HardwareEncoder]) -> [HardwareEncoder] {
        switch self {
        case .compression: encoders
        case .decompression, .transfer: []
        }
    }

    /// The ids of the hardware that a worker of this kind may open.
    func hardware(_ encoders: [HardwareEncoder], _ snapshot: ProbeSnapshot) -> Set<String> {
        switch self {
        case .compression: Set(encoders.map(\.encoderID))
        case .decompression: Set(DecoderPolicy.candidates(snapshot).filter(\.hardware).map(\.id))
        case .transfer: [VulkanHints.converterID]
        }
    }

    /// The nodes whose drivers a worker of this kind may load.
    func nodes(_ encoders: [HardwareEncoder], _ snapshot: ProbeSnapshot) -> [String] {
        switch self {
        case .compression: encoders.map(\.node)
        case .decompression: DecoderPolicy.candidates(snapshot).compactMap(\.device)
        case .transfer: []
        }
    }

    /// Whether a session has verified hardware to choose from, so that waiting for more is pointless.
    func hasVerifiedHardware(in snapshot: ProbeSnapshot) -> Bool {
        switch self {
        case .compression: snapshot.encoders.contains(where: \.hardware)
        case .decompression: DecoderPolicy.candidates(snapshot).contains { $0.hardware && $0.verified }
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

    /// Time from a session's start to that of the next spare, which would slow the session's own start.
    var spareDelay: Duration {
        switch self {
        case .compression, .transfer: .milliseconds(15)
        // Loading libavcodec takes 30 ms of a processor: half the time of decoding a still picture.
        case .decompression: .milliseconds(100)
        }
    }
}

extension ProbeSnapshot {
    /// The part that the choice of encoder depends on: with the paths of NVIDIA's cards, which say why they do not encode.
    fileprivate var forEncoding: ProbeSnapshot {
        var part = forChoice
        part.paths = paths.filter { path in
            path.operation == .encode && path.device.map { CodecInterface(node: $0) == .nvidia } ?? false
        }
        return part
    }
}
