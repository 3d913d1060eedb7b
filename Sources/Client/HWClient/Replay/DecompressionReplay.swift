// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A decompression session that continues in another process where its own fails.
///
/// The session keeps its packets since the last key frame before which every picture came. After a failure it creates another
/// session, which the daemon lets continue the first, and sends them again; those whose pictures the app has are only decoded.
final class DecompressionReplay {
    typealias Event = DecompressionSession.Event
    typealias Client = SessionClient<DecompressionReceiver>

    private let sessions: SessionSuccession<DecompressionReceiver>
    private let framing: StreamUnits.Framing
    var log = PacketLog()
    private var events: [Event] = []
    /// Pictures of earlier processes that the app holds or has not fetched.
    private var earlierFrames = 0
    private var pictureCount: UInt64 = 0
    var keepsPackets: Bool
    private var isInvalidated = false
    /// Whether what a failed process had sent is being handled, so that nothing is sent.
    var isRecovering = false
    /// The packet whose sender waits until the decoder has taken it, and the message with it.
    var synchronous: (number: UInt64?, message: UInt32?)

    /// Events that a client that sends packets may leave unfetched; each packet in flight adds two at most.
    private static let maxWaitingEvents = 2000
    /// Bytes of one packet.
    private static let maxPacketSize = 64 << 20
    /// The number of a packet that repeats parameter sets.
    static let preambleID = UInt64.max

    init(
        _ daemon: Daemon, _ parameters: CreateDecompressionSession.Parameters, timeout: Duration
    ) throws(ClientError) {
        sessions = try SessionSuccession(daemon, parameters, timeout: timeout)
        framing = StreamUnits.Framing(description: Hexadecimal.bytes(parameters.formatDescription) ?? [])
        keepsPackets = parameters.properties?[PropertyKey.replaysAfterFailure.rawValue] != .bool(false)
    }

    var client: Client { sessions.client }
    var restartCount: Int { sessions.number }
    var fileDescriptor: Int32 { sessions.fileDescriptor }

    /// Packets that the present process has not read.
    var packetsInFlight: Int { client.receiver.packets.count + log.unsentCount }
    /// Pictures received and not released.
    var framesHeld: Int { client.receiver.heldFrames + earlierFrames }

    // MARK: - Requests

    /// Repeats a request that the failure of a process interrupted.
    @discardableResult
    private func perform<Value>(_ body: () throws(ClientError) -> Value) throws(ClientError) -> Value {
        while true {
            do throws(ClientError) { return try body() } catch { try recover(from: error) }
        }
    }

    func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try perform { () throws(ClientError) in
            try waitUntilSent()
            try client.setProperties(properties)
        }
        note(.properties(properties))
        if let value = properties[.replaysAfterFailure] { keepsPackets = value != .bool(false) }
    }

    /// Adds a mark that the process has.
    private func note(_ mark: PacketLog.Mark) {
        log.append(mark)
        log.didSend()
        if !keepsPackets { log.forgetSent() }
    }

    func copyProperties(_ keys: [PropertyKey]) throws(ClientError) -> [PropertyKey: PropertyValue] {
        var values = try perform { () throws(ClientError) in try client.copyProperties(keys) }
        if !log.isWhole, keys.isEmpty || keys.contains(.notices) {
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
        if keepsPackets {
            packet.bytes = Array(bytes)
            let found = StreamUnits(bytes, framing)
            packet.units = found.units
            packet.isDone = !isOutput || !found.hasPicture
        }
        let number = log.append(packet)
        if !isAsynchronous { synchronous.number = number }
        defer { synchronous = (nil, nil) }
        try perform { () throws(ClientError) in
            if keepsPackets { try send() } else { try sendUnkept(packet, bytes, number) }
            // Another process is sent the packet without a reply.
            if let message = synchronous.message { _ = try client.reply(to: message, timeout: timeout) }
        }
        return number
    }

    private func check(_ bytes: UnsafeRawBufferPointer) throws(ClientError) {
        let waiting = client.waitingEventCount + events.count
        let reason: String? =
            if bytes.isEmpty {
                "an empty packet cannot be decoded"
            } else if bytes.count > Self.maxPacketSize {
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
        guard frame.process == restartCount else { return earlierFrames -= 1 }
        client.receiver.heldFrames -= 1
        guard !isRecovering else { return }
        do throws(ClientError) {
            try client.send(ReleaseFrame(pictureID: frame.pictureID))
        } catch {
            // The next wait for an event handles the failure.
            guard keepsPackets, Self.isFailure(error) else { throw error }
        }
    }

    // MARK: - Events

    func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        let deadline = MonotonicTime.now + timeout
        while true {
            if !events.isEmpty { return events.removeFirst() }
            do throws(ClientError) {
                try send()
                // A packet that was read makes room for another.
                let (isSent, before) = (log.isSent, client.receiver.packets.count)
                let rest = max(.zero, Duration.nanoseconds(deadline.nanoseconds(since: .now)))
                let event = try client.nextEvent(timeout: rest) { !isSent && $0.packets.count < before }
                if let event {
                    try handle(event)
                } else if isSent || client.receiver.packets.count >= before {
                    return nil
                }
            } catch { try recover(from: error) }
        }
    }

    private func handle(_ event: Event) throws(ClientError) {
        switch event {
        case .frame(let received):
            let isKeyFrame = received.description.flags.contains(.sync)
            pictureCount += 1
            let frame = received.of(restartCount, number: pictureCount)
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

    func invalidate() {
        isInvalidated = true
        client.invalidate()
    }

    // MARK: - Failures

    /// Whether another process may do what this one could not.
    private static func isFailure(_ error: ClientError) -> Bool {
        error.code == .session(.videoDecoderMalfunction)
    }

    /// Goes on in another process.
    ///
    /// - Throws: the error, if that is not possible.
    private func recover(from error: ClientError) throws(ClientError) {
        guard keepsPackets, log.isWhole, !isInvalidated, Self.isFailure(error) else { throw error }
        var failure = error
        while sessions.mayContinue {
            try drain()
            try sessions.continueAfter(failure)
            log.rewind()
            do throws(ClientError) {
                try startAgain()
                return
            } catch {
                guard Self.isFailure(error) else { throw end(failure, since: error) }
                failure = error
            }
        }
        throw failure
    }

    /// Ends the session where another process cannot do what the first one did.
    private func end(_ failure: ClientError, since error: ClientError) -> ClientError {
        invalidate()
        return ClientError(failure.code, "\(failure.reason); the session cannot go on: \(error.reason)")
    }

    /// Handles what the process sent before it failed; its pictures stay in memory as long as the app has them.
    private func drain() throws(ClientError) {
        isRecovering = true
        defer { isRecovering = false }
        while client.waitingEventCount > 0, let event = try client.nextEvent(timeout: .zero) { try handle(event) }
        earlierFrames += client.receiver.heldFrames
        synchronous = (nil, nil)
    }
}
