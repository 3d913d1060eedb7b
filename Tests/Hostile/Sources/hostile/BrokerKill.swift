// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDModel
import HWDTransport
import HWDWire

/// `kill-broker N`: kills the broker N times beneath a session; the session must complete, its worker end, and the next
/// broker serve.
func brokerKills(count: Int, seed: UInt64) throws {
    let settings = [
        "--stall-timeout", "2", "--set", "HardwareStallTimeout=2", "--set", "ClientStallTimeout=2", "--set",
        "SpareWorkers=1",
    ]
    for _ in 0..<count {
        let broker = try Broker(settings, isShared: true)
        // Its end removes the socket.
        defer { withExtendedLifetime(broker) {} }
        let bystander = try Helper(["bystander", broker.address, "0"], user: Users.bystander)
        try bystander.waitForOutput()
        // A client that does nothing.
        let idle = try Session(broker.address)
        let pool = try SharedMemory(creating: "hostile-pool", size: 1 << 16)
        _ = idle.addPool(pool)
        let workers = broker.children
        try broker.process.kill(SIGKILL)
        _ = try broker.process.wait(until: MonotonicTime.now + .seconds(hang))
        let start = MonotonicTime.now
        let next = try Broker(settings, isShared: true, address: broker.address)
        print(
            "  killed with \(workers.count) workers; the next broker serves after \(rounded(milliseconds(since: start))) ms"
        )
        var end: End?
        while end == nil, let message = try idle.next() {
            if message.opcode == Opcode.end.rawValue { end = try End(decoding: message.payload.span.bytes) }
        }
        guard end?.status == .videoEncoderNotAvailableNow else {
            throw Finding("an idle session ended \(end.map { "with: \($0.reason)" } ?? "without a reason")")
        }
        print(
            "  an idle session ended after \(rounded(milliseconds(since: start) / 1000)) s (ClientStallTimeout 2 s)"
        )
        usleep(1_000_000)
        try compare(bystander, next.address)
        let ended = MonotonicTime.now
        while let left = workers.first(where: { kill($0, 0) == 0 && !text("/proc/\($0)/stat").contains(") Z ") }) {
            guard milliseconds(since: ended) < Double(hang) * 1000 else {
                throw Finding("worker \(left) of the killed broker is left")
            }
            usleep(5000)
        }
        print("  no worker of the killed broker is left")
        let session = try Session(next.address)
        try session.finish()
        try next.expectOrderlyEnd(session.id)
        try next.stop()
    }
}
