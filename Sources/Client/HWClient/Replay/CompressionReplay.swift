// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

/// A compression session that continues in another process where its own fails.
///
/// The session keeps each frame until its packet is delivered, and delivers packets only as far as they are whole in
/// presentation order. After a failure it creates another session, which the daemon lets continue the first, and sends the
/// frames without packets again. The new stream begins with an IDR picture; decoding times continue.
final class CompressionReplay: Replay {
    typealias Event = CompressionSession.Event

    /// A packet on its way to the app, after the format description that it needs.
    struct Arrival {
        var packet: CompressionSession.ReceivedPacket
        var format: [UInt8]?
    }

    /// Whether another process could be sent the frames that are lost with one.
    enum Keeping {
        case frames
        /// No, and if nobody refused it, why.
        case nothing(notice: String?)
    }

    let sessions: SessionSuccession<CompressionReceiver>
    /// The memory of frames, in the order of registration; with the slots that the session may keep.
    var pools: [(id: UInt32, memory: SharedMemory, spared: Int)] = []
    var log = FrameLog()
    var gate = PacketGate<Arrival>()
    var times = DecodeTimeline()
    var keeping = Keeping.nothing(notice: nil)
    /// Also those of frames that a process is still to be sent after the session has stopped keeping more.
    var copies: FrameCopies?
    var events: [Event] = []
    /// Frames whose packets were delivered before the process released them, with the app's numbers; nil for those whose
    /// memory the app has already.
    var unreleased: [UInt64: UInt64?] = [:]
    /// The last record that the app has, and one that came for the packets to come.
    var (givenFormat, nextFormat): ([UInt8]?, [UInt8]?) = (nil, nil)
    /// Whether another frame may be sent and no event has said so.
    var hasSilentCredit = false
    private var isPrepared = false

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
    var canRepeat: Bool { if case .frames = keeping { true } else { false } }

    /// Frames sent that the present process has not read, or whose reading was not fetched.
    var framesInFlight: Int { log.unreadCount + unreleased.count }

    /// Decides whether frames are kept, by the properties and the memory that they would take.
    private func keepFrames() {
        (keeping, copies) = (.nothing(notice: nil), nil)
        let isRefused = parameters.properties?[PropertyKey.replaysAfterFailure.rawValue] == .bool(false)
        // The statistics of two passes are lost with their process.
        let hasPasses = (parameters.properties?[PropertyKey.multiPassStorage.rawValue] ?? .null) != .null
        guard !isRefused, !hasPasses, let count = client.created.maxFramesHeld, count > 0,
            let format = PixelFormat(rawValue: parameters.pixelFormat)
        else { return }
        let size = parameters.frameSize
        copies = FrameCopies(format, width: size.width, height: size.height, count: count)
        if copies != nil {
            keeping = .frames
        } else {
            keeping = .nothing(
                notice:
                    "the session ends if its process fails: \(count) frames would have to be kept, which take more "
                    + "than \(FrameCopies.maxBytes >> 20) MiB")
        }
    }

    // MARK: - Requests

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
        if case .nothing(let notice?) = keeping, keys.isEmpty || keys.contains(.notices) {
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
        try release { () throws(ClientError) in
            try client.send(ReleasePacket(packetID: packet.description.packetID))
        }
    }

    func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        hasSilentCredit = false
        return try event(until: MonotonicTime.now + timeout)
    }

    func receive(until deadline: MonotonicTime) throws(ClientError) -> Bool {
        guard let event = try client.nextEvent(timeout: hasSilentCredit ? .zero : deadline.rest) else {
            return false
        }
        try handle(event)
        return true
    }

    // MARK: - Sending

    /// Sends what was not sent, as far as the credits allow.
    func send() throws(ClientError) {
        while !isLeaving, let entry = log.nextUnsent {
            switch entry {
            case .item(let number, let frame):
                guard client.receiver.framesInFlight < client.created.maxFramesInFlight else { return }
                try send(frame, number)
            case .mark(.properties(let properties)): try client.setProperties(properties)
            case .mark(.completion(let pts)): client.finish(by: try client.send(CompleteFrames(untilPTS: pts)))
            }
            log.didSend()
        }
        freeCopies()
    }

    /// Frees the memory for copies where no process is sent one any more.
    func freeCopies() {
        if !canRepeat, log.isSent { copies = nil }
    }

    private func send(_ frame: FrameLog.Frame, _ number: UInt64) throws(ClientError) {
        var message = frame.frame
        message.frameID = number
        if let copy = frame.copy {
            copies?.share(copy)
            (message.poolID, message.layout) = (FrameCopies.poolID, copy.layout)
        }
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
            let rest = deadline.rest
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

    func forgetProcess() {
        gate.discard()
        nextFormat = nil
        for frameID in unreleased.values.compactMap({ $0 }).sorted() { events.append(.frameReleased(frameID)) }
        unreleased = [:]
        times.continueElsewhere(reported: client.created.reorderDepth)
        sessions.parameters.maxReorder = gate.deliveredCount > 0 ? times.depth : nil
    }

    func startAgain() throws(ClientError) {
        log.rewind()
        for pool in pools { try client.addPool(pool.memory, id: pool.id) }
        if let memory = copies?.startSharing() { try client.addPool(memory, id: FrameCopies.poolID) }
        if isPrepared { try client.request(.prepare) }
        try send()
    }
}
