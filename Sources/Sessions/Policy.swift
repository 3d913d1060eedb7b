// SPDX-License-Identifier: GPL-2.0-or-later
public import Model

/// The choice of encoder: one pure function, so that every refusal and every fallback can be tested.
public enum Policy {
    /// What the client wants of the encoder.
    public struct Request: Hashable, Sendable {
        /// Hardware may be used.
        public var enableHardware: Bool
        /// Nothing but hardware will do.
        public var requireHardware: Bool
        /// This encoder and no other.
        public var encoderID: String?
        /// Bits of a coded sample.
        public var bitDepth: Int

        /// Wants these things.
        public init(
            enableHardware: Bool = true, requireHardware: Bool = false, encoderID: String? = nil, bitDepth: Int = 8
        ) {
            self.enableHardware = enableHardware || requireHardware
            self.requireHardware = requireHardware
            self.encoderID = encoderID
            self.bitDepth = bitDepth
        }

        /// Reads an encoder specification.
        ///
        /// - Throws: `PropertyNotSupported` for a key that does not belong there, `Parameter` for a wrong type.
        public init(specification: [String: PropertyValue], bitDepth: Int) throws(SessionError) {
            self.init(bitDepth: bitDepth)
            var enable: Bool?
            for (name, value) in specification.sorted(by: { $0.key < $1.key }) {
                switch (PropertyKey(rawValue: name), value) {
                case (.enableHardware, .bool(let value)): enable = value
                case (.requireHardware, .bool(let value)): requireHardware = value
                case (.encoderID, .string(let value)): encoderID = value
                case (.enableHardware, _), (.requireHardware, _), (.encoderID, _):
                    throw SessionError(.parameter, "\(name) is of the wrong type: \(value)")
                default:
                    throw SessionError(.propertyNotSupported, "\(name) does not belong in an encoder specification")
                }
            }
            // VideoToolbox: require implies enable.
            enableHardware = requireHardware || enable ?? true
        }
    }

    /// An encoder that was tried for this session and did not open.
    public struct Failure: Hashable, Sendable {
        /// Which.
        public var encoderID: String
        /// Why; a sentence without its full stop.
        public var reason: String
        /// Whether it may work later (busy, at its limit).
        public var isTransient: Bool

        /// Remembers a failure.
        public init(encoderID: String, reason: String, isTransient: Bool) {
            self.encoderID = encoderID
            self.reason = reason
            self.isTransient = isTransient
        }
    }

    /// What was chosen.
    public struct Choice: Hashable, Sendable {
        /// The encoder to open.
        public var encoder: EncoderDescription
        /// Why it is not hardware although hardware was allowed; nil otherwise.
        public var fallbackReason: String?
    }

    /// Chooses the encoder to open next.
    ///
    /// - Throws: `CouldNotFindVideoEncoder` when nothing fits, `VideoEncoderNotAvailableNow` when something would if
    ///   it were not busy; the reason says what an admin can do.
    public static func choose(
        _ request: Request, snapshot: ProbeSnapshot, failures: [Failure] = []
    ) throws(SessionError) -> Choice {
        let failed = Set(failures.map(\.encoderID))
        let fitting = snapshot.encoders.filter { encoder in
            encoder.bitDepths.contains(request.bitDepth)
                && (request.encoderID ?? encoder.id) == encoder.id
        }
        let usable = fitting.filter { !failed.contains($0.id) }
        if request.enableHardware, let hardware = usable.first(where: \.hardware) {
            return Choice(encoder: hardware, fallbackReason: nil)
        }
        let whyNotHardware = hardwareReason(request, snapshot: snapshot, failures: failures)
        if request.requireHardware {
            let busy = failures.contains { $0.isTransient }
            throw SessionError(
                busy ? .videoEncoderNotAvailableNow : .couldNotFindVideoEncoder,
                "hardware is required, but \(whyNotHardware)")
        }
        guard let software = usable.first(where: { !$0.hardware }) else {
            throw SessionError(
                .couldNotFindVideoEncoder,
                noneReason(request, snapshot: snapshot, failures: failures, whyNotHardware: whyNotHardware))
        }
        return Choice(encoder: software, fallbackReason: request.enableHardware ? whyNotHardware : nil)
    }

    /// Why no hardware encoder can serve the request: the failures, else what the probe found.
    private static func hardwareReason(
        _ request: Request, snapshot: ProbeSnapshot, failures: [Failure]
    ) -> String {
        if let failure = failures.first { return "\(failure.encoderID) failed: \(failure.reason)" }
        let hardware = snapshot.encoders.filter(\.hardware)
        if let id = request.encoderID, !hardware.contains(where: { $0.id == id }) {
            return "\(id) is not a hardware encoder of this machine"
        }
        if !hardware.isEmpty {
            return "no hardware encoder here writes \(request.bitDepth)-bit HEVC"
        }
        if snapshot.nodes.isEmpty {
            return "this machine has no render node (/dev/dri/renderD*)"
        }
        return snapshot.nodes
            .map { "\($0.node): \($0.reason ?? "no HEVC encoder found on it")" }
            .joined(separator: "; ")
    }

    private static func noneReason(
        _ request: Request, snapshot: ProbeSnapshot, failures: [Failure], whyNotHardware: String
    ) -> String {
        if let id = request.encoderID, !snapshot.encoders.contains(where: { $0.id == id }) {
            let known = snapshot.encoders.map(\.id).joined(separator: ", ")
            return "there is no encoder \(id) here; there is \(known.isEmpty ? "none" : known)"
        }
        if let id = request.encoderID {
            return "\(id) does not fit: it cannot write \(request.bitDepth)-bit HEVC, or hardware is not allowed"
        }
        return "no software encoder writes \(request.bitDepth)-bit HEVC here, and \(whyNotHardware)"
    }
}
