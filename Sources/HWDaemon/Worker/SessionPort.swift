// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDModel
internal import HWDPolicy
public import HWDTransport
public import HWDWire
internal import Synchronization

/// A worker's end of its session's connection: the I/O thread's loop, sending from any thread, and the session's end.
public final class SessionPort: @unchecked Sendable {
    /// The counters that the broker reads.
    public let stats: StatsPage
    /// The memory that the session takes.
    public let memory: MemoryLedger
    /// Whether the session's threads may run before others.
    public let realTime: RealTimeShare

    private static let clientIsGone = "the client closed the connection"
    /// Bytes that a reply's body may have: a payload less the reply's own fields.
    private static let maxBody = MessageHeader.maxLength - 8
    private enum Token {
        static let client: UInt64 = 0
        static let signal: UInt64 = 1
        static let broker: UInt64 = 2
    }
    /// Time beyond the idle limit in which the I/O thread ends an orphaned session itself, with a reason.
    private static let alarmMargin = Duration.seconds(2)

    private let kind: SessionKind
    private let limits: WorkerLimits
    private let signals: SignalFD
    private let channel: SessionChannel
    private let ending = Mutex(())
    /// Pools that are pictures in dma-bufs; the I/O thread's.
    private var pictures: [UInt32: ImportedPicture] = [:]

    init(
        kind: SessionKind, limits: WorkerLimits, stats: StatsPage, memory: MemoryLedger, realTime: RealTimeShare,
        signals: SignalFD, connection: consuming OwnedFD
    ) throws(SystemError) {
        self.kind = kind
        self.limits = limits
        self.stats = stats
        self.memory = memory
        self.realTime = realTime
        self.signals = signals
        channel = SessionChannel(try MessageChannel(connection))
    }

    /// Serves the client until the session ends, which ends the process.
    public func run(_ handler: some SessionHandler) -> Never {
        var pools = PoolLedger<SharedMemory>(maxBytes: limits.maxPoolBytes)
        var lifetime = LifetimeRule(limits)
        var activity = LifetimeRule.Activity()
        var nextCheck = MonotonicTime.now + StatsPage.heartbeatInterval
        do {
            let epoll = try Epoll()
            try epoll.add(channel.channel.fileDescriptor, token: Token.client, events: .readable)
            try epoll.add(signals.fileDescriptor, token: Token.signal, events: .readable)
            try epoll.addHangUp(WorkerDescriptor.broker, token: Token.broker)
            while true {
                let now = MonotonicTime.now
                stats.set(.heartbeatNs, now.nanoseconds)
                (activity.framesOut, activity.progress) = (stats[.framesOut], stats[.progressNs])
                if lifetime.record(activity, now: now) { setAlarm(lifetime) }
                if let error = lifetime.end(kind, now: now) { end(error.status, error.reason) }
                if now >= nextCheck {
                    // A client may fill a pool without sending a frame.
                    try memory.check()
                    nextCheck = now + StatsPage.heartbeatInterval
                }
                for event in try epoll.wait(until: now + StatsPage.heartbeatInterval) {
                    switch event.token {
                    case Token.signal: end(kind.notAvailableNow, "the daemon is shutting down")
                    case Token.broker:
                        lifetime.brokerEnded(now: .now)
                        setAlarm(lifetime)
                    default:
                        activity.messages += 1
                        try receiveAll(handler, &pools, &lifetime)
                    }
                }
            }
        } catch let error as SessionError {
            end(error.status, error.reason)
        } catch let error as TransportError where error.code == .closed {
            end(.ok, Self.clientIsGone)
        } catch let error as TransportError where error.code == .system {
            end(.allocationFailed, "the \(kind.noun) process failed: \(error.reason)")
        } catch let error as TransportError {
            end(.parameter, "the client broke the session's protocol: \(error.reason)")
        } catch {
            end(.allocationFailed, "the \(kind.noun) process failed: \(error)")
        }
    }

    /// Makes the kernel end a process whose broker is gone and whose I/O thread hangs.
    private func setAlarm(_ lifetime: LifetimeRule) {
        ProcessControl.setAlarm(after: lifetime.idleLimit + Self.alarmMargin)
    }

    private func receiveAll(
        _ handler: some SessionHandler, _ pools: inout PoolLedger<SharedMemory>, _ lifetime: inout LifetimeRule
    ) throws {
        while true {
            let received = try channel.next { opcode, sequence, payload, fds in
                if sequence == 1 { handler.sessionBegan() }
                try opcode.validate(from: .client, in: kind, fdCount: fds.count)
                if [.addPool, .addPicture, .prepare].contains(opcode) { lifetime.isPrepared = true }
                try handle(opcode, sequence, payload, &fds, handler, &pools)
            }
            switch received {
            case .message: continue
            case .wouldBlock: return
            case .endOfFile: end(.ok, Self.clientIsGone)
            }
        }
    }

    private func handle(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ fds: inout FDQueue,
        _ handler: some SessionHandler, _ pools: inout PoolLedger<SharedMemory>
    ) throws(SessionError) {
        switch opcode {
        case .setProperties:
            answer(sequence) { () throws(SessionError) in
                try handler.setProperties(Self.decode([String: PropertyValue].self, payload))
                return []
            }
        case .copyProperties:
            answer(sequence) { () throws(SessionError) in
                try JSON.encode(try handler.copyProperties(Self.decode([String].self, payload)))
            }
        case .addPool:
            if let file = fds.popFirst() { try addPool(AddPool(decoding: payload), file, handler, &pools) }
            send(Reply(sequence: sequence))
        case .removePool:
            answer(sequence) { () throws(SessionError) in
                let id = try RemovePool(decoding: payload).poolID
                let memory = try pools.remove(id, isInUse: handler.isUsing(pool: id))
                pictures[id] = nil
                handler.didRemove(memory)
                return []
            }
        case .addPicture, .addFence, .addTable: try handleFiles(opcode, sequence, payload, &fds, handler, &pools)
        case .invalidate:
            try ByteReader().expectEnd(of: payload)
            end(.ok, "invalidated by the client")
        case let other where other.failure == .isAnswered:
            answer(sequence) { () throws(SessionError) in
                try handler.handle(other, sequence, payload, pools)
                return []
            }
        default: try handler.handle(opcode, sequence, payload, pools)
        }
    }

    /// Handles messages with files whose failure does not end the session.
    private func handleFiles(
        _ opcode: Opcode, _ sequence: UInt32, _ payload: RawSpan, _ fds: inout FDQueue,
        _ handler: some SessionHandler, _ pools: inout PoolLedger<SharedMemory>
    ) throws(SessionError) {
        switch opcode {
        case .addPicture:
            let picture = Result { () throws(SessionError) in
                try addPicture(AddPicture(decoding: payload), &fds, handler, &pools)
            }
            answer(sequence) { () throws(SessionError) in
                try picture.get()
                return []
            }
            try self.memory.check()
        case .addFence:
            let fence = Result { () throws(SessionError) in try Self.fence(fds.popFirst()) }
            answer(sequence) { () throws(SessionError) in
                let id = try AddFence(decoding: payload).poolID
                guard let picture = pictures[id] else {
                    throw SessionError(.parameter, "there is no picture \(id)")
                }
                picture.wait(for: try fence.get())
                return []
            }
        default:
            let memory = Result { () throws(SessionError) in try Self.table(fds.popFirst()) }
            // The reader copies the text.
            if case .success(let memory) = memory { try self.memory.require(2 * memory.size) }
            answer(sequence) { () throws(SessionError) in
                try handler.add(AddTable(decoding: payload), memory.get())
                return []
            }
            try self.memory.check()
        }
    }

    private static func decode<T: Decodable>(_ type: T.Type, _ payload: RawSpan) throws(SessionError) -> T {
        try JSON.decode(type, from: payload.withUnsafeBytes { Array($0) })
    }

    /// Maps and registers a pool.
    ///
    /// - Throws: `Parameter` unless its memfd is sealed, of a possible size and within the session's limits.
    private func addPool(
        _ message: AddPool, _ file: consuming OwnedFD, _ handler: some SessionHandler,
        _ pools: inout PoolLedger<SharedMemory>
    ) throws(SessionError) {
        guard let size = Int(exactly: message.size), size > 0 else {
            throw SessionError(.parameter, "a pool of \(message.size) bytes is not possible")
        }
        let access = handler.access(to: file)
        let memory = try SharedMemory(
            receiving: file, minSize: size, maxSize: Int(clamping: limits.maxPoolBytes), access: access)
        // The whole file is mapped, however little of it the client announces.
        try pools.add(
            message.poolID, memory, size: UInt64(memory.size), isWritable: memory.access == .readWrite)
        self.memory.add(memory)
        try self.memory.check()
    }

    /// Imports and registers a picture in dma-bufs.
    ///
    /// - Throws: why it is not imported; the session continues.
    private func addPicture(
        _ message: AddPicture, _ files: inout FDQueue, _ handler: some SessionHandler,
        _ pools: inout PoolLedger<SharedMemory>
    ) throws(SessionError) {
        let picture = try ImportedPicture(message, &files, maxSize: Int(clamping: limits.maxPoolBytes))
        for side in handler.pictureSides where message.uses.contains(side.use) {
            let frames = side.frames
            guard
                message.fourcc == frames.format.fourcc, message.width == frames.width,
                message.height == frames.height
            else {
                throw SessionError(
                    .parameter,
                    "picture \(message.poolID) is not like the session's frames, \(frames.format.rawValue) of "
                        + "\(frames.width)x\(frames.height)")
            }
        }
        guard message.uses.isSubset(of: AddPicture.Uses(handler.pictureSides.map(\.use))) else {
            throw SessionError(.parameter, "picture \(message.poolID): the session writes no frames")
        }
        try pools.add(message.poolID, picture.copy, size: UInt64(picture.copy.size), isWritable: true)
        pictures[message.poolID] = picture
        memory.add(picture.copy)
    }

    /// The use of a picture by a frame, whose planes become those of the picture's copy; nil for a pool in memory.
    ///
    /// - Throws: `Parameter` where the frame's planes are not the picture's.
    public func usePicture(
        _ use: AddPicture.Uses, pool id: UInt32, _ planes: inout FrameLayout
    ) throws(SessionError) -> PictureUse? {
        guard let picture = pictures[id] else { return nil }
        let use = try picture.use(use, planes)
        planes = picture.layout
        return use
    }

    private static func fence(_ file: consuming OwnedFD?) throws(SessionError) -> SyncFile {
        guard let file else { throw SessionError(.parameter, "a fence came without a file") }
        return try SyncFile(receiving: file)
    }

    /// The memory of a table of effects.
    ///
    /// - Throws: `Parameter` unless its memfd is sealed, and not larger than a table may be.
    private static func table(_ file: consuming OwnedFD?) throws(SessionError) -> SharedMemory {
        guard let file else { throw SessionError(.parameter, "a table came without a file") }
        return try SharedMemory(
            receiving: file, maxSize: EffectTable.maxTableBytes, access: .readOnly, as: "a table")
    }

    /// Sends the reply to a message whose failure does not end the session.
    private func answer(_ sequence: UInt32, _ body: () throws(SessionError) -> [UInt8]) {
        var reply = Reply(sequence: sequence)
        do throws(SessionError) {
            reply.body = try body()
            guard reply.body.count <= Self.maxBody else {
                throw SessionError(.parameter, "the values do not fit a message; ask for fewer")
            }
        } catch {
            reply.status = error.status
            // A reason quotes the client's payload, which may be as long as a message.
            reply.body = Array(String(error.reason.prefix(512)).utf8)
        }
        send(reply)
    }

    /// Sends a message from any thread; a client that is gone or does not read ends the session.
    public func send(_ payload: some SessionPayload, fds: [Int32] = []) {
        do throws(TransportError) { try channel.send(payload, fds: fds) } catch { endAfterFailedSend(error) }
    }

    /// Sends a message whose payload has no fixed fields.
    public func send(_ opcode: Opcode, _ bytes: [UInt8]) {
        do throws(TransportError) { try channel.send(opcode, bytes: bytes) } catch { endAfterFailedSend(error) }
    }

    private func endAfterFailedSend(_ error: TransportError) -> Never {
        if error.code == .closed { end(.ok, Self.clientIsGone) }
        end(.parameter, "the client does not read its messages: \(error.reason)")
    }

    /// Ends the session because its codec failed, or could not have more memory.
    public func fail(_ error: SessionError) -> Never {
        let error = memory.explained(error)
        end(error.status, error.reason)
    }

    /// Ends the session and the process, from any thread; a second caller waits for the exit.
    public func end(_ status: Status, _ reason: String) -> Never {
        ending.withLock { _ in
            stats.set(.endStatus, UInt64(bitPattern: Int64(status.rawValue)))
            WorkerStartup.report(.ended(code: status.rawValue, reason: reason))
            _ = try? channel.send(End(status: status, reason: reason))
            // Not exit(): a codec's threads still run, and its destructors would wait for them.
            _exit(ExitStatus.ok.rawValue)
        }
    }
}
