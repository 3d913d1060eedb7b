// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDWire

extension SessionKind {
    /// The ids of the hardware that a worker of this kind may open.
    func hardware(of start: WorkerStart) -> Set<String> {
        switch self {
        case .compression: Set(start.hardware.map(\.encoderID))
        case .decompression: Set(DecoderPolicy.candidates(start.snapshot).filter(\.isHardware).map(\.id))
        case .transfer: [VulkanHints.converterID]
        }
    }

    /// A refusal, or an end, under the status that this kind has for it.
    func own(_ error: SessionError) -> SessionError {
        switch error.status {
        case .videoEncoderNotAvailableNow, .videoDecoderNotAvailableNow:
            SessionError(notAvailableNow, error.reason)
        case .videoEncoderMalfunction, .videoDecoderMalfunction: SessionError(malfunction, error.reason)
        default: error
        }
    }
}

/// What the broker reads of a Create call; the worker reads the rest.
struct CreateCall {
    var kind: SessionKind
    var codec: String
    /// 0 until the worker has told.
    var width = 0
    var height = 0
    /// Empty until the worker has told.
    var pixelFormat = ""
    /// What it waits for.
    var hardwareRequirement = HardwareRequirement.none

    /// Whether a session is worth waiting until hardware is verified.
    enum HardwareRequirement {
        /// Software is asked for; or the specification is wrong, which is the worker's to refuse.
        case none
        case prefersHardware
        case requiresHardware

        init(enables: Bool, requires: Bool) {
            self = requires ? .requiresHardware : enables ? .prefersHardware : .none
        }
    }

    /// Reads a call of any kind.
    ///
    /// - Throws: `InvalidParameter`, naming the field.
    init(_ call: VarlinkCall) throws(VarlinkError) {
        guard call.upgrade else { throw .invalidParameter("upgrade") }
        guard !call.oneway else { throw .invalidParameter("oneway") }
        if call.method == CreateDecompressionSession.method {
            let parameters = try call.checkedParameters(CreateDecompressionSession.Parameters.self)
            kind = .decompression
            codec = parameters.codec
            pixelFormat = parameters.pixelFormat ?? ""
            let specification = parameters.decoderSpecification ?? [:]
            if let asked = try? DecoderPolicy.Request(specification: specification, bitDepth: 8) {
                hardwareRequirement = HardwareRequirement(enables: asked.enableHardware, requires: asked.requireHardware)
            }
        } else if call.method == CreateTransferSession.method {
            let parameters = try call.checkedParameters(CreateTransferSession.Parameters.self)
            kind = .transfer
            codec = "none"
            (width, height) = (parameters.width, parameters.height)
            pixelFormat = "\(parameters.source.pixelFormat)>\(parameters.target.pixelFormat)"
        } else {
            let parameters = try call.checkedParameters(CreateCompressionSession.Parameters.self)
            kind = .compression
            codec = parameters.codec
            (width, height, pixelFormat) = (parameters.width, parameters.height, parameters.pixelFormat)
            let specification = parameters.encoderSpecification ?? [:]
            if let asked = try? EncoderPolicy.Request(specification: specification, bitDepth: 8) {
                hardwareRequirement = HardwareRequirement(enables: asked.enableHardware, requires: asked.requireHardware)
            }
        }
    }
}
