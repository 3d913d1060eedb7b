// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A decompression session that continues in another process where its own fails.
///
/// The session keeps its packets since the last key frame before which every picture came. After a failure it creates another
/// session, which the daemon lets continue the first, and sends them again; those whose pictures the app has are only decoded.
final class DecompressionReplay: Replay {
    typealias Event = DecompressionSession.Event

    /// Whether the sender of a packet waits until the decoder has taken it.
    enum Synchronous {
        case no
        /// The packet with this number was not sent.
        case unsent(UInt64)
        /// The reply to this message ends the wait.
        case sent(message: UInt32)
    }

    let sessions: SessionSuccession<DecompressionReceiver>
    private let framing: StreamUnits.Framing
    var log: PacketLog
    var events: [Event] = []
    /// Pictures of earlier processes that the app holds or has not fetched.
    private var earlierFrames = 0
    private var pictureCount: UInt64 = 0
    var synchronous = Synchronous.no

    /// Events that a client that sends packets may leave unfetched; each packet in flight adds two at most.
    private static let maxWaitingEvents = 2000
    /// The number of a packet that repeats parameter sets.
    static let preambleID = UInt64.max

    init(
        _ daemon: Daemon, _ parameters: CreateDecompressionSession.Parameters, timeout: Duration
    ) throws(ClientError) {
        sessions = try SessionSuccession(daemon, parameters, timeout: timeout)
        framing = StreamUnits.Framing(description: Hexadecimal.bytes(parameters.formatDescription) ?? [])
        log = PacketLog(
            keeps: parameters.properties?[PropertyKey.replaysAfterFailure.rawValue] != .bool(false))
    }

    var canRepeat: Bool { log.isWhole }

    /// Packets that the present process has not read.
    var packetsInFlight: Int { client.receiver.packets.count + log.unsentCount }
    /// Pictures received and not released.
    var framesHeld: Int { client.receiver.heldFrames + earlierFrames }

    // MARK: - Requests

    func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try perform { () throws(ClientError) in
            try waitUntilSent()
            try client.setProperties(properties)
        }
        note(.properties(properties))
        if let value = properties[.replaysAfterFailure] { log.keep(value != .bool(false)) }
    }

    /// Adds a mark that the process has.
    private func note(_ mark: PacketLog.Mark) {
        log.append(mark)
        log.didSend()
    }

    func copyProperties(_ keys: [PropertyKey]) throws(ClientError) -> [PropertyKey: PropertyValue] {
        var values = try perform { () throws(ClientError) in try client.copyProperties(keys) }
        if log.keeping == .rest, keys.isEmpty || keys.contains(.notices) {
            let others = if case .string(let text)? = values[.notices] { text + "; " } else { "" }
            values[.notices] = .string(
                others
                    + "the session ends if its process fails: the packets since the last key frame take more than "
                    + "\(PacketLog.maxBytes >> 20) MiB")
        }
        return values
    }

    func checkFormat(_ description: [UInt8]) throws(ClientError) {
        try perform { () throws(ClientError) in _ = try client.request(.canAcceptFormat, description) }
    }

    func changeFormat(_ description: [UInt8]) throws(ClientError) {
        guard log.isSent else {
            // It follows packets that wait for a new process.
            try checkFormat(description)
            return log.append(.format(description))
        }
        try perform { () throws(ClientError) in
            // A new process needs the packets before.
            try waitUntilSent()
            try client.request(.changeFormat, description)
        }
        note(.format(description))
    }

    // MARK: - Packets

    func decode(
        _ bytes: UnsafeRawBufferPointer, pts: Int64?, duration: Int64, isOutput: Bool, isAsynchronous: Bool,
        timeout: Duration
    ) throws(ClientError) -> UInt64 {
        try check(bytes)
        let deadline = MonotonicTime.now + timeout
        try perform { () throws(ClientError) in try waitForRoom(for: bytes.count, deadline) }
        let time = pts ?? DecodeFrame.noPTS
        var packet = PacketLog.Packet(bytes: [], pts: time, duration: duration, isOutput: isOutput)
        if log.keepsSent {
            packet.bytes = Array(bytes)
            let found = StreamUnits(bytes, framing)
            packet.units = found.units
            if !isOutput || !found.hasPicture { packet.expectation = .nothing }
        }
        let number = log.append(packet)
        if !isAsynchronous { synchronous = .unsent(number) }
        defer { synchronous = .no }
        try perform { () throws(ClientError) in
            if log.keepsSent { try send() } else { try sendUnkept(packet, bytes, number) }
            // Another process is sent the packet without a reply.
            if case .sent(let message) = synchronous { _ = try client.reply(to: message, timeout: timeout) }
        }
        return number
    }

    private func check(_ bytes: UnsafeRawBufferPointer) throws(ClientError) {
        let waiting = client.waitingEventCount + events.count
        let reason: String? =
            if bytes.isEmpty {
                "an empty packet cannot be decoded"
            } else if bytes.count > DecodeFrame.maxSize {
                "a packet of \(bytes.count) bytes is too large"
            } else if waiting > Self.maxWaitingEvents {
                "\(waiting) events were not fetched; fetch events first"
            } else {
                nil
            }
        if let reason { throw ClientError(SessionError(.parameter, reason)) }
    }

    func hasRoom(for size: Int) -> Bool {
        let packets = client.receiver.packets
        return log.isSent && (packets.count == 0 || (hasCredit && packets.hasRoom(for: size)))
    }

    /// Whether another packet may be sent without waiting for the process to read one.
    var hasRoom: Bool { log.isSent && hasCredit }

    var hasCredit: Bool { client.receiver.packets.count < client.created.maxPacketsInFlight }

    /// Waits until the process takes a packet, or until few enough wait for a new process: that may wait for pictures which the app
    /// has to release.
    private func waitForRoom(for size: Int, _ deadline: MonotonicTime) throws(ClientError) {
        try send()
        while log.isSent ? !hasRoom(for: size) : log.unsentCount >= client.created.maxPacketsInFlight {
            try waitForRead(deadline)
            try send()
        }
    }

    private func waitUntilSent() throws(ClientError) {
        let deadline = MonotonicTime.now + .seconds(60)
        try send()
        while !log.isSent {
            try waitForRead(deadline)
            try send()
        }
    }

    /// Waits until the process has read a packet.
    private func waitForRead(_ deadline: MonotonicTime) throws(ClientError) {
        let before = client.receiver.packets.count
        try client.pump(until: deadline) { $0.packets.count < before }
        guard client.receiver.packets.count < before else {
            throw ClientError(.timedOut, "the session read no packet in time")
        }
    }

    func finishDelayedFrames() throws(ClientError) {
        log.append(.barrier)
        try perform { () throws(ClientError) in try send() }
    }

    func release(_ frame: DecompressionSession.ReceivedFrame) throws(ClientError) {
        guard frame.process == process else { return earlierFrames -= 1 }
        client.receiver.heldFrames -= 1
        guard !isLeaving else { return }
        try release { () throws(ClientError) in try client.send(ReleaseFrame(pictureID: frame.pictureID)) }
    }

    // MARK: - Events

    func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        try event(until: MonotonicTime.now + timeout)
    }

    func receive(until deadline: MonotonicTime) throws(ClientError) -> Bool {
        try send()
        // A packet that was read makes room for another.
        let (isSent, before) = (log.isSent, client.receiver.packets.count)
        if let event = try client.nextEvent(
            timeout: deadline.rest, orWhen: { !isSent && $0.packets.count < before })
        {
            try handle(event)
            return true
        }
        guard !isSent, client.receiver.packets.count < before else { return false }
        try send()
        return true
    }

    func handle(_ event: Event) throws(ClientError) {
        switch event {
        case .frame(let received):
            let isKeyFrame = received.description.flags.contains(.sync)
            pictureCount += 1
            let frame = received.of(process, number: pictureCount)
            if log.take(pictureOf: frame.description.frameID, isKeyFrame: isKeyFrame) {
                events.append(.frame(frame))
            } else {
                try release(frame)
            }
        case .report(let report):
            if report.frameID != Self.preambleID, log.take(report) { events.append(event) }
        case .finished:
            log.takeAnswer()
            events.append(event)
        }
        foldProperties()
    }

    /// Makes properties that no kept packet preceded part of Create.
    private func foldProperties() {
        var all = sessions.parameters.properties ?? [:]
        let settled = log.takeSettledProperties()
        for (key, value) in settled { all[key.rawValue] = value == .null ? nil : value }
        if !settled.isEmpty { sessions.parameters.properties = all }
    }

    // MARK: - Failures

    /// The process's pictures stay in memory as long as the app has them.
    func forgetProcess() {
        earlierFrames += client.receiver.heldFrames
        synchronous = .no
    }

    func startAgain() throws(ClientError) {
        log.rewind()
        let settled = log.settled
        if let packet = settled.earlier.packet { try sendPreamble(packet) }
        if let format = settled.format { try client.request(.changeFormat, format) }
        if let packet = settled.later.packet { try sendPreamble(packet) }
        try send()
    }
}
