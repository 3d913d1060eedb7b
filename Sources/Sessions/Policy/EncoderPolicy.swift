// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The choice of encoder: one pure function, so that every refusal and every fallback can be tested.
public enum EncoderPolicy {
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
        /// Luma samples a row and rows; nil fits every encoder.
        public var size: Size?
        /// The GPU to take if it will do, by PCI address or node.
        public var preferredGPU: String?
        /// The GPU to take and no other.
        public var requiredGPU: String?
        /// Properties that are set and that software alone honours.
        public var softwareProperties: [String] = []

        /// A picture's width and height.
        public struct Size: Hashable, Sendable {
            /// Luma samples a row.
            public var width: Int
            /// Rows.
            public var height: Int

            /// A size by its numbers.
            public init(width: Int, height: Int) {
                self.width = width
                self.height = height
            }
        }

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
            for (name, value) in specification.sorted(by: { $0.key < $1.key }) {
                switch (PropertyKey(rawValue: name), value) {
                case (.enableHardware, .bool), (.requireHardware, .bool): break
                case (.encoderID, .string(let value)): encoderID = value
                case (.preferredGPU, .string(let value)): preferredGPU = value
                case (.requiredGPU, .string(let value)): requiredGPU = value
                case (.enableHardware, _), (.requireHardware, _), (.encoderID, _), (.preferredGPU, _),
                    (.requiredGPU, _):
                    throw SessionError(.parameter, "\(name) is of the wrong type: \(value)")
                default:
                    throw SessionError(.propertyNotSupported, "\(name) does not belong in an encoder specification")
                }
            }
            let requirement = HardwareRequirement(encoderSpecification: specification)
            requireHardware = requirement == .required
            enableHardware = requirement != .none
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
        // Who requires hardware is told by name which property it does not honour, not that there is none.
        if request.enableHardware, request.requireHardware || request.softwareProperties.isEmpty {
            let hardware = usable.filter { $0.hardware && request.fits($0) }
            let preferred = request.preferredGPU.flatMap { name in hardware.first { $0.isOn(gpu: name) } }
            if let encoder = preferred ?? hardware.first { return Choice(encoder: encoder, fallbackReason: nil) }
        }
        let whyNotHardware = hardwareReason(request, snapshot: snapshot, failures: failures)
        if request.requireHardware {
            throw SessionError(
                isBusy(snapshot, failures) ? .videoEncoderNotAvailableNow : .couldNotFindVideoEncoder,
                "hardware is required, but \(whyNotHardware)")
        }
        guard let software = usable.first(where: { !$0.hardware }) else {
            throw SessionError(
                failures.contains(where: \.isTransient) ? .videoEncoderNotAvailableNow : .couldNotFindVideoEncoder,
                noneReason(request, snapshot: snapshot, failures: failures, whyNotHardware: whyNotHardware))
        }
        return Choice(encoder: software, fallbackReason: request.enableHardware ? whyNotHardware : nil)
    }

    /// Whether hardware may be there later.
    private static func isBusy(_ snapshot: ProbeSnapshot, _ failures: [Failure]) -> Bool {
        if !failures.isEmpty { return failures.contains(where: \.isTransient) }
        return !snapshot.encoders.contains(where: \.hardware)
            && snapshot.nodes.contains { $0.state == .verifying || $0.state == .busy }
    }

    /// Why no hardware encoder can serve the request: the failures, else what the probe found.
    private static func hardwareReason(
        _ request: Request, snapshot: ProbeSnapshot, failures: [Failure]
    ) -> String {
        if !failures.isEmpty {
            return failures.map { "\($0.encoderID) failed: \($0.reason)" }.joined(separator: "; ")
        }
        let hardware = snapshot.encoders.filter(\.hardware)
        if let id = request.encoderID, !hardware.contains(where: { $0.id == id }) {
            return "\(id) is not a hardware encoder of this machine"
        }
        if !hardware.isEmpty { return misfit(request, hardware) }
        if snapshot.nodes.isEmpty {
            return "this machine has no render node (/dev/dri/renderD*)"
        }
        return snapshot.nodes
            .map { "\($0.node): \($0.reason ?? "no HEVC encoder found on it")" }
            .joined(separator: "; ")
    }

    /// Why none of the hardware there is will do.
    private static func misfit(_ request: Request, _ hardware: [EncoderDescription]) -> String {
        var left = hardware
        if let gpu = request.requiredGPU {
            left.removeAll { !$0.isOn(gpu: gpu) }
            if left.isEmpty {
                let known = hardware.compactMap { $0.pciAddress ?? $0.device }.joined(separator: ", ")
                return "no hardware encoder is on \(gpu); there is one on \(known)"
            }
        }
        left.removeAll { !$0.bitDepths.contains(request.bitDepth) }
        if left.isEmpty { return "no hardware encoder here writes \(request.bitDepth)-bit HEVC" }
        if let size = request.size, !left.contains(where: { $0.sizes?.contain(size) ?? true }) {
            let bounds = left.map { "\($0.id) takes \($0.sizes?.description ?? "any")" }.joined(separator: "; ")
            return "no hardware encoder here takes pictures of \(size.width)x\(size.height): \(bounds)"
        }
        if !request.softwareProperties.isEmpty {
            return "only software honours \(request.softwareProperties.joined(separator: ", "))"
        }
        return "no hardware encoder here fits the request"
    }

    private static func noneReason(
        _ request: Request, snapshot: ProbeSnapshot, failures: [Failure], whyNotHardware: String
    ) -> String {
        if let id = request.encoderID, !snapshot.encoders.contains(where: { $0.id == id }) {
            let known = snapshot.encoders.map(\.id).joined(separator: ", ")
            return "there is no encoder \(id) here; there is \(known.isEmpty ? "none" : known)"
        }
        if let id = request.encoderID {
            if let failure = failures.first(where: { $0.encoderID == id }) {
                return "\(id) failed: \(failure.reason)"
            }
            return "\(id) does not fit: it cannot write \(request.bitDepth)-bit HEVC, or hardware is not allowed"
        }
        return "no software encoder writes \(request.bitDepth)-bit HEVC here, and \(whyNotHardware)"
    }
}

extension EncoderPolicy.Request {
    /// Whether a hardware encoder takes the pictures and is on the GPU that is wanted.
    fileprivate func fits(_ encoder: EncoderDescription) -> Bool {
        guard requiredGPU.map({ encoder.isOn(gpu: $0) }) ?? true else { return false }
        return size.map { encoder.sizes?.contain($0) ?? true } ?? true
    }
}

extension PictureSizes {
    fileprivate func contain(_ size: EncoderPolicy.Request.Size) -> Bool {
        contain(width: size.width, height: size.height)
    }
}
