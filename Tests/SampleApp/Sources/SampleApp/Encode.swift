// SPDX-License-Identifier: MIT
import Model
import Sessions
import Worker

// The part between the markers is the sample of docs/clients.md; scripts/check-sample compares them.
// sample: begin
import HWClient

func encode(_ count: UInt64, timeBase: Rational, to recording: Recording) throws -> String {
    let daemon = try Daemon.find()  // the machine's daemon, or a private one where none runs
    let parameters = CreateCompressionSession.Parameters(
        width: Clip.width, height: Clip.height, pixelFormat: .nv12, timeBase: timeBase,
        properties: [.averageBitRate: .int(1_000_000)])
    let session = try CompressionSession(daemon, parameters)
    let size = FrameLayout.packed(.nv12, width: Clip.width, height: Clip.height).size
    let pool = try FramePool(slotSize: size, slotCount: session.created.maxFramesInFlight)
    try session.addPool(pool, id: 1)

    var next: UInt64 = 0
    var slots: [UInt64: FramePool.Slot] = [:]
    while true {
        while next < count, let slot = pool.acquire() {
            draw(Int(next), into: pool.bytes(of: slot))
            let frame = FrameLayout.packed(.nv12, width: Clip.width, height: Clip.height, base: slot.offset)
            try session.encode(
                EncodeFrame(frameID: next, pts: Int64(next), duration: 1, poolID: 1, layout: frame.layout))
            slots[next] = slot
            next += 1
            if next == count { try session.complete() }
        }
        switch try session.nextEvent(timeout: .seconds(10)) {
        case .formatDescription(let record): recording.begin(record)
        case .frameReleased(let id): if let slot = slots.removeValue(forKey: id) { pool.release(slot) }
        case .packet(let packet):
            recording.append(packet.bytes)
            try session.release(packet)
        case .completed: return session.created.encoderID
        case nil: throw ClientError(.connectionFailed, "the session is silent")
        }
    }
}
// sample: end
