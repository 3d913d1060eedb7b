// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDWire

/// A Create call: its parameters, which the worker gets as they are and checks, and what the broker reads of them.
struct CreateCall {
    /// The parameters of the kind's method.
    private(set) var parameters: any Codable & Sendable
    /// The JSON text, for a daemon that takes the call over.
    let text: [UInt8]
    private(set) var facts: SessionFacts
    var kind: SessionKind { facts.kind }
    /// What its converter has of its own.
    private(set) var converter = ConverterMemory()
    /// Decides whether the session waits until hardware is verified.
    var hardwareRequirement = HardwareRequirement.none
    /// The session that this one continues.
    var resumes: String?
    /// How long the call may wait for a slot.
    var maxWait = Duration.zero
    /// As far as the call declares it.
    var priority = SessionPriority.normal
    /// Whether a hardware encoder's pictures are compared with their frames (`VerifyOutput`).
    private(set) var checksOutput = false
    /// The encoder or decoder that the client names, and the GPU that it must be on.
    private var codecID: String?
    private var gpu: String?

    /// Reads a call that creates a session.
    ///
    /// - Throws: `InvalidParameter`, naming the field.
    init(_ call: VarlinkCall, creating kind: SessionKind) throws(VarlinkError) {
        guard call.upgrade else { throw .invalidParameter("upgrade") }
        guard !call.oneway else { throw .invalidParameter("oneway") }
        (text, facts) = (call.bytes, SessionFacts(kind))
        switch kind {
        case .compression:
            let parameters = try call.checkedParameters(CreateCompressionSession.Parameters.self)
            self.parameters = parameters
            try read(parameters)
        case .decompression:
            let parameters = try call.checkedParameters(CreateDecompressionSession.Parameters.self)
            self.parameters = parameters
            facts.codec = parameters.codec
            facts.pixelFormat = parameters.pixelFormat ?? ""
            // Without a name the pictures have the decoder's own format, which is never RGB.
            facts.converts = !facts.pixelFormat.isEmpty && PixelFormat(rawValue: facts.pixelFormat)?.isRGB != false
            hardwareRequirement = HardwareRequirement(decoderSpecification: parameters.decoderSpecification ?? [:])
            resumes = parameters.resumes
            (codecID, gpu) = Self.restrictions(parameters.decoderSpecification, .decoderID)
            priority = SessionPriority(call: parameters.properties)
            maxWait = try Self.wait(parameters.maxWaitMs)
            try Self.check(frames: parameters.frames)
        case .transfer:
            let parameters = try call.checkedParameters(CreateTransferSession.Parameters.self)
            self.parameters = parameters
            for (side, image) in [("source", parameters.source), ("target", parameters.target)] {
                if let member = image.inapplicableMember { throw .invalidParameter("\(side).\(member)") }
            }
            try Self.check(frames: parameters.frames)
            (facts.codec, resumes) = ("none", parameters.resumes)
            maxWait = try Self.wait(parameters.maxWaitMs)
            var (width, height) = (parameters.width, parameters.height)
            // The larger side bounds the process's memory.
            let target = (width: parameters.targetWidth ?? width, height: parameters.targetHeight ?? height)
            if SessionMemory.pictureBytes(width: target.width, height: target.height)
                > SessionMemory.pictureBytes(width: width, height: height)
            {
                (width, height) = target
            }
            setSize(width, height)
            (converter, facts.converts) = (Self.converter(parameters, target), true)
            facts.pixelFormat = "\(parameters.source.pixelFormat)>\(parameters.target.pixelFormat)"
        }
        facts.codec = facts.codec.printable(maxBytes: 32)
        facts.pixelFormat = facts.pixelFormat.printable(maxBytes: 32)
    }

    private mutating func setSize(_ width: Int, _ height: Int) {
        (facts.width, facts.height) = (width, height)
        facts.pictureBytes = SessionMemory.pictureBytes(width: width, height: height)
    }

    private mutating func read(_ parameters: CreateCompressionSession.Parameters) throws(VarlinkError) {
        (facts.codec, facts.pixelFormat) = (parameters.codec, parameters.pixelFormat)
        setSize(parameters.width, parameters.height)
        (converter, facts.converts) = Self.conversion(parameters)
        hardwareRequirement = HardwareRequirement(encoderSpecification: parameters.encoderSpecification ?? [:])
        resumes = parameters.resumes
        (codecID, gpu) = Self.restrictions(parameters.encoderSpecification, .encoderID)
        priority = SessionPriority(call: parameters.properties)
        facts.frameRate = Self.frameRate(parameters.properties)
        checksOutput =
            parameters.codec != CompressionRequest.alphaCodec
            && parameters.properties?[PropertyKey.verifyOutput.rawValue] != .string("off")
        maxWait = try Self.wait(parameters.maxWaitMs)
        try Self.check(frames: parameters.frames)
    }

    private static func check(frames: Int?) throws(VarlinkError) {
        guard frames ?? 1 >= 1 else { throw .invalidParameter("frames") }
    }

    /// The converter of a compression session, and whether it has one.
    private static func conversion(
        _ parameters: CreateCompressionSession.Parameters
    ) -> (ConverterMemory, converts: Bool) {
        // The session's process refuses unknown formats.
        guard let format = PixelFormat(rawValue: parameters.pixelFormat) else { return (ConverterMemory(), true) }
        guard format.isRGB || parameters.source != nil else { return (ConverterMemory(), false) }
        let (size, source) = (parameters.frameSize, parameters.source)
        func isStraight() -> Bool {
            let mode = PropertyValue.string(AlphaChannelMode.straight.rawValue)
            let own = parameters.properties?[PropertyKey.sourceAlphaMode.rawValue]
            return format.hasAlpha && parameters.codec == CompressionRequest.alphaCodec
                && (own ?? parameters.properties?[PropertyKey.alphaChannelMode.rawValue]) == mode
        }
        let memory = ConverterMemory(
            from: TransferSide(format: format, width: size.width, height: size.height),
            to: TransferSide(
                format: format.isYCbCr ? format : format == .rgba16f ? .p010 : .nv12, width: parameters.width,
                height: parameters.height),
            passesHalves: source != nil && (source?.scalingLight == "linear" || isStraight()), ownsTarget: true)
        return (memory, true)
    }

    /// The converter of a pixel-transfer session.
    private static func converter(
        _ parameters: CreateTransferSession.Parameters, _ target: (width: Int, height: Int)
    ) -> ConverterMemory {
        guard let from = PixelFormat(rawValue: parameters.source.pixelFormat),
            let to = PixelFormat(rawValue: parameters.target.pixelFormat)
        else { return ConverterMemory() }
        let isScaled = parameters.width != target.width || parameters.height != target.height
        let isLinear = parameters.options?.scalingLight == "linear" && from != .rgba16f
        return ConverterMemory(
            from: TransferSide(format: from, width: parameters.width, height: parameters.height),
            to: TransferSide(format: to, width: target.width, height: target.height),
            passesHalves: isScaled && (isLinear || from.isWordPacked || parameters.source.alpha == "straight"),
            ownsTarget: false)
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
