// SPDX-License-Identifier: MIT
public import HWDModel
public import HWDTransport
public import HWDWire

/// A decompression session with the daemon: packets in, pictures out.
///
/// Used from one thread. `decode` waits only while the session has all the packets it takes; what comes back is
/// fetched with `nextEvent`. A program with an event loop of its own waits for `fileDescriptor` to become readable and
/// then calls `nextEvent(timeout: .zero)` until it answers nil.
public final class DecompressionSession {
    /// What came back.
    public enum Event {
        /// A picture, in presentation order; its samples are there until `release`.
        case frame(ReceivedFrame)
        /// A packet is damaged, or gives no picture.
        case report(PacketReport)
        /// Every picture of the packets sent before `finishDelayedFrames` has come out.
        case finished
    }

    /// A picture: its description, and where its samples lie.
    public struct ReceivedFrame {
        /// Times, size, format, colour, metadata; `layout` counts from the start of `memory`.
        public let description: FrameDecoded
        /// What it lies in; other sessions can read it by `CompressionSession.addPool`.
        public let memory: SharedMemory
    }

    /// What Create answered: the decoder, whether it is hardware, why not, and the credits.
    public let created: CreateDecompressionSession.Reply

    private let link: SessionLink
    private var arena = PacketPool()
    private var arenas: [UInt32: SharedMemory] = [:]
    private var events: [Event] = []
    private var finishing: UInt32?
    private var inFlight = 0
    private var lastFrameID: UInt64 = 0
    private var held = 0

    /// Bytes an arena may have.
    private static let maxMemory = 4 << 30

    /// Creates a session; returns when its decoder is chosen.
    ///
    /// - Throws: the session's error (`CouldNotFindVideoDecoder`, `VideoDecoderNotAvailableNow`,
    ///   `VideoDecoderUnsupportedDataFormat`, `Parameter`, …), or why the daemon could not be asked.
    public init(
        _ daemon: Daemon, _ parameters: CreateDecompressionSession.Parameters, timeout: Duration = .seconds(30)
    ) throws(ClientError) {
        let connection = try daemon.connect()
        created = try Daemon.exchange(
            CreateDecompressionSession.self, parameters, upgrade: true, on: connection.rawValue,
            deadline: MonotonicTime.now + timeout)
        link = try SessionLink(
            daemon, connection, session: created.session, malfunction: .videoDecoderMalfunction)
    }

    /// Readable when `nextEvent` has something to do.
    public var fileDescriptor: Int32 { link.fileDescriptor }

    /// Packets sent whose memory was not read yet.
    public var packetsInFlight: Int { inFlight }

    /// Pictures fetched and not released; at `created.maxFramesInFlight` no further one comes.
    public var framesHeld: Int { held }

    /// Sets properties, all or none.
    ///
    /// - Throws: `PropertyNotSupported`, `PropertyReadOnly`, `Parameter`; the session goes on.
    public func setProperties(_ properties: [PropertyKey: PropertyValue]) throws(ClientError) {
        let named = Dictionary(uniqueKeysWithValues: properties.map { ($0.key.rawValue, $0.value) })
        _ = try link.reply(to: link.send(.setProperties, SessionLink.encode(named), handle), handle)
    }

    /// The values of properties; of all that have one when `keys` is empty.
    public func copyProperties(_ keys: [PropertyKey] = []) throws(ClientError) -> [PropertyKey: PropertyValue] {
        let question = try SessionLink.encode(keys.map(\.rawValue))
        let reply = try link.reply(to: link.send(.copyProperties, question, handle), handle)
        do throws(SessionError) {
            let named = try JSON.decode([String: PropertyValue].self, from: reply.body)
            return Dictionary(uniqueKeysWithValues: named.map { (PropertyKey(rawValue: $0.key), $0.value) })
        } catch { throw ClientError(error) }
    }

    /// Has packets that follow decoded up to a temporal level, 0 to 6; nil is all of them.
    ///
    /// A lower limit holds from the next packet on, a higher one from the next picture at which the stream allows it (a
    /// key frame, TSA or STSA picture, H.265 7.4.2.2). Each packet that is left out is reported with
    /// `PacketReport.Flags.aboveLevel`.
    /// - Throws: `Parameter` for a level that does not exist; the session goes on.
    public func setMaxTemporalLevel(_ level: Int?) throws(ClientError) {
        try setProperties([.maxTemporalLevel: level.map { .int(Int64($0)) } ?? .null])
    }

    /// Whether packets of another format could follow in this session.
    ///
    /// - Throws: `FormatDescriptionChangeNotSupported`, `VideoDecoderUnsupportedDataFormat` or
    ///   `VideoDecoderBadData` with the reason when they could not; the session goes on.
    public func checkFormat(_ description: [UInt8]) throws(ClientError) {
        _ = try link.reply(to: link.send(.canAcceptFormat, description, handle), handle)
    }

    /// Whether packets of another format could follow in this session.
    public func canAcceptFormatDescription(_ description: [UInt8]) throws(ClientError) -> Bool {
        do throws(ClientError) {
            try checkFormat(description)
            return true
        } catch {
            guard case .session(let status) = error.code,
                [
                    .formatDescriptionChangeNotSupported, .videoDecoderUnsupportedDataFormat, .videoDecoderBadData,
                ].contains(status)
            else { throw error }
            return false
        }
    }

    /// The packets that follow are of another format.
    ///
    /// - Throws: as `checkFormat`.
    public func changeFormat(_ description: [UInt8]) throws(ClientError) {
        _ = try link.reply(to: link.send(.changeFormat, description, handle), handle)
    }

    /// Sends a packet: one access unit, in decoding order, framed as the format description says.
    ///
    /// While the session has all the packets it takes, this waits until it has read one; events that come then are
    /// kept. A client that holds all its pictures must release one first.
    /// - Parameters:
    ///   - pts: when its picture is shown; nil when that is not known.
    ///   - isOutput: whether the picture is given out, or decoded only because others refer to it.
    ///   - isAsynchronous: whether to return before the decoder has taken the packet.
    /// - Returns: the number that its picture and its reports carry.
    /// - Throws: `Parameter` for a packet that is too large, or why the session ended.
    @discardableResult
    public func decode(
        _ packet: UnsafeRawBufferPointer, pts: Int64?, duration: Int64 = 0, isOutput: Bool = true,
        isAsynchronous: Bool = true, timeout: Duration = .seconds(60)
    ) throws(ClientError) -> UInt64 {
        let deadline = MonotonicTime.now + timeout
        lastFrameID += 1
        let place = try store(packet, deadline)
        var flags: DecodeFrame.Flags = isAsynchronous ? .asynchronous : []
        if !isOutput { flags.insert(.doNotOutput) }
        let message = DecodeFrame(
            frameID: lastFrameID, pts: pts ?? DecodeFrame.noPTS, duration: duration, poolID: place.poolID,
            flags: flags, offset: UInt64(place.offset), size: UInt32(packet.count))
        let sequence = try link.send(message, handle)
        inFlight += 1
        if !isAsynchronous { _ = try link.reply(to: sequence, timeout: timeout, handle) }
        return lastFrameID
    }

    /// Whether `decode` would take a packet of so many bytes without waiting.
    public func hasRoom() -> Bool { inFlight < created.maxPacketsInFlight }

    private func store(
        _ packet: UnsafeRawBufferPointer, _ deadline: MonotonicTime
    ) throws(ClientError) -> PacketPool.Place {
        guard packet.count <= 64 << 20 else {
            throw ClientError(SessionError(.parameter, "a packet of \(packet.count) bytes is too large"))
        }
        func isTooSmall() -> Bool { (arena.memory?.size ?? 0) < packet.count }
        while true {
            if inFlight < created.maxPacketsInFlight, let place = arena.store(packet, frameID: lastFrameID) {
                return place
            }
            if isTooSmall(), arena.isEmpty {
                try grow(toHold: packet.count)
                continue
            }
            let before = inFlight
            try link.pump(until: deadline, handle) { self.inFlight < before }
            guard inFlight < before else {
                throw ClientError(.connectionFailed, "the session took no packet in time")
            }
        }
    }

    private func grow(toHold size: Int) throws(ClientError) {
        let old = arena.memory == nil ? nil : arena.poolID
        do throws(SystemError) { try arena.grow(toHold: size) } catch {
            throw ClientError(error, whileDoing: "no memory for packets")
        }
        guard let memory = arena.memory else { return }
        let message = AddPool(poolID: arena.poolID, size: UInt64(memory.size))
        _ = try link.reply(to: link.send(message, fds: [memory.file.rawValue], handle), handle)
        if let old { _ = try link.reply(to: link.send(RemovePool(poolID: old), handle), handle) }
    }

    /// Asks for every picture; `finished` comes after the last one.
    ///
    /// The packet that follows must be a key frame.
    public func finishDelayedFrames() throws(ClientError) {
        finishing = try link.send(.finishDelayedFrames, [], handle)
    }

    /// Gives a picture's memory back.
    public func release(_ frame: ReceivedFrame) throws(ClientError) {
        held -= 1
        try link.send(ReleaseFrame(pictureID: frame.description.pictureID), handle)
    }

    /// The next event; nil when none came in time.
    ///
    /// - Throws: what ended the session. When its worker died, the daemon is asked why.
    public func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        if events.isEmpty { try link.pump(until: MonotonicTime.now + timeout, handle) { !self.events.isEmpty } }
        return events.isEmpty ? nil : events.removeFirst()
    }

    /// Ends the session at once; pictures not fetched are lost.
    public func invalidate() { link.invalidate() }

    private func handle(_ opcode: Opcode, _ payload: RawSpan, _ fds: inout FDQueue) throws(SessionError) {
        // Reports are bounded by packets, pictures by credits; a worker that sends more is not ours.
        guard events.count <= 4096 else { throw link.broken("more events than its credits allow") }
        switch opcode {
        case .reply:
            let reply = try Reply(decoding: payload)
            guard reply.sequence == finishing else { return }
            finishing = nil
            guard reply.status == .ok else {
                throw SessionError(reply.status, String(decoding: reply.body, as: UTF8.self))
            }
            events.append(.finished)
        case .addArena:
            let message = try AddArena(decoding: payload)
            guard let file = fds.popFirst(), message.size <= UInt64(Self.maxMemory), arenas.count < 64,
                arenas[message.arenaID] == nil
            else { throw link.broken("an arena that is not possible") }
            arenas[message.arenaID] = try SharedMemory(
                receiving: file, minSize: Int(message.size), maxSize: Self.maxMemory, access: .readOnly)
        case .removeArena: arenas[try RemoveArena(decoding: payload).arenaID] = nil
        case .frameReleased:
            guard arena.release(try FrameReleased(decoding: payload).frameID) else {
                throw link.broken("the release of a packet that is not in flight")
            }
            inFlight -= 1
        case .frameDecoded: events.append(.frame(try receive(try FrameDecoded(decoding: payload))))
        case .packetReport: events.append(.report(try PacketReport(decoding: payload)))
        default: throw link.broken("it sent \(opcode), which is not one of its messages")
        }
    }

    private func receive(_ picture: FrameDecoded) throws(SessionError) -> ReceivedFrame {
        held += 1
        guard let memory = arenas[picture.arenaID], held <= created.maxFramesInFlight else {
            throw link.broken("a picture in no arena, or more than its credits allow")
        }
        do throws(SessionError) {
            try picture.layout.validate(
                picture.format, width: Int(clamping: picture.width), height: Int(clamping: picture.height),
                poolSize: UInt64(memory.size))
        } catch { throw link.broken(error.reason) }
        let part = picture.cleanAperture
        guard part.width > 0, part.height > 0, UInt64(part.x) + UInt64(part.width) <= UInt64(picture.width),
            UInt64(part.y) + UInt64(part.height) <= UInt64(picture.height)
        else { throw link.broken("a clean aperture outside its picture") }
        return ReceivedFrame(description: picture, memory: memory)
    }
}
