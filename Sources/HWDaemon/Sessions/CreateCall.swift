// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSessions
internal import HWDWire

/// The fields of a Create call that the broker reads; the worker reads and checks the rest.
///
/// Texts are the client's until the worker has checked them, so they are cleaned here for lists and logs.
struct CreateCall {
    let kind: SessionKind
    var codec: String
    /// Luma samples; 0 if the call does not declare a size.
    var width = 0
    var height = 0
    /// Empty if the call names none.
    var pixelFormat = ""
    /// Decides whether the session waits until hardware is verified.
    var hardwareRequirement = HardwareRequirement.none
    /// The session that this one continues.
    var resumes: String?
    /// How long the call may wait for a place.
    var maxWait = Duration.zero
    /// As far as the call declares it.
    var priority = SessionPriority.normal
    /// Frames a second, as far as the call declares them.
    var frameRate = GPULoad.assumedRate
    /// Bytes of a picture, as `SessionMemory` counts them; 0 where the call does not declare its size.
    var pictureBytes: UInt64 { SessionMemory.pictureBytes(width: width, height: height) }
    /// The encoder or decoder that the client names, and the GPU that it must be on.
    private var codecID: String?
    private var gpu: String?

    /// Reads a call that creates a session.
    ///
    /// - Throws: `InvalidParameter`, naming the field.
    init(_ call: VarlinkCall, creating kind: SessionKind) throws(VarlinkError) {
        guard call.upgrade else { throw .invalidParameter("upgrade") }
        guard !call.oneway else { throw .invalidParameter("oneway") }
        self.kind = kind
        switch kind {
        case .compression:
            let parameters = try call.checkedParameters(CreateCompressionSession.Parameters.self)
            codec = parameters.codec
            (width, height, pixelFormat) = (parameters.width, parameters.height, parameters.pixelFormat)
            hardwareRequirement = HardwareRequirement(encoderSpecification: parameters.encoderSpecification ?? [:])
            resumes = parameters.resumes
            (codecID, gpu) = Self.restrictions(parameters.encoderSpecification, .encoderID)
            priority = SessionPriority(call: parameters.properties)
            frameRate = Self.frameRate(parameters.properties)
            maxWait = try Self.wait(parameters.maxWaitMs)
        case .decompression:
            let parameters = try call.checkedParameters(CreateDecompressionSession.Parameters.self)
            codec = parameters.codec
            pixelFormat = parameters.pixelFormat ?? ""
            hardwareRequirement = HardwareRequirement(decoderSpecification: parameters.decoderSpecification ?? [:])
            resumes = parameters.resumes
            (codecID, gpu) = Self.restrictions(parameters.decoderSpecification, .decoderID)
            priority = SessionPriority(call: parameters.properties)
            maxWait = try Self.wait(parameters.maxWaitMs)
        case .transfer:
            let parameters = try call.checkedParameters(CreateTransferSession.Parameters.self)
            for (side, image) in [("source", parameters.source), ("target", parameters.target)] {
                if let member = image.inapplicableMember { throw .invalidParameter("\(side).\(member)") }
            }
            codec = "none"
            resumes = parameters.resumes
            maxWait = try Self.wait(parameters.maxWaitMs)
            (width, height) = (parameters.width, parameters.height)
            // The larger side bounds the process's memory.
            let target = (width: parameters.targetWidth ?? width, height: parameters.targetHeight ?? height)
            if SessionMemory.pictureBytes(width: target.width, height: target.height)
                > SessionMemory.pictureBytes(width: width, height: height)
            {
                (width, height) = target
            }
            pixelFormat = "\(parameters.source.pixelFormat)>\(parameters.target.pixelFormat)"
        }
        codec = codec.printable(maxBytes: 32)
        pixelFormat = pixelFormat.printable(maxBytes: 32)
    }

    /// The longest wait that a call may ask for.
    private static let maxWaitMilliseconds = 3_600_000

    private static func wait(_ milliseconds: Int?) throws(VarlinkError) -> Duration {
        guard 0...maxWaitMilliseconds ~= milliseconds ?? 0 else { throw .invalidParameter("max_wait_ms") }
        return .milliseconds(milliseconds ?? 0)
    }

    /// ExpectedFrameRate, which the worker has not checked yet.
    private static func frameRate(_ properties: [String: PropertyValue]?) -> Double {
        properties?[PropertyKey.expectedFrameRate.rawValue].flatMap(PropertyText.frameRate)?.value
            ?? GPULoad.assumedRate
    }

    private static func restrictions(
        _ specification: [String: PropertyValue]?, _ codec: PropertyKey
    ) -> (codecID: String?, gpu: String?) {
        func text(_ key: PropertyKey) -> String? {
            if case .string(let text)? = specification?[key.rawValue] { text } else { nil }
        }
        return (text(codec), text(.requiredGPU))
    }

    /// Whether the call names hardware, or a GPU, so that no other can serve it.
    func namesHardware(among all: Set<String>) -> Bool { gpu != nil || codecID.map(all.contains) ?? false }

    /// The part of the machine's hardware that the call allows: all of it, unless it names hardware or a GPU.
    func hardware(among all: Set<String>, _ snapshot: ProbeSnapshot) -> Set<String> {
        var allowed = all
        if let codecID, all.contains(codecID) { allowed = [codecID] }
        if let gpu {
            let there = Set(snapshot.encoders.filter { $0.isOn(gpu: gpu) }.map(\.id))
            allowed.formIntersection(there)
        }
        return allowed
    }
}
