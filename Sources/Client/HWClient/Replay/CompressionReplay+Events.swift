// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

// What the present process sends, and what the app gets of it.
extension CompressionReplay {
    func handle(_ event: Event) throws(ClientError) {
        switch event {
        case .formatDescription(let record):
            nextFormat = record
            if gate.isEmpty { giveFormat() }
        case .frameReleased(let number): try didRead(number)
        case .packet(let packet): try arrived(packet)
        case .completed: try didComplete()
        }
    }

    /// Passes the record on, unless the app has it: a new process repeats it.
    private func giveFormat() {
        guard let record = nextFormat else { return }
        nextFormat = nil
        give(record)
    }

    private func give(_ record: [UInt8]) {
        guard record != givenFormat else { return }
        givenFormat = record
        events.append(.formatDescription(record))
    }

    /// Keeps a frame that the process has read, in the app's memory or in a copy.
    private func didRead(_ number: UInt64) throws(ClientError) {
        let wasFull = framesInFlight >= client.created.maxFramesInFlight
        defer { noteCredit(wasFull) }
        if let released = unreleased.removeValue(forKey: number) {
            if let frameID = released { events.append(.frameReleased(frameID)) }
            return try send()
        }
        guard let frame = log.sentFrame(number), !frame.isRead else {
            throw broken("it released a frame that is not in flight")
        }
        log[number]?.progress = .read
        // Another encoder than the first one may hold more frames.
        if canRepeat, let copies, log.readCount * copies.frameSize > FrameCopies.maxBytes {
            stopKeeping(.full)
        }
        if let frame = log[number], frame.isLent {
            if canRepeat, mayKeep(frame) { hasSilentCredit = true } else { returnFrame(number) }
        }
        try send()
    }

    /// Notes that a frame which was sent again was read, where an app that waits for credit would get no event.
    private func noteCredit(_ wasFull: Bool) {
        if wasFull, events.isEmpty, framesInFlight < client.created.maxFramesInFlight { hasSilentCredit = true }
    }

    /// Returns a frame's memory to the app, after copying it where frames are kept.
    private func returnFrame(_ number: UInt64) {
        guard let frame = log[number]?.frame else { return }
        var copy: FrameCopies.Copy?
        if canRepeat {
            do throws(FrameCopies.Failure) {
                guard let pool = pools.first(where: { $0.id == frame.poolID }) else { throw .impossible }
                copy = try copies?.copy(frame.layout, in: pool.memory)
            } catch { stopKeeping(error) }
        }
        // Where keeping ended, it was returned with the others.
        guard log[number]?.isLent == true else { return }
        log[number]?.samples = copy.map { .copied($0) } ?? .returned
        events.append(.frameReleased(frame.frameID))
    }

    /// Registers a picture in dma-bufs, after which no frames are kept.
    func addPicture(_ picture: DMABufPicture, id poolID: UInt32) throws(ClientError) {
        try perform { () throws(ClientError) in try client.addPicture(picture, id: poolID) }
        if canRepeat { stopKeeping(.foreign) }
    }

    /// Makes the next frame that names a picture wait.
    func addFence(_ fence: Int32, to poolID: UInt32) throws(ClientError) {
        let kept = try KeptFence(fence)
        try perform { () throws(ClientError) in try client.addFence(kept, to: poolID) }
    }

    /// Copies the frames that are kept in a pool which the app takes back.
    ///
    /// - Throws: `Parameter` where the process has not read a frame of the pool.
    func vacate(pool id: UInt32) throws(ClientError) {
        for number in log.lentNumbers(inPool: id) {
            guard let frame = log[number], frame.isLent else { continue }
            guard frame.isRead else {
                throw ClientError(SessionError(.parameter, "the pool has a frame in flight"))
            }
            returnFrame(number)
        }
    }

    /// Whether a frame that was read may stay where it is: the app can spare the slot.
    private func mayKeep(_ frame: FrameLog.Frame) -> Bool {
        let poolID = frame.frame.poolID
        guard let spared = pools.first(where: { $0.id == poolID })?.spared, spared > 0 else { return false }
        return log.keptCount(inPool: poolID) <= spared
    }

    /// Stops keeping frames, and says why in the notices.
    private func stopKeeping(_ failure: FrameCopies.Failure) {
        let reason =
            switch failure {
            case .full: "the encoder holds more frames than are kept"
            case .impossible: "a frame could not be copied"
            case .foreign: "frames in dma-bufs are not kept"
            }
        keeping = .nothing(notice: "the session ends if its process fails: \(reason)")
        for number in log.keptNumbers { returnFrame(number) }
        for arrival in gate.release() { deliver(arrival) }
        giveFormat()
        freeCopies()
    }

    private func arrived(_ packet: CompressionSession.ReceivedPacket) throws(ClientError) {
        let number = packet.description.frameID
        guard log.sentFrame(number) != nil, !gate.holds(number) else {
            throw broken("it sent a packet of an unknown frame, or a second packet of a frame")
        }
        let (pts, dts) = (packet.description.pts, packet.description.dts)
        guard dts <= pts, pts.subtractingReportingOverflow(dts).partialValue.magnitude <= Self.maxDelay else {
            throw broken("a packet has an impossible decoding time")
        }
        let arrival = Arrival(packet: packet.of(process), format: nextFormat)
        nextFormat = nil
        guard canRepeat else { return deliver(arrival) }
        let deliverable = gate.add(arrival, of: number)
        for arrival in deliverable { deliver(arrival) }
        try moveHeld()
    }

    /// Copies the latest packet that is held, where the process would soon have no memory for more.
    private func moveHeld() throws(ClientError) {
        let index = gate.held.count - 1
        guard index >= Self.maxHeldInPlace || index >= 0 && heldBytes > Self.maxHeldBytes else { return }
        var arrival = gate.held[index]
        let id = arrival.packet.description.packetID
        arrival.packet = arrival.packet.copied()
        gate.replace(at: index, with: arrival)
        guard !isLeaving else { return }
        try client.send(ReleasePacket(packetID: id))
    }

    /// The most by which a decoding time is before its presentation time, so that sums of times do not overflow.
    private static var maxDelay: UInt64 { 1 << 56 }

    /// Copies the packets that wait for the app, so that the process has memory for more.
    func moveDelivered() throws(ClientError) {
        for index in events.indices {
            guard case .packet(let packet) = events[index], packet.process == process else { continue }
            events[index] = .packet(packet.copied())
            try client.send(ReleasePacket(packetID: packet.description.packetID))
        }
    }

    /// A quarter of the worker's memory for packets.
    private static var maxHeldBytes: Int { 2 << 20 }

    private var heldBytes: Int { gate.held.reduce(0) { $0 + Int($1.packet.description.size) } }

    private func deliver(_ arrival: Arrival) {
        let number = arrival.packet.description.frameID
        guard let frame = log[number] else { return }
        if let record = arrival.format { give(record) }
        var description = arrival.packet.description
        description.frameID = frame.frame.frameID
        description.dts = times.next(own: description.dts)
        events.append(.packet(arrival.packet.described(as: description)))
        if let copy = frame.copy { copies?.free(copy) }
        if !frame.isRead {
            unreleased.updateValue(frame.isLent ? frame.frame.frameID : nil, forKey: number)
        } else if frame.isLent {
            events.append(.frameReleased(frame.frame.frameID))
        }
        log[number] = nil
        foldProperties()
    }

    /// Passes on that the oldest request is answered, once the packets that it asked for are delivered.
    private func didComplete() throws(ClientError) {
        guard let pts = log.firstCompletion() else { throw broken("it answered a request that was not made") }
        // They may follow one in decoding order that waits for a frame of a later time.
        if let latest = gate.held.map(\.packet.description.pts).max(),
            gate.held.contains(where: { $0.packet.description.pts <= pts })
        {
            // The packets are lost with their process; the next one answers the request.
            if isLeaving { return }
            return client.finish(by: try client.send(CompleteFrames(untilPTS: latest)))
        }
        log.removeFirstCompletion()
        foldProperties()
        events.append(.completed)
    }
}
