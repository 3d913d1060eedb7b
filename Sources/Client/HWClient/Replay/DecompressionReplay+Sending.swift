// SPDX-License-Identifier: MIT
internal import HWDModel
internal import HWDTransport
internal import HWDWire

// What the present process is sent.
extension DecompressionReplay {
    /// Sends what was not sent, as far as there is room.
    func send() throws(ClientError) {
        while !isLeaving, let entry = log.nextUnsent {
            switch entry {
            case .item(let number, let packet):
                guard try send(packet, number) else { return }
            case .mark(.properties(let properties)): try client.setProperties(properties)
            case .mark(.format(let description)): try client.request(.changeFormat, description)
            case .mark(.barrier): client.finish(by: try client.send(.finishDelayedFrames))
            }
            log.didSend()
        }
    }

    /// Sends a packet that is not kept, from the app's memory: everything before it was sent, and there is room.
    func sendUnkept(
        _ packet: PacketLog.Packet, _ bytes: UnsafeRawBufferPointer, _ number: UInt64
    ) throws(ClientError) {
        // The log does not have its bytes, so the packet cannot be sent later.
        defer { log.didSend() }
        guard try send(packet, number, from: bytes) else {
            throw ClientError(.timedOut, "the session read no packet in time")
        }
    }

    /// Sends a packet, from the app's memory where it is not kept; false where there is no room.
    private func send(
        _ packet: PacketLog.Packet, _ number: UInt64, from bytes: UnsafeRawBufferPointer? = nil
    ) throws(ClientError) -> Bool {
        let size = bytes?.count ?? packet.bytes.count
        func copy() -> PacketPool.Location? {
            if let bytes { return client.receiver.packets.store(bytes, frameID: number) }
            return packet.bytes.withUnsafeBytes { client.receiver.packets.store($0, frameID: number) }
        }
        guard hasCredit, let location = try store(size, copy) else { return false }
        let isSynchronous = if case .unsent(number) = synchronous { true } else { false }
        var flags: DecodeFrame.Flags = isSynchronous ? [] : .asynchronous
        if !packet.isOutput || packet.isRepeated { flags.insert(.doNotOutput) }
        let message = try client.send(
            DecodeFrame(
                frameID: number, pts: packet.pts, duration: packet.duration, poolID: location.poolID, flags: flags,
                offset: UInt64(location.offset), size: UInt32(size)))
        if isSynchronous { synchronous = .sent(message: message) }
        return true
    }

    /// Copies a packet into the worker's memory, growing it if needed; nil where there is no room.
    ///
    /// - Parameter copy: copies it, if there is room.
    private func store(
        _ size: Int, _ copy: () -> PacketPool.Location?
    ) throws(ClientError) -> PacketPool.Location? {
        if let found = copy() { return found }
        let packets = client.receiver.packets
        guard packets.count == 0, packets.size < size else { return nil }
        do throws(SystemError) { try client.receiver.packets.grow(toHold: size) } catch {
            throw ClientError(error, whileDoing: "no memory for packets")
        }
        guard let memory = client.receiver.packets.memory else { return nil }
        try client.addPool(memory, id: client.receiver.packets.poolID)
        if packets.memory != nil { try client.removePool(id: packets.poolID) }
        return copy()
    }

    /// Sends a packet that repeats what a decoder remembers of earlier ones.
    func sendPreamble(_ bytes: [UInt8]) throws(ClientError) {
        let packet = PacketLog.Packet(bytes: bytes, pts: DecodeFrame.noPTS, duration: 0, isOutput: false)
        guard try send(packet, Self.preambleID) else {
            throw ClientError(.timedOut, "the session read no packet in time")
        }
        // Another may follow with the same number.
        let deadline = MonotonicTime.now + .seconds(60)
        try client.pump(until: deadline) { $0.packets.count == 0 }
        guard client.receiver.packets.count == 0 else {
            throw ClientError(.timedOut, "the session read no packet in time")
        }
    }
}
