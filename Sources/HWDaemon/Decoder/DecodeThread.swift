// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDColor
internal import HWDHEVC
internal import HWDLibAV
internal import HWDModel
internal import HWDPolicy
internal import HWDConversion
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// The thread that calls the decoder: a call may take seconds, for which the I/O thread must not wait.
struct DecodeThread {
    /// A packet inside the decoder.
    struct Sent {
        var packet: DecodeFrame
        var type: NALUnitType?
        var unit: CodedUnit
        /// The mapping of its RPU, or why it cannot be applied; nil without an RPU, and where none is to be applied.
        var mapping: Result<SignalMapping, SessionError>?
        var isReported = false
        var isAlphaReported = false
    }

    let worker: DecompressionWorker
    let tasks: WorkQueue<DecodeTask>

    var decoder: (any PictureDecoder)?
    private var reader: StreamReader
    var damage = DamageTracker()
    private var gate = LevelGate()
    private var mappings = MappingHistory()
    var sent: [Int64: Sent] = [:]
    private var lastSequence: Int64 = 0
    private var priority: ThreadPriority
    var lastPicture: UInt64 = 0
    var isHardware: Bool
    /// Whether hardware has decoded a picture.
    var hasBeenHardware = false
    /// The packets since the last key frame whose picture is out, from which software can take over; nil when they exceed
    /// `maxGroup`.
    private var group: [(sequence: Int64, input: DecoderInput)]? = []
    private var groupBytes = 0
    /// How many packets in a row failed on hardware that is required.
    private var failures = 0

    /// The limit of `group` in bytes.
    private static let maxGroup = 64 << 20
    /// The limit of `failures`: a single failure may be the packet's fault.
    private static let maxFailures = 8

    /// Packets after which a missing picture is reported as lost; no stream reorders by more.
    static let maxDelay: Int64 = 128

    /// Converts pictures to RGB; nil where they are sent as decoded.
    let conversion: OutputConversion?

    init(worker: DecompressionWorker, tasks: WorkQueue<DecodeTask>, decoder: (any PictureDecoder)?) {
        self.worker = worker
        self.tasks = tasks
        self.decoder = decoder
        priority = ThreadPriority(worker.port.realTime)
        let request = worker.setup.session.request
        reader = StreamReader(request.format, readsAlpha: request.readsAlpha)
        isHardware = worker.setup.choice.decoder.hardware
        let stores = OutputConversion.Stores(decoded: worker.store, converted: worker.output)
        let setup = worker.setup
        let devices = OutputConversion.Devices(
            decoder: setup.choice.decoder.gpu, vulkan: worker.vulkan, pictures: setup.pictures)
        conversion = worker.setup.output.map { output in
            OutputConversion(to: output.format, output.color, stores, devices) { chosen, copyReason in
                let (device, reason) = (chosen.converter.device, chosen.reason)
                let fallback = chosen.fallbackReason ?? copyReason
                worker.withSession { session in
                    session.publish(.pixelTransferDevice, .string(device))
                    session.publish(.pixelTransferDeviceReason, .string(reason))
                    session.publish(.pixelTransferFallbackReason, fallback.map(PropertyValue.string))
                }
            }
        }
    }

    /// Works until the queue is closed; every error ends the session.
    mutating func run() {
        while case .element(let task) = tasks.pop() {
            worker.port.stats.set(.busySinceNs, MonotonicTime.now.nanoseconds)
            do throws(SessionError) {
                try perform(task)
                try worker.port.memory.check()
            } catch {
                worker.port.fail(error)
            }
            worker.port.stats.set(.busySinceNs, 0)
        }
    }

    private mutating func perform(_ task: DecodeTask) throws(SessionError) {
        switch task {
        case .decode(let packet):
            // Before libavcodec starts threads, which have this thread's priority.
            if let notice = priority.lower(to: worker.withSession { $0.priority }) {
                worker.withSession { $0.addNotice(notice) }
            }
            try decode(packet)
            if let sequence = packet.replyTo { worker.send(Reply(sequence: sequence)) }
        case .change(let format): try reader.change(to: format)
        case .finish(let sequences, let format):
            try finish()
            for sequence in sequences { worker.send(Reply(sequence: sequence)) }
            if let format { try reader.change(to: format) }
        }
    }

    private mutating func finish() throws(SessionError) {
        try decoder?.finish { (event) throws(SessionError) in try take(event) }
        reportLost(before: .max)
        damage.flush()
    }

    private mutating func decode(_ pending: PendingPacket) throws(SessionError) {
        let packet = pending.packet
        // Copied before it is parsed, because the client can change shared memory at any time; admission has checked
        // the range.
        let start = Int(packet.offset)
        let bytes = Array(pending.pool.bytes[start..<start + Int(packet.size)])
        worker.releasePacket(packet.frameID)

        let unit = reader.read(bytes)
        // Also of pictures that are not decoded: later RPUs may refer to theirs.
        let mapping = pending.appliesMetadata ? mapping(of: unit) : nil
        lastSequence += 1
        let sequence = lastSequence
        guard !isAboveLevel(unit, pending), hasContent(unit, packet, sequence, isEmpty: bytes.isEmpty),
            isDecodable(unit, packet, sequence)
        else { return }
        if unit.fault != nil { damage.damage(sequence) }
        if unit.endsSequence { damage.endSequence() }
        sent[sequence] = Sent(
            packet: packet, type: unit.pictureType, unit: unit, mapping: mapping, isReported: unit.fault != nil)
        sent[sequence]?.unit.bytes = []
        sent[sequence]?.unit.alpha = nil
        try feed(DecoderInput(base: unit.bytes, alpha: unit.alpha), sequence)
        reportLost(before: sequence - Self.maxDelay)
    }

    /// Reads the mapping of a packet's RPU; nil without one.
    private mutating func mapping(of unit: CodedUnit) -> Result<SignalMapping, SessionError>? {
        guard let rpu = unit.sideData.first(where: { $0.kind == .dolbyVisionRPU }) else { return nil }
        do throws(SessionError) { return .success(try mappings.mapping(rpu: rpu.bytes)) } catch {
            return .failure(error)
        }
    }

    /// Whether `MaxTemporalLevel` drops a picture; reports it then.
    private mutating func isAboveLevel(_ unit: CodedUnit, _ pending: PendingPacket) -> Bool {
        guard !unit.isRefused, let type = unit.pictureType, damage.hasBegun || type.isIRAP,
            !gate.admits(type, level: unit.temporalLevel, limit: pending.maxLevel)
        else { return false }
        reader.deferParameterSets(unit)
        if unit.endsSequence { damage.endSequence() }
        report(
            pending.packet, .ok, [.dropped, .aboveLevel],
            "the picture's temporal level \(unit.temporalLevel) is above MaxTemporalLevel")
        return true
    }

    /// Whether a packet has NAL units to decode; reports its faults.
    private mutating func hasContent(
        _ unit: CodedUnit, _ packet: DecodeFrame, _ sequence: Int64, isEmpty: Bool
    ) -> Bool {
        if let fault = unit.fault {
            let isLost = unit.isRefused || unit.pictureType == nil
            report(packet, fault.status, isLost ? .dropped : [], fault.reason)
            if unit.isRefused { damage.damage(sequence) }
        } else if unit.bytes.isEmpty {
            // A packet of SEI messages or of other layers only is not damaged.
            report(packet, isEmpty ? .videoDecoderBadData : .ok, .dropped, "the packet has nothing to decode")
        }
        return !unit.isRefused && !unit.bytes.isEmpty
    }

    /// Whether the references of a packet's picture were decoded; reports where they were not.
    private mutating func isDecodable(_ unit: CodedUnit, _ packet: DecodeFrame, _ sequence: Int64) -> Bool {
        guard let type = unit.pictureType else { return true }
        switch damage.admit(sequence, type) {
        case .decode: return true
        case .waitsForKeyFrame:
            reader.deferParameterSets(unit)
            report(packet, .videoDecoderBadData, .dropped, "the picture precedes the first key frame")
        case .skippedLeading:
            report(packet, .ok, .dropped, "the leading picture refers to pictures before the first key frame")
        }
        return false
    }

    private mutating func feed(_ input: DecoderInput, _ sequence: Int64) throws(SessionError) {
        let decoder = try open()
        guard isHardware else {
            try decoder.decode(input, sequence: sequence) { (event) throws(SessionError) in
                try take(event)
            }
            return
        }
        keep(input, sequence)
        var failure: String?
        do throws(SessionError) {
            try decoder.decode(input, sequence: sequence) { (event) throws(SessionError) in try take(event) }
        } catch {
            guard error.status == .videoDecoderMalfunction, !worker.setup.requirements.requireHardware else {
                throw error
            }
            failure = error.reason
        }
        failure = decoder.takeHardwareFailure() ?? failure
        guard let failure else { return failures = 0 }
        try replaceHardware(failure, sequence)
    }

    private mutating func keep(_ input: DecoderInput, _ sequence: Int64) {
        if group == nil, sent[sequence]?.type?.isIRAP ?? false { (group, groupBytes) = ([], 0) }
        groupBytes += input.byteCount
        if groupBytes <= Self.maxGroup { group?.append((sequence, input)) } else { group = nil }
    }

    /// Forgets the packets before a key frame whose picture is out: until then pictures before it, and its leading pictures, may be
    /// missing.
    mutating func forget(before keyFrame: Int64) {
        guard let count = group?.prefix(while: { $0.sequence < keyFrame }).count, count > 0 else { return }
        groupBytes -= group?.prefix(count).reduce(0) { $0 + $1.input.byteCount } ?? 0
        group?.removeFirst(count)
    }

    /// Replaces a failed driver by software, which decodes the packets since the last key frame again.
    ///
    /// Pictures that were sent before are not sent again.
    private mutating func replaceHardware(_ reason: String, _ sequence: Int64) throws(SessionError) {
        if worker.setup.requirements.requireHardware {
            failures += 1
            guard failures < Self.maxFailures else {
                throw SessionError(.videoDecoderMalfunction, "hardware is required, but it failed: \(reason)")
            }
            return try take(.damage(sequence, reason))
        }
        try noteHardware(false, reason)
        let session = worker.withSession { $0 }
        let software = try worker.setup.openDecoder(.software, memory: worker.store, session: session)
        decoder = software
        for (sequence, input) in group ?? [] {
            try software.decode(input, sequence: sequence) { (event) throws(SessionError) in try take(event) }
        }
        if group == nil { damage.damage(sequence) }
        group = nil
    }

    private mutating func open() throws(SessionError) -> any PictureDecoder {
        if let decoder { return decoder }
        let setup = worker.setup
        let session = worker.withSession { $0 }
        let decoder = try setup.openDecoder(.software, memory: worker.store, session: session)
        self.decoder = decoder
        return decoder
    }

    private mutating func take(_ event: DecoderEvent) throws(SessionError) {
        switch event {
        case .damage(let sequence, let reason):
            damage.damage(sequence)
            guard let entry = sent[sequence], !entry.isReported else { return }
            sent[sequence]?.isReported = true
            report(entry.packet, .videoDecoderBadData, [], reason)
        case .alphaDamage(let sequence, let reason):
            guard let entry = sent[sequence], !entry.isAlphaReported else { return }
            sent[sequence]?.isAlphaReported = true
            report(entry.packet, .videoDecoderBadData, .alpha, reason)
        case .picture(let picture, let owner): try emit(picture, owner)
        }
    }
}
