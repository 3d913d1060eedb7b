// SPDX-License-Identifier: MIT
import CHWDLinux
import Glibc
import HWDModel
import HWDSystem
import HWDTransport
import HWDWire
import Testing

/// How long a test waits for what must happen; only a hang takes that long, however slow the machine is.
let hangLimit = Duration.seconds(120)

extension ChildProcess {
    /// How the process ended; nil where it still runs after `hangLimit`.
    func waitForExit() throws(SystemError) -> Exit? { try wait(until: .now + hangLimit) }
}

/// The calling thread's number.
func currentThread() -> Int32 {
    var link = [CChar](repeating: 0, count: 64)
    let length = max(0, readlink("/proc/thread-self", &link, link.count))
    let text = String(decoding: link.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
    return text.split(separator: "/").last.flatMap { Int32($0) } ?? 0
}

/// Waits until a thread of this process sleeps, or for `hangLimit`.
func waitUntilAsleep(_ thread: Int32) {
    let deadline = MonotonicTime.now + hangLimit
    var state = [UInt8](repeating: 0, count: 128)
    while MonotonicTime.now < deadline {
        let file = open("/proc/self/task/\(thread)/stat", O_RDONLY | O_CLOEXEC)
        let count = max(0, read(file, &state, state.count))
        close(file)
        if String(decoding: state.prefix(count), as: UTF8.self).contains(") S ") { return }
        usleep(1000)
    }
}

/// The number of open descriptors, without the listing's and those of the runtime's event thread.
func openFileCount() -> Int {
    // The listing's own descriptor is closed by the time its link is read.
    guard let names = try? Directory.names(in: "/proc/self/fd") else { return -1 }
    var count = 0
    for name in names {
        var link = [CChar](repeating: 0, count: 64)
        let length = readlink("/proc/self/fd/\(name)", &link, link.count)
        guard length > 0 else { continue }
        let target = String(decoding: link.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let isRuntimes = ["[eventfd]", "[eventpoll]", "[timerfd]"].contains { target.hasSuffix($0) }
        count += isRuntimes ? 0 : 1
    }
    return count
}

/// The number of open descriptors once it is down to `limit`, or after `hangLimit`.
///
/// The runtime's own threads open and close descriptors while a test runs.
func openFileCount(settlingTo limit: Int) -> Int {
    let deadline = MonotonicTime.now + hangLimit
    while openFileCount() > limit, MonotonicTime.now < deadline { usleep(10_000) }
    return openFileCount()
}

/// A pipe that detects whether any write end is still open.
final class Witness {
    let readEnd: OwnedFD
    private var writeEnd: OwnedFD?

    init() throws {
        var ends: [Int32] = [-1, -1]
        let made = pipe(&ends)
        try #require(made == 0)
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        readEnd = OwnedFD(ends[0])
        writeEnd = OwnedFD(ends[1])
    }

    var writeNumber: Int32 { writeEnd?.rawValue ?? -1 }

    /// Closes this object's write end.
    func closeWriteEnd() { writeEnd = nil }

    /// Whether no write end is open any more.
    var isClosedEverywhere: Bool {
        var byte: UInt8 = 0
        return read(readEnd.rawValue, &byte, 1) == 0
    }
}

/// Bytes of a header with any values, valid or not.
func rawHeader(length: UInt32, opcode: UInt32 = 7, fdCount: UInt32 = 0, sequence: UInt32 = 0) -> [UInt8] {
    [length, opcode, fdCount, sequence].flatMap { word in
        (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
    }
}

/// Sends bytes and descriptors without a header.
@discardableResult
func rawSend(_ bytes: [UInt8], fds: [Int32] = [], to fd: Int32) -> Int {
    chwd_sendmsg(fd, bytes, bytes.count, nil, 0, fds, fds.count)
}

/// A received message, copied.
struct Copied: Equatable {
    let header: MessageHeader
    let payload: [UInt8]
    var inodes: [UInt64] = []
}

extension MessageChannel {
    /// The next message, with the inodes of its descriptors.
    func nextCopy() throws -> Received<Copied> {
        while true {
            let result = try next { header, payload, fds in
                var inodes: [UInt64] = []
                while let fd = fds.popFirst() { inodes.append(inode(fd.rawValue)) }
                return Copied(header: header, payload: payload.withUnsafeBytes { Array($0) }, inodes: inodes)
            }
            guard case .wouldBlock = result else { return result }
            guard try waitReadable(until: .now + hangLimit) else { return .wouldBlock }
        }
    }
}

extension Received where Value == Copied {
    var copy: Copied? { if case .message(let value) = self { value } else { nil } }
    var isEndOfFile: Bool { if case .endOfFile = self { true } else { false } }
    var isWouldBlock: Bool { if case .wouldBlock = self { true } else { false } }
}

extension Epoll {
    /// Waits for events up to `timeout`.
    func wait(timeout: Duration) throws(SystemError) -> [Event] { try wait(until: .now + timeout) }
}

func inode(_ fd: Int32) -> UInt64 {
    var status = stat()
    return fstat(fd, &status) == 0 ? UInt64(status.st_ino) : 0
}

func memfd(_ size: Int = 0) throws -> OwnedFD {
    let number = chwd_memfd_create("test")
    try #require(number >= 0)
    let fd = OwnedFD(number)
    if size > 0 { try #require(ftruncate(fd.rawValue, size) == 0) }
    return fd
}

/// A new directory, which the caller removes.
func temporaryDirectory() throws -> String {
    var template = Array("/tmp/transport-XXXXXX".utf8CString)
    let made = mkdtemp(&template) != nil
    try #require(made)
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// A random number generator with reproducible results.
struct Xorshift: RandomNumberGenerator {
    var state: UInt64
    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
