// SPDX-License-Identifier: MIT

/// Holds packets back until those that are delivered form an unbroken run of frames in presentation order.
///
/// What was delivered before a failure is then exactly the first frames of the stream, so that a new stream can begin with
/// the next one. Without reordering each packet passes at once, otherwise a group of pictures at a time.
struct PacketGate<Packet> {
    /// Frames with a smaller number have had their packets delivered.
    private(set) var deliveredCount: UInt64 = 0
    /// In decoding order.
    private(set) var held: [Packet] = []
    /// The frames of those packets.
    private var heldFrames: Set<UInt64> = []
    private var highest: UInt64 = 0

    var isEmpty: Bool { held.isEmpty }

    /// Whether the packet of a frame is held.
    func holds(_ frame: UInt64) -> Bool { heldFrames.contains(frame) }

    /// Takes the packet of the frame with this number in presentation order, which came for the first time.
    ///
    /// - Returns: the packets that may be delivered now.
    mutating func add(_ packet: Packet, of frame: UInt64) -> [Packet] {
        highest = held.isEmpty ? frame : max(highest, frame)
        held.append(packet)
        heldFrames.insert(frame)
        guard deliveredCount + UInt64(held.count) == highest + 1 else { return [] }
        return release()
    }

    /// Changes a packet that is held.
    mutating func replace(at index: Int, with packet: Packet) { held[index] = packet }

    /// Opens the gate for all that it holds.
    mutating func release() -> [Packet] {
        defer { discard() }
        deliveredCount += UInt64(held.count)
        return held
    }

    /// Forgets the packets of a process that has failed.
    mutating func discard() {
        held = []
        heldFrames.removeAll(keepingCapacity: true)
    }
}
