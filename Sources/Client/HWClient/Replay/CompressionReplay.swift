// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A compression session that continues in another process where its own fails.
///
/// The session keeps each frame until its packet is delivered, and delivers packets only as far as they are whole in
/// presentation order. After a failure it creates another session, which the daemon lets continue the first, and sends the
/// frames without packets again. The new stream begins with an IDR picture; decoding times continue.
final class CompressionReplay {
    typealias Event = CompressionSession.Event
    typealias Client = SessionClient<CompressionReceiver>

    /// A packet on its way to the app, after the format description that it needs.
    struct Arrival {
        var packet: CompressionSession.ReceivedPacket
        var format: [UInt8]?
    }

    private let sessions: SessionSuccession<CompressionReceiver>
    /// The memory of frames, in the order of registration; with the slots that the session may keep.
    var pools: [(id: UInt32, memory: SharedMemory, spared: Int)] = []
    var log = FrameLog()
    var gate = PacketGate<Arrival>()
    var times = DecodeTimeline()
    /// Nil where frames are not kept.
    var copies: FrameCopies?
    /// Why frames are not kept although nobody refused that.
    var notice: String?
    var events: [Event] = []
    /// Frames whose packets were delivered before the process released them, with the app's numbers; nil for those whose
    /// memory the app has already.
    var unreleased: [UInt64: UInt64?] = [:]
    /// The last record that the app has, and one that came for the packets to come.
    var (givenFormat, nextFormat): ([UInt8]?, [UInt8]?) = (nil, nil)
    /// Whether another frame may be sent and no event has said so.
    var hasSilentCredit = false
    var isPrepared = false
    var isInvalidated = false
    /// Whether what a failed process had sent is being handled, so that nothing is sent.
    var isRecovering = false

    /// Packets that are held in the worker's memory; it has room for 64, and waits when the client has all.
    static let maxHeldInPlace = 8

    init(
        _ daemon: Daemon, _ parameters: CreateCompressionSession.Parameters, timeout: Duration
    ) throws(ClientError) {
        sessions = try SessionSuccession(daemon, parameters, timeout: timeout)
        keepFrames()
    }

    /// Those of Create, with the properties that have changed since.
    private var parameters: CreateCompressionSession.Parameters { sessions.parameters }
    var client: Client { sessions.client }
    /// Counts processes, so that packets of earlier ones are not released to the present one.
    var process: Int { sessions.number }
    var fileDescriptor: Int32 { sessions.fileDescriptor }
    var keepsFrames: Bool { copies != nil }

    /// Frames sent that the present process has not read, or whose reading was not fetched.
    var framesInFlight: Int { log.unreadCount + unreleased.count }

    /// Decides whether frames are kept, by the properties and the memory that they would take.
    func keepFrames() {
        copies = nil
        notice = nil
        let isRefused = parameters.properties?[PropertyKey.replaysAfterFailure.rawValue] == .bool(false)
        // The statistics of two passes are lost with their process.
        let hasPasses = (parameters.properties?[PropertyKey.multiPassStorage.rawValue] ?? .null) != .null
        guard !isRefused, !hasPasses, let count = client.created.maxFramesHeld, count > 0,
            let format = PixelFormat(rawValue: parameters.pixelFormat)
        else { return }
        let size = parameters.frameSize
        copies = FrameCopies(format, width: size.width, height: size.height, count: count)
        if copies == nil {
            notice =
                "the session ends if its process fails: \(count) frames would have to be kept, which take more than "
                + "\(FrameCopies.maxBytes >> 20) MiB"
        }
    }

    // MARK: - Requests

    /// Repeats a request that the failure of a process interrupted.
    @discardableResult
    func perform<Value>(_ body: () throws(ClientError) -> Value) throws(ClientError) -> Value {
        while true {
            do throws(ClientError) { return try body() } catch { try recover(from: error) }
        }
    }

    func addPool(_ memory: SharedMemory, id poolID: UInt32, sparing count: Int) throws(ClientError) {
        try perform { () throws(ClientError) in try client.addPool(memory, id: poolID) }
        pools.append((poolID, memory, count))
    }

    func removePool(id poolID: UInt32) throws(ClientError) {
        try vacate(pool: poolID)
        try perform { () throws(ClientError) in try client.removePool(id: poolID) }
        pools.removeAll { $0.id == poolID }
    }

    func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        try perform { () throws(ClientError) in
            try sendAll()
            try client.setProperties(properties)
        }
        log.append(.properties(properties))
        log.didSend()
        foldProperties()
        if !isPrepared, properties[.replaysAfterFailure] != nil || properties[.multiPassStorage] != nil {
            keepFrames()
        }
    }

    func copyProperties(_ keys: [PropertyKey]) throws(ClientError) -> [PropertyKey: PropertyValue] {
        var values = try perform { () throws(ClientError) in try client.copyProperties(keys) }
        if let notice, keys.isEmpty || keys.contains(.notices) {
            let others = if case .string(let text)? = values[.notices] { text + "; " } else { "" }
            values[.notices] = .string(others + notice)
        }
        return values
    }

    func prepare() throws(ClientError) {
        isPrepared = true
        try perform { () throws(ClientError) in try client.request(.prepare) }
    }

    func encode(_ frame: EncodeFrame) throws(ClientError) {
        // Frames that another process reads again are not the app's concern.
        let waiting = log.newCount + unreleased.values.count { $0 != nil }
        guard waiting < client.created.maxFramesInFlight else {
            throw ClientError(
                SessionError(.parameter, "\(waiting) frames are in flight; fetch events first"))
        }
        isPrepared = true
        log.append(frame)
        times.frameSent(pts: frame.pts)
        try perform { () throws(ClientError) in try send() }
    }

    func complete(until pts: Int64) throws(ClientError) {
        log.append(.completion(until: pts))
        try perform { () throws(ClientError) in try send() }
    }

    func release(_ packet: CompressionSession.ReceivedPacket) throws(ClientError) {
        guard packet.process == process else { return }
        do throws(ClientError) {
            try client.send(ReleasePacket(packetID: packet.description.packetID))
        } catch {
            // The next wait for an event handles the failure.
            guard keepsFrames, Self.isFailure(error) else { throw error }
        }
    }

    func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        let deadline = MonotonicTime.now + timeout
        hasSilentCredit = false
        while true {
            if !events.isEmpty { return events.removeFirst() }
            do throws(ClientError) {
                // What has come is handled in any case: the descriptor does not become readable for it again.
                let rest =
                    hasSilentCredit ? .zero : max(.zero, Duration.nanoseconds(deadline.nanoseconds(since: .now)))
                guard let event = try client.nextEvent(timeout: rest) else { return nil }
                try handle(event)
            } catch { try recover(from: error) }
        }
    }

    func invalidate() {
        isInvalidated = true
        client.invalidate()
    }

    // MARK: - Sending

    /// Sends what was not sent, as far as the credits allow.
    func send() throws(ClientError) {
        while !isRecovering, let entry = log.nextUnsent {
            switch entry {
            case .frame(let frame):
                guard client.receiver.framesInFlight < client.created.maxFramesInFlight else { return }
                try send(frame)
            case .properties(let properties): try client.setProperties(properties)
            case .completion(let pts): client.finish(by: try client.send(CompleteFrames(untilPTS: pts)))
            }
            log.didSend()
        }
    }

    private func send(_ frame: FrameLog.Frame) throws(ClientError) {
        var message = frame.frame
        message.frameID = frame.number
        if let copy = frame.copy { (message.poolID, message.layout) = (FrameCopies.poolID, copy.layout) }
        if message.metadata == nil {
            try client.send(message)
        } else {
            try client.send(EncodeFrameWithMetadata(message))
        }
        client.receiver.framesInFlight += 1
    }

    /// Sends everything, waiting for credits.
    private func sendAll() throws(ClientError) {
        let deadline = MonotonicTime.now + .seconds(60)
        try send()
        while !log.isSent {
            let rest = Duration.nanoseconds(deadline.nanoseconds(since: .now))
            guard rest > .zero, let event = try client.nextEvent(timeout: rest) else {
                throw ClientError(.timedOut, "the session read no frame in time")
            }
            try handle(event)
            try moveDelivered()
        }
    }

    /// Makes properties that no kept frame preceded part of Create.
    func foldProperties() {
        for settled in log.takeSettledProperties() {
            var all = parameters.properties ?? [:]
            for (key, value) in settled { all[key.rawValue] = value == .null ? nil : value }
            sessions.parameters.properties = all
        }
    }

    // MARK: - Failures

    /// Whether another process may do what this one could not.
    static func isFailure(_ error: ClientError) -> Bool { error.code == .session(.videoEncoderMalfunction) }

    /// Goes on in another process.
    ///
    /// - Throws: the error, if that is not possible.
    func recover(from error: ClientError) throws(ClientError) {
        guard keepsFrames, !isInvalidated, Self.isFailure(error) else { throw error }
        var failure = error
        while sessions.mayContinue {
            try drain()
            // It may have held more frames than it announced.
            guard keepsFrames else { throw failure }
            times.continueElsewhere(reported: client.created.reorderDepth)
            sessions.parameters.maxReorder = gate.deliveredCount > 0 ? times.depth : nil
            try sessions.continueAfter(failure)
            log.rewind()
            do throws(ClientError) {
                try startAgain()
                return
            } catch {
                guard keepsFrames, Self.isFailure(error) else { throw end(failure, since: error) }
                failure = error
            }
        }
        throw failure
    }

    /// Ends the session where another process cannot do what the first one did.
    private func end(_ failure: ClientError, since error: ClientError) -> ClientError {
        client.invalidate()
        isInvalidated = true
        return ClientError(
            SessionError(.videoEncoderMalfunction, "\(failure.reason); the session cannot go on: \(error.reason)"))
    }

    /// Handles what the process sent before it failed.
    private func drain() throws(ClientError) {
        isRecovering = true
        defer { isRecovering = false }
        while client.waitingEventCount > 0, let event = try client.nextEvent(timeout: .zero) { try handle(event) }
        gate.discard()
        nextFormat = nil
        for frameID in unreleased.values.compactMap({ $0 }).sorted() { events.append(.frameReleased(frameID)) }
        unreleased = [:]
    }

    /// Sends a new process what it needs.
    private func startAgain() throws(ClientError) {
        for pool in pools { try client.addPool(pool.memory, id: pool.id) }
        if let pool = copies?.pool { try client.addPool(pool.memory, id: FrameCopies.poolID) }
        if isPrepared { try client.request(.prepare) }
        try send()
    }
}
