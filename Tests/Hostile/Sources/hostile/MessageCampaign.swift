// SPDX-License-Identifier: GPL-2.0-or-later
import CHostile
import Glibc
import HWDModel
import HWDTransport
import HWDWire

/// Mutated binary messages to session workers.
struct MessageCampaign {
    let broker: Broker
    var random: Randomness
    private let pool: SharedMemory
    private(set) var sessions = 0
    private(set) var ends: [String: Int] = [:]

    init(_ broker: Broker, seed: UInt64) throws {
        self.broker = broker
        random = Randomness(seed: seed)
        pool = try SharedMemory(creating: "hostile-pool", size: 1 << 16)
    }

    /// Runs one session: messages whose errors are replies, then one that may end the session.
    ///
    /// - Returns: the number of mutated messages that the worker has read.
    mutating func session() throws -> Int {
        sessions += 1
        let session = try Session(broker.address)
        var count = 0
        if random.chance(90) { _ = try session.reply(to: session.addPool(pool)) }
        for _ in 0..<random.below(10) {
            var last: UInt32?
            let burst = 1 + random.below(12)
            for _ in 0..<burst {
                let (opcode, payload) = answerable()
                last = session.send(opcode, payload)
            }
            count += burst
            guard try session.reply(to: last) != nil else { break }
        }
        for number in 0..<random.below(3) { session.send(session.frame(number)) }
        count += try last(session)
        let end = try session.finish()
        let result = try broker.expectOrderlyEnd(session.id)
        guard end != nil || result.code == 0 else {
            throw Finding("session \(session.id) ended without an end message: \(result.reason)")
        }
        ends[result.code == 0 ? "in order" : "error \(result.code)", default: 0] += 1
        return count
    }

    /// A message whose failure is a reply and does not end the session.
    private mutating func answerable() -> (Opcode, [UInt8]) {
        let donor = random.pick(Templates.calls)
        switch random.below(10) {
        case 0..<5:
            return (.setProperties, Array(Templates.properties.mutated(donor: donor, &random).json.utf8))
        case 5, 6:
            let text = Array(Templates.properties.json.utf8)
            return (.setProperties, ByteMutation.apply(text, donor: Array(donor.json.utf8), &random))
        case 7, 8:
            let names = Tree.array([.text("EncoderID"), .text("Quality"), .text("NumberOfPendingFrames")])
            return (.copyProperties, Array(names.mutated(donor: donor, &random).json.utf8))
        default:
            return (
                .removePool,
                ByteMutation.apply(Session.bytes(RemovePool(poolID: 7)), donor: random.bytes(8), &random)
            )
        }
    }

    /// Sends the message that may end the session.
    private mutating func last(_ session: Session) throws -> Int {
        let frame = Session.bytes(session.frame(5))
        let payloads: [(Opcode, [UInt8])] = [
            (.encodeFrame, frame), (.encodeFrame, frame), (.encodeFrame, frame),
            (.completeFrames, Session.bytes(CompleteFrames())),
            (.releasePacket, Session.bytes(ReleasePacket(packetID: 1))), (.prepare, []), (.invalidate, []),
            (.addPool, Session.bytes(AddPool(poolID: 2, size: 4096))),
            (.setProperties, Array(Templates.properties.json.utf8)),
        ]
        var (opcode, payload) = random.pick(payloads)
        if random.chance(70) { payload = ByteMutation.apply(payload, donor: frame, &random) }
        var files: [Int32] = opcode == .addPool || random.chance(5) ? [random.pick([0, pool.file.rawValue])] : []
        if random.chance(5) { files = Array(repeating: 0, count: 1 + random.below(9)) }
        var header: [UInt8] = []
        for word in [UInt32(payload.count), opcode.rawValue, UInt32(files.count), session.nextSequence()] {
            for shift in 0..<4 { header.append(UInt8(truncatingIfNeeded: word >> (8 * UInt32(shift)))) }
        }
        if random.chance(40) { header = ByteMutation.apply(header, donor: frame, &random) }
        guard !(header + payload).isEmpty else { return 0 }
        session.sendRaw(header + payload, fds: files)
        return 1
    }
}
