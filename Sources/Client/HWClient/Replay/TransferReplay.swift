// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDSystem
internal import HWDTransport
internal import HWDWire

/// A pixel-transfer session that continues in another process where its own fails.
///
/// Frames without an answer are sent again. Sources stay in the app's memory until the answer, so nothing has to be
/// copied; but a frame that is converted in place, or onto another frame's source, may have lost its source with
/// the process.
final class TransferReplay: Replay {
    typealias Event = TransferSession.Event

    /// A change or request between frames.
    private enum Mark {
        /// The frames that follow depend on it.
        case properties([PropertyKey: PropertyValue])
        case effects(EffectSchedule.Change)
        case finish
    }

    let sessions: SessionSuccession<TransferReceiver>
    private var pools: [(id: UInt32, memory: SharedMemory)] = []
    /// Pools that are pictures in dma-bufs, with the fence of the last frame that has one.
    private var pictures: [(id: UInt32, picture: DMABufPicture, fence: KeptFence?)] = []
    /// Frames and requests that the present process has not answered, and properties that were set meanwhile.
    private var log = ReplayLog<TransferFrame, Mark>(first: 0)
    /// The frames' numbers in the log, by those of the app.
    private var numbers: [UInt64: UInt64] = [:]
    /// Properties that were set before.
    private var properties: [PropertyKey: PropertyValue] = [:]
    /// Tables of effects that were added.
    private var tables: [(number: UInt32, memory: SharedMemory)] = []
    /// The effects of the last frame that was answered, and changes before the oldest one that was not; nil without effects.
    private var effects: EffectSchedule?
    /// Those of the Create call.
    private let created: EffectSchedule?
    var events: [Event] = []

    init(
        _ daemon: Daemon, _ parameters: CreateTransferSession.Parameters, tables: [[UInt8]], timeout: Duration
    ) throws(ClientError) {
        var parameters = parameters
        if !tables.isEmpty {
            var options = parameters.options ?? CreateTransferSession.Options()
            options.addedTables = tables.count
            parameters.options = options
        }
        let first = parameters.options?.tables?.count ?? 0
        var files: [(number: UInt32, memory: SharedMemory)] = []
        for (index, text) in tables.enumerated() {
            files.append((UInt32(first + index), try Self.memory(text, first + index)))
        }
        // The daemon refuses what is not a list.
        let list = parameters.options?.effects.flatMap { try? EffectList(texts: $0, .call) }
        created = list.map { EffectSchedule($0) }
        effects = created
        sessions = try SessionSuccession(daemon, parameters, timeout: timeout)
        for table in files {
            try perform { () throws(ClientError) in try client.addTable(table.memory, number: table.number) }
            self.tables.append(table)
        }
    }

    /// Memory for the text of a table.
    private static func memory(_ text: [UInt8], _ number: Int) throws(ClientError) -> SharedMemory {
        guard (1...EffectTable.maxTableBytes).contains(text.count) else {
            throw ClientError(
                SessionError(
                    .parameter, "table \(number) has \(text.count) bytes, not 1 to \(EffectTable.maxTableBytes)"))
        }
        do throws(SystemError) {
            let memory = try SharedMemory(creating: "hwdaemon-table", size: text.count)
            memory.mutableBytes?.copyBytes(from: text)
            return memory
        } catch { throw ClientError(SessionError(.allocationFailed, "memory for a table: \(error)")) }
    }

    /// A frame can be sent again as long as its source is unchanged, which `forgetProcess` checks.
    var canRepeat: Bool { true }

    var framesInFlight: Int {
        client.receiver.framesInFlight.count + client.receiver.unfetchedCount
            + events.count { if case .frame = $0 { true } else { false } }
    }

    // MARK: - Requests

    func addPool(_ memory: SharedMemory, id poolID: UInt32) throws(ClientError) {
        try perform { () throws(ClientError) in try client.addPool(memory, id: poolID) }
        pools.append((poolID, memory))
    }

    func addPicture(_ picture: DMABufPicture, id poolID: UInt32) throws(ClientError) {
        try perform { () throws(ClientError) in try client.addPicture(picture, id: poolID) }
        pictures.append((poolID, picture, nil))
    }

    /// Makes the next frame that names a picture wait.
    func addFence(_ fence: Int32, to poolID: UInt32) throws(ClientError) {
        guard let index = pictures.firstIndex(where: { $0.id == poolID }) else {
            throw ClientError(SessionError(.parameter, "there is no picture \(poolID)"))
        }
        let kept = try KeptFence(fence)
        try perform { () throws(ClientError) in try client.addFence(kept, to: poolID) }
        pictures[index].fence = kept
    }

    func removePool(id poolID: UInt32) throws(ClientError) {
        try perform { () throws(ClientError) in try client.removePool(id: poolID) }
        pools.removeAll { $0.id == poolID }
        pictures.removeAll { $0.id == poolID }
    }

    func setProperties(_ new: [PropertyKey: PropertyValue]) throws(ClientError) {
        try perform { () throws(ClientError) in try client.setProperties(new) }
        log.append(.properties(new))
        log.didSend()
        settle()
    }

    /// Changes the parameters of effects from a time on.
    func changeEffects(_ texts: [String], from pts: Int64) throws(ClientError) {
        let change: EffectSchedule.Change
        do throws(SessionError) {
            change = EffectSchedule.Change(pts: pts, list: try EffectList(texts: texts, .call))
        } catch { throw ClientError(error) }
        try perform { () throws(ClientError) in try client.changeEffects(change) }
        log.append(.effects(change))
        log.didSend()
        settle()
    }

    /// Takes what was set before the oldest frame or request without an answer.
    private func settle() {
        while let oldest = log.takeFirstMark(where: { if case .finish = $0 { false } else { true } }) {
            switch oldest {
            case .properties(let set): properties.merge(set) { _, new in new }
            // The worker took it, so it is possible.
            case .effects(let change): try? effects?.add(change)
            case .finish: break
            }
        }
    }

    func transfer(_ frame: TransferFrame) throws(ClientError) {
        guard framesInFlight < client.created.maxFramesInFlight else {
            throw ClientError(
                SessionError(.parameter, "\(framesInFlight) frames are in flight; fetch events first"))
        }
        numbers[frame.frameID] = log.append(frame)
        try perform { () throws(ClientError) in try send() }
    }

    func finishFrames() throws(ClientError) {
        log.append(.finish)
        try perform { () throws(ClientError) in try send() }
    }

    /// Sends what was not sent.
    private func send() throws(ClientError) {
        while let entry = log.nextUnsent {
            switch entry {
            case .item(_, let frame):
                if frame.pts == nil { try client.send(frame) } else { try client.send(TransferTimedFrame(frame)) }
                client.receiver.framesInFlight.insert(frame.frameID)
            case .mark(.finish): client.finish(by: try client.send(.finishFrames))
            case .mark(.properties(let set)): try client.setProperties(set)
            case .mark(.effects(let change)): try client.changeEffects(change)
            }
            log.didSend()
        }
    }

    func nextEvent(timeout: Duration) throws(ClientError) -> Event? {
        try event(until: MonotonicTime.now + timeout)
    }

    func receive(until deadline: MonotonicTime) throws(ClientError) -> Bool {
        guard let event = try client.nextEvent(timeout: deadline.rest) else { return false }
        handle(event)
        return true
    }

    func handle(_ event: Event) {
        switch event {
        case .frame(let result):
            if let number = numbers.removeValue(forKey: result.frameID) {
                effects?.advance(to: log[number]?.pts)
                log[number] = nil
            }
        case .finished:
            let sent = log.marks.prefix(log.nextMark)
            if let index = sent.firstIndex(where: { if case .finish = $0.mark { true } else { false } }) {
                log.removeMark(at: index)
            }
        }
        settle()
        events.append(event)
    }

    // MARK: - Failures

    func forgetProcess() throws(ClientError) {
        if let frame = overwritten() {
            throw ClientError(
                .session(TransferReceiver.malfunction), "frame \(frame) may have overwritten a source")
        }
    }

    func startAgain() throws(ClientError) {
        log.rewind()
        for pool in pools { try client.addPool(pool.memory, id: pool.id) }
        for (id, picture, fence) in pictures {
            try client.addPicture(picture, id: id)
            // One that is signaled delays nobody; the app has no frame of the picture in flight when it adds another.
            if let fence { try client.addFence(fence, to: id) }
        }
        for table in tables { try client.addTable(table.memory, number: table.number) }
        if !properties.isEmpty { try client.setProperties(properties) }
        if let effects, effects != created {
            try client.changeEffects(EffectSchedule.Change(pts: EffectSchedule.always, list: effects.list))
            for change in effects.pending { try client.changeEffects(change) }
        }
        try send()
    }

    /// A frame in flight whose target is the source of one in flight, or may be.
    private func overwritten() -> UInt64? {
        let frames = log.numbers.compactMap { log[$0] }
        let parameters = sessions.parameters
        let (source, target) = (parameters.source.pixelFormat, parameters.target.pixelFormat)
        var sources: [FrameRegion] = []
        for frame in frames {
            guard let read = regions(frame.source, source, height: parameters.height) else { return frame.frameID }
            sources += read
        }
        return frames.first { frame in
            guard let written = regions(frame.target, target, height: parameters.targetHeight ?? parameters.height)
            else { return true }
            return sources.contains { source in written.contains { $0.overlaps(source) } }
        }?.frameID
    }

    /// The memory that one side of a frame takes; nil where it cannot be determined.
    private func regions(_ place: TransferFrame.Place, _ pixelFormat: String, height: Int) -> [FrameRegion]? {
        guard let format = PixelFormat(rawValue: pixelFormat), format.planeCount == place.layout.planes.count
        else { return nil }
        if let found = pictures.first(where: { $0.id == place.poolID }) {
            return found.picture.regions(format, height: height)
        }
        guard let memory = pools.first(where: { $0.id == place.poolID })?.memory else { return nil }
        let planes = place.layout.planes.map { AddPicture.Plane(object: 0, offset: $0.offset, stride: $0.stride) }
        return FrameRegion.regions(planes, in: [FileIdentity(memory.file.rawValue)], format, height: height)
    }
}
