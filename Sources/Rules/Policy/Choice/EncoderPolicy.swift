// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The choice of encoder: one pure function, so that every refusal and every fallback can be tested.
public enum EncoderPolicy {
    /// The client's requirements for the encoder.
    public struct Request: Hashable, Sendable {
        /// Hardware may be used.
        public var enableHardware: Bool
        /// Only hardware may be used.
        public var requireHardware: Bool
        /// The only encoder that may be used; nil for any.
        public var codecID: String?
        /// Bits of a coded sample.
        public var bitDepth: Int
        /// Nil fits every encoder.
        public var size: PictureSize?
        /// The GPU to use if it fits, by PCI address or node.
        public var preferredGPU: String?
        /// The only GPU that may be used, by PCI address or node.
        public var requiredGPU: String?
        /// Properties that are set and that only software supports.
        public var softwareProperties: [String] = []
        /// What the GPUs do already; those that are full are not chosen.
        public var loads: [HardwareLoad] = []
        /// The encoder that the session had before its process failed, which is chosen again if it fits.
        public var previousID: String?

        public init(
            enableHardware: Bool = true, requireHardware: Bool = false, codecID: String? = nil, bitDepth: Int = 8
        ) {
            self.enableHardware = enableHardware || requireHardware
            self.requireHardware = requireHardware
            self.codecID = codecID
            self.bitDepth = bitDepth
        }

        /// Reads an encoder specification.
        ///
        /// - Throws: `PropertyNotSupported` for an unknown key, `Parameter` for a value of the wrong type.
        public init(
            specification: [String: PropertyValue], bitDepth: Int, size: PictureSize? = nil
        ) throws(SessionError) {
            self.init(bitDepth: bitDepth)
            self.size = size
            for (name, value) in specification.sorted(by: { $0.key < $1.key }) {
                switch (PropertyKey(rawValue: name), value) {
                case (.enableHardware, .bool), (.requireHardware, .bool): break
                case (.encoderID, .string(let value)): codecID = value
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

    /// The chosen encoder.
    public struct Choice: Hashable, Sendable {
        /// The encoder to open.
        public var encoder: EncoderDescription
        /// Why it is not hardware although hardware was allowed; nil otherwise.
        public var fallbackReason: String?

        public init(encoder: EncoderDescription, fallbackReason: String? = nil) {
            self.encoder = encoder
            self.fallbackReason = fallbackReason
        }
    }

    /// Chooses the encoder to open next.
    ///
    /// - Throws: `CouldNotFindVideoEncoder` when none fits, `VideoEncoderNotAvailableNow` when the only ones that fit
    ///   are busy; the reason states what an administrator can do.
    public static func choose(
        _ request: Request, snapshot: ProbeSnapshot, failures: [CodecFailure] = []
    ) throws(SessionError) -> Choice {
        let failed = Set(failures.map(\.codecID))
        let fitting = snapshot.encoders.filter { encoder in
            encoder.bitDepths.contains(request.bitDepth)
                && (request.codecID ?? encoder.id) == encoder.id
        }
        let full = request.loads.filter { load in
            load.isFull && fitting.contains { $0.id == load.codecID && request.fits($0) }
        }
        let usable = fitting.filter { encoder in
            !failed.contains(encoder.id) && !full.contains { $0.codecID == encoder.id }
        }
        // With hardware required, properties that only software supports do not exclude it: the session then refuses them
        // by name, which is clearer than finding no encoder.
        if request.enableHardware, request.requireHardware || request.softwareProperties.isEmpty {
            let hardware = usable.filter { $0.hardware && request.fits($0) }
            let preferred = request.preferredGPU.flatMap { name in hardware.first { $0.isOn(gpu: name) } }
            let chosen = GPULoad.leastLoaded(hardware.map(\.id), request.loads, previous: request.previousID)
            if let encoder = preferred ?? hardware.first(where: { $0.id == chosen }) {
                return Choice(encoder: encoder)
            }
        }
        let reason = hardwareReason(request, snapshot: snapshot, failures: failures, full)
        if request.requireHardware {
            throw SessionError(
                !full.isEmpty || isBusy(snapshot, failures)
                    ? .videoEncoderNotAvailableNow : .couldNotFindVideoEncoder,
                "hardware is required, but \(reason)")
        }
        guard let software = usable.first(where: { !$0.hardware }) else {
            throw SessionError(
                failures.contains(where: \.isTransient) ? .videoEncoderNotAvailableNow : .couldNotFindVideoEncoder,
                noneReason(request, snapshot: snapshot, failures: failures, hardwareReason: reason))
        }
        return Choice(encoder: software, fallbackReason: request.enableHardware ? reason : nil)
    }

    /// Whether hardware may become available later.
    private static func isBusy(_ snapshot: ProbeSnapshot, _ failures: [CodecFailure]) -> Bool {
        if !failures.isEmpty { return failures.contains(where: \.isTransient) }
        return !snapshot.encoders.contains(where: \.hardware)
            && snapshot.nodes.contains { node in
                if node.state == .verifying { return true }
                guard node.isCard else { return node.state == .busy }
                return snapshot.encodePaths(of: node).contains { $0.cause == .busy }
            }
    }

    /// Why no hardware encoder can serve the request: the failures and full GPUs, otherwise the findings of the probe.
    private static func hardwareReason(
        _ request: Request, snapshot: ProbeSnapshot, failures: [CodecFailure], _ full: [HardwareLoad]
    ) -> String {
        if !failures.isEmpty || !full.isEmpty {
            let failed = failures.map { "\($0.codecID) failed: \($0.reason)" }
            return (failed + full.map(\.fullReason)).joined(separator: "; ")
        }
        let hardware = snapshot.encoders.filter(\.hardware)
        if let id = request.codecID, !hardware.contains(where: { $0.id == id }) {
            return "\(id) is not a hardware encoder of this machine"
        }
        if !hardware.isEmpty { return misfit(request, hardware) }
        if snapshot.nodes.isEmpty { return "this machine has no render node (/dev/dri/renderD*)" }
        return snapshot.nodes.map { "\($0.node): \(reason(of: $0, snapshot))" }.joined(separator: "; ")
    }

    /// Why nothing is encoded on a node; the reason of an NVIDIA card that was tried is about decoding.
    private static func reason(of node: RenderNode, _ snapshot: ProbeSnapshot) -> String {
        let ofPath = snapshot.encodePaths(of: node).first { !$0.verified }?.reason.map {
            "its HEVC encoder is not used: \($0)"
        }
        let ofNode = node.reason
        let wasTried = node.isCard && [.ready, .busy].contains(node.state)
        return (wasTried ? ofPath ?? ofNode : ofNode ?? ofPath) ?? "no HEVC encoder found on it"
    }

    /// Why none of the hardware encoders fits the request.
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
        if left.isEmpty { return "no hardware encoder here encodes \(request.bitDepth)-bit HEVC" }
        if let size = request.size, !left.contains(where: { $0.sizes?.contain(size) ?? true }) {
            let bounds = left.map { "\($0.id) takes \($0.sizes?.description ?? "any")" }.joined(separator: "; ")
            return "no hardware encoder here encodes pictures of \(size.width)x\(size.height): \(bounds)"
        }
        if !request.softwareProperties.isEmpty {
            return "only software supports \(request.softwareProperties.joined(separator: ", "))"
        }
        return "no hardware encoder here fits the request"
    }

    private static func noneReason(
        _ request: Request, snapshot: ProbeSnapshot, failures: [CodecFailure], hardwareReason: String
    ) -> String {
        if let id = request.codecID, !snapshot.encoders.contains(where: { $0.id == id }) {
            let known = snapshot.encoders.map(\.id).joined(separator: ", ")
            return "there is no encoder \(id) here; there is \(known.isEmpty ? "none" : known)"
        }
        if let id = request.codecID {
            if let failure = failures.first(where: { $0.codecID == id }) {
                return "\(id) failed: \(failure.reason)"
            }
            return "\(id) does not fit: it does not encode \(request.bitDepth)-bit HEVC, or hardware is not allowed"
        }
        return "no software encoder here encodes \(request.bitDepth)-bit HEVC, and \(hardwareReason)"
    }
}

extension EncoderPolicy.Request {
    /// Whether a hardware encoder supports the requested size and is on the required GPU.
    fileprivate func fits(_ encoder: EncoderDescription) -> Bool {
        guard requiredGPU.map({ encoder.isOn(gpu: $0) }) ?? true else { return false }
        return size.map { encoder.sizes?.contain($0) ?? true } ?? true
    }
}

extension RenderNode {
    /// Whether it is an NVIDIA card, which decodes and encodes independently of each other.
    fileprivate var isCard: Bool { CodecInterface(node: node) == .nvidia }
}

extension ProbeSnapshot {
    fileprivate func encodePaths(of node: RenderNode) -> [CodecPath] {
        paths.filter { $0.device == node.node && $0.operation == .encode }
    }
}

extension PictureSizes {
    fileprivate func contain(_ size: PictureSize) -> Bool {
        contain(width: size.width, height: size.height)
    }
}
