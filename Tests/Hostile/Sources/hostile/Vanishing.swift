// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire

/// `vanish N`: kills N clients at random times; the broker must release all their resources.
func vanishing(count: Int, seed: UInt64) throws {
    let broker = try Broker()
    let before = broker.openFiles
    var random = Randomness(seed: seed)
    var latest = 0.0
    var withSession = 0
    for _ in 0..<count {
        let client = try ChildProcess(spawning: Program.path, arguments: ["client", broker.address])
        usleep(useconds_t(random.below(120_000)))
        let isServed = !broker.children.isEmpty
        try client.kill(SIGKILL)
        guard try client.wait(until: MonotonicTime.now + .seconds(hang)) == .signaled(SIGKILL) else {
            throw Finding("a client ended before it was killed")
        }
        if isServed { withSession += 1 }
        let start = MonotonicTime.now
        guard broker.hasNoChildren() else {
            throw Finding("\(hang) s after its client's death a worker is still there: \(broker.children)")
        }
        latest = max(latest, milliseconds(since: start))
        try broker.expectAlive()
    }
    let after = broker.openFiles(settlingTo: before)
    print(
        "  \(count) clients killed, \(withSession) of them in a session; the last worker was gone after at most",
        "\(rounded(latest)) ms")
    print("  broker's descriptors \(before) before, \(after) after")
    guard after <= before else { throw Finding("the broker keeps descriptors") }
    try broker.stop()
}

/// The client that is killed: it creates sessions endlessly and sends frames at full speed.
func victim(_ address: String) throws {
    let daemon = Daemon(address: address)
    guard let timeBase = Rational(1, 30) else { return }
    while true {
        let session = try CompressionSession(
            daemon,
            CreateCompressionSession.Parameters(
                width: 320, height: 180, pixelFormat: .yu12, timeBase: timeBase,
                properties: [.x265Preset: .string("ultrafast")]))
        let pool = try FramePool(slotSize: FrameLayout.packed(.yu12, width: 320, height: 180).size, slotCount: 8)
        try session.addPool(pool, id: 1)
        var slots: [UInt64: FramePool.Slot] = [:]
        for number in 0..<60 as Range<UInt64> {
            while pool.freeCount == 0, let event = try session.nextEvent(timeout: .seconds(hang)) {
                switch event {
                case .frameReleased(let frame):
                    if let slot = slots.removeValue(forKey: frame) { pool.release(slot) }
                case .packet(let packet): try session.release(packet)
                default: break
                }
            }
            guard let slot = pool.acquire() else { throw Finding("no slot is free") }
            slots[number] = slot
            try session.encode(
                EncodeFrame(
                    frameID: number, pts: Int64(number), duration: 1, poolID: 1,
                    layout: FrameLayout.packed(.yu12, width: 320, height: 180, base: slot.offset).layout))
        }
        session.invalidate()
    }
}
