// SPDX-License-Identifier: GPL-2.0-or-later
import CHostile
import Glibc
import HWDModel
import HWDTransport
import HWDWire

/// Mutated Varlink calls over many connections.
///
/// The broker closes the connection after a message that is not a call, so such a message is always a connection's last:
/// every message that is counted has been read.
struct CallCampaign {
    let broker: Broker
    var random: Randomness
    /// Connections that stopped in the middle of a call and stay open.
    private var held: [OwnedDescriptor] = []
    private(set) var connections = 0
    private(set) var replies = 0

    init(_ broker: Broker, seed: UInt64) {
        self.broker = broker
        random = Randomness(seed: seed)
    }

    /// Sends one connection's calls.
    ///
    /// - Returns: the number of mutated calls that the broker has read.
    mutating func connection() throws -> Int {
        connections += 1
        let socket = try connect()
        var burst: [UInt8] = []
        var count = 0
        var last: [UInt8] = []
        while count < 24, burst.count < 100_000 {
            let (call, isText) = mutant()
            count += 1
            guard isText, !call.contains(0), let known = try? VarlinkCall(decoding: call), !known.upgrade else {
                last = call
                break
            }
            burst += call + [0]
        }
        // The broker must drop a connection that stays open after half a call.
        let holds = random.chance(1)
        let files: [Int32] = random.chance(3) ? Array(repeating: 0, count: 1 + random.below(8)) : []
        if !last.isEmpty, !holds { last += random.chance(90) ? [0] : [] }
        if !burst.isEmpty { try exchange(socket, burst, fds: []) }
        if !last.isEmpty { try exchange(socket, last, fds: files) }
        if holds {
            held.append(socket)
            if held.count > 4 { held.removeFirst() }
        } else {
            if random.chance(90) { shutdown(socket.number, Int32(SHUT_WR)); try drain(socket) }
        }
        return count
    }

    private func connect() throws -> OwnedDescriptor {
        // The backlog may be full for a moment; the broker closes a connection over its limit, which `read` detects.
        OwnedDescriptor(try UnixSocket.connect(to: broker.address).take())
    }

    /// A mutated call, and whether it is text that may still decode as a call.
    private mutating func mutant() -> (bytes: [UInt8], isText: Bool) {
        let rare = random.below(1000)
        let template = rare < 2 ? Templates.probe : rare < 40 ? Templates.upgrade : random.pick(Templates.calls)
        let donor = random.pick(Templates.calls)
        switch random.below(20) {
        case 0..<12:
            var tree = template
            for _ in 0..<(1 + random.below(3)) { tree = tree.mutated(donor: donor, &random) }
            return (Array(tree.json.utf8), true)
        case 12..<19:
            return (ByteMutation.apply(Array(template.json.utf8), donor: Array(donor.json.utf8), &random), true)
        default:
            return (random.chance(90) ? random.bytes(1 + random.below(300)) : oversized(), false)
        }
    }

    private mutating func oversized() -> [UInt8] {
        Array(repeating: random.pick([0x20, 0x5B, 0x7B, 0x39]), count: 65_530 + random.below(12))
    }

    /// Sends bytes and reads replies meanwhile, so that neither side blocks the other.
    private mutating func exchange(_ socket: OwnedDescriptor, _ bytes: [UInt8], fds: [Int32]) throws {
        var left = bytes[...]
        var files = fds
        let deadline = MonotonicTime.now + .seconds(hang)
        while !left.isEmpty {
            let count = left.withUnsafeBytes {
                hostile_send(socket.number, $0.baseAddress, $0.count, files, files.count)
            }
            if count > 0 {
                files = []
                left = left.dropFirst(count)
            } else if count == -Int(EAGAIN) {
                if try !read(socket, until: deadline, orWritable: true) { return }
            } else {
                return
            }
        }
    }

    private mutating func drain(_ socket: OwnedDescriptor) throws {
        let deadline = MonotonicTime.now + .seconds(hang)
        while try read(socket, until: deadline, orWritable: false) {}
    }

    /// Reads once; false at the end of the connection.
    private mutating func read(
        _ socket: OwnedDescriptor, until deadline: MonotonicTime, orWritable: Bool
    ) throws -> Bool {
        var event = pollfd(fd: socket.number, events: Int16(POLLIN | (orWritable ? POLLOUT : 0)), revents: 0)
        let left = deadline.nanoseconds(since: .now) / 1_000_000
        guard poll(&event, 1, Int32(clamping: left)) != 0 else {
            throw Finding("the broker neither answers nor closes a connection within \(hang) s")
        }
        guard Int32(event.revents) & POLLIN != 0 else { return Int32(event.revents) & POLLOUT != 0 }
        let count = withUnsafeTemporaryAllocation(byteCount: 65536, alignment: 1) { room in
            let count = Glibc.read(socket.number, room.baseAddress, room.count)
            replies += room.prefix(max(0, count)).count { $0 == 0 }
            return count
        }
        return count > 0
    }
}

/// A copyable owner of a descriptor, which arrays can hold.
final class OwnedDescriptor {
    let number: Int32
    init(_ number: Int32) { self.number = number }
    deinit { close(number) }
}
