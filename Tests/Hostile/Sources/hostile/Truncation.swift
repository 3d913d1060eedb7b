// SPDX-License-Identifier: GPL-2.0-or-later
import CHostile
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Synchronization

/// `truncate N`: makes N attacks on the memory that a worker reads; the worker must refuse or survive each.
func truncation(count: Int, seed: UInt64) throws {
    let broker = try Broker()
    let before = broker.openFiles
    var random = Randomness(seed: seed)
    var tally: [String: Int] = [:]
    let attacks: [(String, (Broker, inout Randomness) throws -> String)] =
        [
            ("a sealed pool under fire", poolUnderFire), ("a sealed pool under fire", poolUnderFire),
            ("a pool that shrinks while it is registered", shrinkingPool), ("the worker's packet arena", arena),
        ] + unfitFiles.map { name, make in (name, { try unfit($0, name, make, &$1) }) }
    for number in 0..<count {
        let (name, attack) = attacks[number % attacks.count]
        let outcome = try attack(broker, &random)
        tally["\(name): \(outcome)", default: 0] += 1
        try broker.expectAlive()
    }
    for (outcome, count) in tally.sorted(by: { $0.key < $1.key }) { print("  \(count) × \(outcome)") }
    guard broker.hasNoChildren() else { throw Finding("workers are left: \(broker.children)") }
    let after = broker.openFiles(settlingTo: before)
    print("  no worker died; broker's descriptors \(before) before, \(after) after")
    guard after <= before else { throw Finding("the broker keeps descriptors") }
    try broker.stop()
}

/// Encodes frames while another thread modifies their memory in every way that the kernel allows.
private func poolUnderFire(_ broker: Broker, _ random: inout Randomness) throws -> String {
    let session = try Session(broker.address, width: 320, height: 180)
    let size = FrameLayout.packed(.yu12, width: 320, height: 180).size
    let file = OwnedDescriptor(hostile_memfd(0))
    guard ftruncate(file.number, size) == 0, hostile_add_seals(file.number, HOSTILE_SEAL_SHRINK) == 0 else {
        throw Finding("no memfd for a pool: errno \(errno)")
    }
    let number = file.number
    let seed = random.next()
    let shared = Attack()
    let attacker = try Thread.spawn(name: "attacker") {
        var random = Randomness(seed: seed)
        let noise = random.bytes(4096)
        while !shared.isDone.withLock({ $0 }) {
            let place = random.below(size)
            switch random.below(5) {
            case 0: if ftruncate(number, place) == 0 { shared.shrunk.withLock { $0 = true } }
            case 1: _ = hostile_punch_hole(number, off_t(place & ~4095), 1 << 16)
            case 2: _ = pwrite(number, noise, min(noise.count, size - place), place)
            case 3: _ = hostile_punch_hole(number, 0, off_t(size))
            default:
                if let map = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, number, 0), map != MAP_FAILED {
                    memset(map, Int32(random.byte()), size)
                    madvise(map, size, MADV_REMOVE)
                    munmap(map, size)
                }
            }
        }
    }
    defer {
        shared.isDone.withLock { $0 = true }
        attacker.join()
    }
    session.send(AddPool(poolID: 1, size: UInt64(size)), fds: [number])
    for frame in 0..<8 { session.send(session.frame(frame)) }
    guard try session.reply(to: session.send(CompleteFrames()))?.status == .ok else {
        throw Finding("a session under fire did not complete: \(try broker.expectOrderlyEnd(session.id).reason)")
    }
    try session.finish()
    try broker.expectOrderlyEnd(session.id)
    if shared.shrunk.withLock({ $0 }) { throw Finding("a sealed pool could be truncated") }
    return "8 frames encoded, every ftruncate refused"
}

/// State shared by the attacking thread and the session.
private final class Attack: Sendable {
    let isDone = Mutex(false)
    let shrunk = Mutex(false)
}

/// Shrinks and then seals a pool after sending it: the worker must not use a size that it read before the seal.
private func shrinkingPool(_ broker: Broker, _ random: inout Randomness) throws -> String {
    let session = try Session(broker.address)
    let file = OwnedDescriptor(hostile_memfd(0))
    let size = 1 << 20
    guard ftruncate(file.number, size) == 0 else { throw Finding("ftruncate: errno \(errno)") }
    session.send(AddPool(poolID: 1, size: UInt64(size)), fds: [file.number])
    // A random time within the worker's checks of the file.
    let until = MonotonicTime.now.nanoseconds + UInt64(random.below(60_000))
    while MonotonicTime.now.nanoseconds < until {}
    _ = ftruncate(file.number, 0)
    _ = hostile_add_seals(file.number, HOSTILE_SEAL_SHRINK)
    session.send(session.frame(0))
    session.send(CompleteFrames())
    try session.finish()
    let result = try broker.expectOrderlyEnd(session.id)
    guard result.code != 0 else { throw Finding("a pool that had shrunk was accepted") }
    return "refused"
}

/// Attacks the packet arena through the client's descriptor, which must not change the worker's memory.
private func arena(_ broker: Broker, _ random: inout Randomness) throws -> String {
    let session = try Session(broker.address)
    // The worker sends its arena after the client's first message.
    let pool = try SharedMemory(creating: "hostile-pool", size: 1 << 16)
    _ = session.addPool(pool)
    guard let message = try session.next(), message.opcode == Opcode.addArena.rawValue, let file = message.file
    else { throw Finding("the worker sent no arena") }
    var byte: UInt8 = 0xFF
    let map = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
    guard ftruncate(file, 0) != 0, ftruncate(file, 1 << 30) != 0, hostile_punch_hole(file, 0, 4096) < 0,
        pwrite(file, &byte, 1, 0) < 0, map == MAP_FAILED, hostile_add_seals(file, HOSTILE_SEAL_WRITE) < 0
    else { throw Finding("the packet arena can be changed by the client") }
    for frame in 0..<4 { session.send(session.frame(frame)) }
    guard try session.reply(to: session.send(CompleteFrames()))?.status == .ok else {
        throw Finding("the session whose arena was attacked did not complete")
    }
    try session.finish()
    try broker.expectOrderlyEnd(session.id)
    return "every change refused by the kernel, 4 frames encoded"
}

/// Files that the worker must refuse as pools.
private let unfitFiles: [(String, @Sendable () -> Int32)] = [
    ("an unsealed memfd", { sized(hostile_memfd(0)) }),
    ("a memfd sealed against writing only", { sealed(sized(hostile_memfd(0)), HOSTILE_SEAL_WRITE) }),
    ("a memfd sealed against growing only", { sealed(sized(hostile_memfd(0)), HOSTILE_SEAL_GROW) }),
    ("a memfd of huge pages", { sealed(sized(hostile_memfd(1)), HOSTILE_SEAL_SHRINK) }),
    ("a sparse file of a disk", { sized(temporary("/var/tmp")) }),
    ("a file of /dev/shm", { sized(temporary("/dev/shm")) }),
    ("/dev/zero", { open("/dev/zero", O_RDWR) }), ("a directory", { open("/", O_RDONLY | O_DIRECTORY) }),
    ("a path", { open("/etc/passwd", HOSTILE_O_PATH) }), ("a file of /proc", { open("/proc/self/mem", O_RDWR) }),
    ("a socket", { socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }),
    (
        "a pipe",
        {
            var ends: [Int32] = [-1, -1]
            guard pipe(&ends) == 0 else { return -1 }
            close(ends[1])
            return ends[0]
        }
    ),
]

/// Sends a file as a pool and may shrink it at once: the worker must refuse it.
private func unfit(
    _ broker: Broker, _ name: String, _ make: () -> Int32, _ random: inout Randomness
) throws -> String {
    let file = OwnedDescriptor(make())
    guard file.number >= 0 else { return "not available on this machine" }
    let session = try Session(broker.address)
    session.send(AddPool(poolID: 1, size: 1 << 16), fds: [file.number])
    if random.chance(50) { _ = ftruncate(file.number, 0) }
    session.send(session.frame(0))
    session.send(CompleteFrames())
    try session.finish()
    let result = try broker.expectOrderlyEnd(session.id)
    guard result.code != 0 else { throw Finding("\(name) was accepted as a pool") }
    return "refused"
}

private func sized(_ file: Int32) -> Int32 {
    guard file >= 0 else { return file }
    _ = ftruncate(file, 2 << 20)
    return file
}

private func sealed(_ file: Int32, _ seals: Int32) -> Int32 {
    guard file >= 0 else { return file }
    _ = hostile_add_seals(file, seals)
    return file
}

private func temporary(_ folder: String) -> Int32 {
    var name = Array("\(folder)/hwd-hostile-XXXXXX".utf8CString)
    let file = mkstemp(&name)
    if file >= 0 { unlink(name) }
    return file
}
