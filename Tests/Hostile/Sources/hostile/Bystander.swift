// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWClient
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire

/// Runs an attack beside a normal session of another user.
///
/// - Throws: what the attack finds, and a finding if the session's output differs from that of a session without attack.
func besideBystander(_ broker: Broker, _ attack: () throws -> Void) throws {
    let bystander = try Helper(["bystander", broker.address, "0"], user: Users.bystander)
    try bystander.waitForOutput()
    try attack()
    try compare(bystander, broker.address)
}

/// Ends a bystander and compares its output with that of an equal session of the broker at `address`.
func compare(_ bystander: Helper, _ address: String) throws {
    let (frames, digest) = try summary(bystander)
    let (_, undisturbed) = try summary(Helper(["bystander", address, "\(frames)"], user: Users.bystander))
    print("  bystander: \(frames) frames, md5 \(digest); without an attack \(undisturbed)")
    guard digest == undisturbed else { throw Finding("the bystander's output has changed") }
}

private func summary(_ bystander: Helper) throws -> (frames: Int, digest: String) {
    let lines = String(decoding: try bystander.finish(), as: UTF8.self).split(separator: "\n")
    guard let words = lines.last?.split(separator: " "), words.count == 2, let frames = Int(words[0]) else {
        throw Finding("the bystander has no result")
    }
    return (frames, String(words[1]))
}

/// `bystander ADDRESS FRAMES`: encodes frames until standard input ends, 30 a second, or `frames` at full speed.
///
/// Prints `running` after the first packet, at the end the number of frames and the md5 digest of all packets.
func bystander(_ address: String, frames: Int) throws {
    let session = try NormalSession(address)
    var due = MonotonicTime.now
    while frames > 0 ? session.sent < frames : !inputHasEnded() || session.sent < 60 {
        try session.encode()
        due = due + .milliseconds(33)
        while frames == 0, due > .now { try session.pump(.nanoseconds(Int64(due.nanoseconds(since: .now)))) }
    }
    print("\(session.sent) \(try session.finish())")
}

/// A session that does what every client does.
private final class NormalSession {
    private static let (width, height) = (320, 180)

    private(set) var sent = 0
    private let session: CompressionSession
    private let pool: FramePool
    private let digest: MD5
    private var slots: [UInt64: FramePool.Slot] = [:]
    private var packets = 0
    private var isCompleted = false

    init(_ address: String) throws {
        guard let timeBase = Rational(1, 30) else { throw Finding("1/30 is a ratio") }
        session = try CompressionSession(
            Daemon(address: address),
            CreateCompressionSession.Parameters(
                width: Self.width, height: Self.height, pixelFormat: .yu12, timeBase: timeBase,
                properties: [
                    .x265Preset: .string("veryfast"), .quality: .double(0.5),
                    .x265Params: .string("pools=1:frame-threads=1"),
                ]))
        pool = try FramePool(
            slotSize: FrameLayout.packed(.yu12, width: Self.width, height: Self.height).size, slotCount: 8)
        digest = try MD5()
        try session.addPool(pool, id: 1)
    }

    /// Sends a frame once a slot is free; the picture depends on its number alone.
    func encode() throws {
        while pool.freeCount == 0 { try pump(.seconds(1)) }
        guard let slot = pool.acquire() else { return }
        let bytes = pool.bytes(of: slot)
        for index in bytes.indices { bytes[index] = UInt8(truncatingIfNeeded: index &* 7 >> 4 &+ sent &* 3) }
        slots[UInt64(sent)] = slot
        let layout = FrameLayout.packed(.yu12, width: Self.width, height: Self.height, base: slot.offset).layout
        try session.encode(
            EncodeFrame(frameID: UInt64(sent), pts: Int64(sent), duration: 1, poolID: 1, layout: layout))
        sent += 1
    }

    /// Handles one event, if one comes in time.
    func pump(_ timeout: Duration) throws {
        switch try session.nextEvent(timeout: timeout) {
        case .frameReleased(let frame): if let slot = slots.removeValue(forKey: frame) { pool.release(slot) }
        case .packet(let packet):
            try digest.add(packet.bytes)
            try session.release(packet)
            packets += 1
            if packets == 1 { write(1, "running\n", 8) }
        case .completed: isCompleted = true
        case .formatDescription, nil: break
        }
    }

    /// Completes the session and returns the digest of its packets.
    func finish() throws -> String {
        try session.complete()
        let deadline = MonotonicTime.now + .seconds(hang)
        while !isCompleted {
            guard MonotonicTime.now < deadline else { throw Finding("the session does not complete") }
            try pump(.seconds(1))
        }
        guard packets == sent else { throw Finding("\(packets) packets of \(sent) frames") }
        return try digest.text()
    }
}

/// md5sum(1).
private final class MD5 {
    private let process: ChildProcess
    private let input: OwnedFD
    private let output: OwnedFD

    init() throws {
        let pipe = try UnixSocket.pair()
        let result = try UnixSocket.pair()
        try pipe.first.setNonblocking(false)
        try pipe.second.setNonblocking(false)
        try result.second.setNonblocking(false)
        process = try ChildProcess(
            spawning: "/usr/bin/md5sum",
            files: [ChildProcess.File(pipe.first.rawValue, as: 0), ChildProcess.File(result.first.rawValue, as: 1)])
        let number = pipe.second.rawValue
        input = try OwnedFD.duplicate(number)
        output = try OwnedFD.duplicate(result.second.rawValue)
    }

    func add(_ bytes: UnsafeRawBufferPointer) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = write(input.rawValue, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
            guard count > 0 else { throw Finding("md5sum does not read: errno \(errno)") }
            rest = rest.dropFirst(count)
        }
    }

    func text() throws -> String {
        shutdown(input.rawValue, Int32(SHUT_WR))
        guard try process.wait(until: MonotonicTime.now + .seconds(hang)) == .exited(0) else {
            throw Finding("md5sum failed")
        }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(output.rawValue, &buffer, buffer.count)
        return String(decoding: buffer.prefix(max(0, count)).prefix(32), as: UTF8.self)
    }
}
