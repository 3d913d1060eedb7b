// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDHEVC
internal import HWDLibAV
internal import HWDModel
internal import HWDSessions
internal import HWDShaders
internal import HWDTransport
internal import HWDWire
internal import HWDWorker

/// The thread that calls the decoder, which may take seconds, so that the I/O thread never does.
struct DecodeThread {
    /// A packet inside the decoder.
    struct Sent {
        var packet: DecodeFrame
        var type: NALUnitType?
        var unit: CodedUnit
        var isReported = false
        var isAlphaReported = false
    }

    let worker: WorkerSession
    let tasks: WorkQueue<DecodeTask>

    var decoder: (any PictureDecoder)?
    private var reader: StreamReader
    var damage = DamageTracker()
    private var gate = LevelGate()
    var sent: [Int64: Sent] = [:]
    private var lastSequence: Int64 = 0
    var lastPicture: UInt64 = 0
    var isHardware: Bool
    /// Whether a picture ever came from the hardware.
    var hasBeenHardware = false
    /// What was fed since the last key frame, so that software can take over in the middle; nil when it is too much.
    private var group: [(sequence: Int64, input: DecoderInput)]? = []
    private var groupBytes = 0
    /// Packets in a row that hardware failed at which must not be replaced.
    private var failures = 0

    /// Bytes of a group of pictures that are kept.
    private static let maxGroup = 64 << 20
    /// Packets in a row that required hardware may fail at: one may be the packet's fault.
    private static let maxFailures = 8

    /// Packets after which one that gave no picture is given up: more than any stream reorders.
    static let maxDelay: Int64 = 128

    /// Brings pictures to RGB; nil where they are given as they are decoded.
    let conversion: OutputConversion?

    init(worker: WorkerSession, tasks: WorkQueue<DecodeTask>, decoder: (any PictureDecoder)?) {
        self.worker = worker
        self.tasks = tasks
        self.decoder = decoder
        let request = worker.setup.session.request
        reader = StreamReader(request.format, readsAlpha: request.readsAlpha)
        isHardware = worker.setup.choice.decoder.isHardware
        conversion = worker.setup.requested.map { requested in
            OutputConversion(
                requested.color, to: requested.format, from: worker.store, into: worker.output,
                decodedOn: worker.setup.choice.decoder.gpu, vulkan: worker.vulkan
            ) { chosen, copyReason in
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
            } catch {
                worker.end(error.status, error.reason)
            }
            worker.port.stats.set(.busySinceNs, 0)
        }
    }

    private mutating func perform(_ task: DecodeTask) throws(SessionError) {
        switch task {
        case .decode(let packet):
            try decode(packet)
            if let sequence = packet.replyTo { worker.send(Reply(sequence: sequence)) }
        case .change(let format): try reader.change(to: format)
        case .finish(let sequence):
            try finish()
            worker.send(Reply(sequence: sequence))
        }
    }

    private mutating func finish() throws(SessionError) {
        try decoder?.finish { (event) throws(SessionError) in try take(event) }
        giveUp(before: .max)
        damage.flush()
    }

    private mutating func decode(_ pending: PendingPacket) throws(SessionError) {
        // Copied first: the client can change what it shares at any time. Its place was checked when it was admitted.
        let packet = pending.packet
        let start = Int(packet.offset)
        let bytes = Array(pending.pool.bytes[start..<start + Int(packet.size)])
        worker.releasePacket(packet.frameID)

        let unit = reader.read(bytes)
        lastSequence += 1
        let sequence = lastSequence
        if !unit.isRefused, let type = unit.pictureType, damage.hasBegun || type.isIRAP,
            !gate.admits(type, level: unit.temporalLevel, limit: pending.maxLevel)
        {
            reader.deferParameterSets(unit)
            if unit.endsSequence { damage.endSequence() }
            return report(
                packet, .ok, [.dropped, .aboveLevel],
                "the picture is of temporal level \(unit.temporalLevel), above those that are decoded")
        }
        if let fault = unit.fault {
            let isLost = unit.isRefused || unit.pictureType == nil
            report(packet, fault.status, isLost ? .dropped : [], fault.reason)
            if unit.isRefused { return damage.damage(sequence) }
        } else if unit.bytes.isEmpty {
            // Messages and other layers alone are no fault.
            return report(
                packet, bytes.isEmpty ? .videoDecoderBadData : .ok, .dropped, "the packet has nothing to decode")
        }
        guard !unit.bytes.isEmpty else { return }
        if let type = unit.pictureType {
            switch damage.admit(sequence, type) {
            case .decode: break
            case .waitsForKeyFrame:
                reader.deferParameterSets(unit)
                return report(
                    packet, .videoDecoderBadData, .dropped, "a picture came before the first key frame")
            case .skippedLeading:
                return report(
                    packet, .ok, .dropped, "a leading picture refers to what was before the first key frame")
            }
        }
        if unit.fault != nil { damage.damage(sequence) }
        if unit.endsSequence { damage.endSequence() }
        sent[sequence] = Sent(packet: packet, type: unit.pictureType, unit: unit, isReported: unit.fault != nil)
        sent[sequence]?.unit.bytes = []
        sent[sequence]?.unit.alpha = nil
        try feed(DecoderInput(base: unit.bytes, alpha: unit.alpha), sequence)
        giveUp(before: sequence - Self.maxDelay)
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
            guard error.status == .videoDecoderMalfunction, !worker.setup.wanted.requireHardware else {
                throw error
            }
            failure = error.reason
        }
        failure = decoder.takeHardwareFailure() ?? failure
        guard let failure else { return failures = 0 }
        try replaceHardware(failure, sequence)
    }

    private mutating func keep(_ input: DecoderInput, _ sequence: Int64) {
        if sent[sequence]?.type?.isIRAP ?? false { (group, groupBytes) = ([], 0) }
        groupBytes += input.byteCount
        if groupBytes <= Self.maxGroup { group?.append((sequence, input)) } else { group = nil }
    }

    /// The driver failed: software decodes what was fed since the last key frame once more, and goes on.
    ///
    /// What was given out before is not given again.
    private mutating func replaceHardware(_ reason: String, _ sequence: Int64) throws(SessionError) {
        if worker.setup.wanted.requireHardware {
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
