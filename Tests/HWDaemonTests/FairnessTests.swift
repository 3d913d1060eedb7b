// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDModel
import HWDTransport
import HWDWire
import Logging
import Testing

@testable import HWDaemon

@Suite("Turns and quotas of users")
struct FairnessTests {
    @Test func usersTakeTurnsHoweverMuchWorkOneHas() {
        var queue = TurnQueue<String>()
        let now = MonotonicTime.now
        func next() -> String? { queue.next(now: now)?.work }
        for number in 0..<60 { queue.append("a\(number)", of: 1) }
        queue.append("b0", of: 2)
        queue.append("b1", of: 2)
        queue.append("c0", of: 3)
        #expect((0..<8).map { _ in next() } == ["a0", "b0", "c0", "a1", "b1", "a2", "a3", "a4"])
        // A user that comes back is behind the one whose turn is next.
        queue.append("b2", of: 2)
        #expect(next() == "a5")
        #expect(next() == "b2")
        #expect((6..<60).allSatisfy { next() == "a\($0)" })
        #expect(next() == nil && queue.nextTurn(now: now) == nil)
    }

    @Test func aUsersWorkGetsAQuarterOfAProcessorAfterABurst() {
        var queue = TurnQueue<Int>()
        var now = MonotonicTime(nanoseconds: 1_000_000_000)
        let start = now
        var served = 0
        // A user that always has work of 1 ms, for 10 s.
        while now < start + .seconds(10) {
            queue.append(0, of: 1)
            if let (user, _) = queue.next(now: now) {
                served += 1
                now = now + .milliseconds(1)
                queue.charge(user, 1_000_000, now: now)
            } else {
                // Another user is not affected.
                queue.append(1, of: 2)
                #expect(queue.next(now: now)?.user == 2)
                let next = queue.nextTurn(now: now)
                #expect(next.map { $0 > now } == true)
                now = next ?? now + .milliseconds(1)
            }
        }
        #expect(2500...2520 ~= served)
    }

    @Test func theLoopServesAnotherUsersCallAfterOneOfAFlood() throws {
        let loop = try EventLoop()
        var served: [String] = []
        func flood() {
            served.append("flood")
            if served.count < 100_000 { loop.schedule(user: 1, flood) }
        }
        for _ in 0..<60 { loop.schedule(user: 1, flood) }
        // Events and timers are handled in between, and the other user is next.
        _ = loop.after(.milliseconds(1)) {
            let before = served.count
            loop.schedule(user: 2) {
                served.append("call")
                #expect(served.count <= before + 2)
                loop.stop()
            }
        }
        try loop.run()
        #expect(served.last == "call")
    }

    @Test func aClientThatHangsUpBeforeItsTurnIsClosedAtOnce() throws {
        let loop = try EventLoop()
        let pair = try UnixSocket.pair()
        let peer = try PeerCredentials(of: pair.first.rawValue)
        let client = dup(pair.second.rawValue)
        defer { close(client) }
        var order: [String] = []
        // Overdraws the user's account by several hundred milliseconds: its next turn is far away.
        loop.schedule(user: peer.uid) {
            let start = ProcessControl.threadTime
            while ProcessControl.threadTime - start < 100_000_000 {}
        }
        loop.schedule(user: peer.uid) {
            order.append("turn")
            loop.stop()
        }
        let connection = try ClientConnection(
            pair.first, peer: peer, loop: loop, logger: Logger(label: "test"),
            onCall: { _, _ in order.append("call") }, onClose: { _ in order.append("closed") })
        let method = "org.varlink.service.GetInfo"
        let call = try VarlinkCall.encode(method: method, parameters: [String: String]()) + [0]
        try #require(call.withUnsafeBytes { send(client, $0.baseAddress, $0.count, 0) } == call.count)
        try #require(shutdown(client, Int32(SHUT_RDWR)) == 0)
        let before = ProcessControl.threadTime
        try loop.run()
        #expect(order == ["closed", "turn"])
        #expect(connection.isClosed)
        // The loop sleeps until the turn instead of handling the hang-up again and again.
        #expect(ProcessControl.threadTime - before < 200_000_000)
    }

    @Test func keepsTheLastForRootAndForEachUsersFirst() {
        let quota = UserQuota(total: 64, perUser: 16)
        #expect(quota.obstacle(uid: 1000, own: 1, all: 53) == nil)
        #expect(quota.obstacle(uid: 1000, own: 1, all: 54) == .reserved)
        #expect(quota.obstacle(uid: 1000, own: 0, all: 54) == nil)
        #expect(quota.obstacle(uid: 1000, own: 0, all: 61) == nil)
        #expect(quota.obstacle(uid: 1000, own: 0, all: 62) == .reserved)
        #expect(quota.obstacle(uid: 0, own: 5, all: 63) == nil)
        #expect(quota.obstacle(uid: 0, own: 5, all: 64) == .total)
        #expect(quota.obstacle(uid: 0, own: 16, all: 20) == .perUser)
        #expect(quota.obstacle(uid: 1000, own: 16, all: 20) == .perUser)
    }

    @Test("A small quota keeps nothing", arguments: 1...7)
    func aSmallQuotaKeepsNothing(_ total: Int) {
        #expect(UserQuota(total: total, perUser: 8).obstacle(uid: 1000, own: total - 1, all: total - 1) == nil)
    }

    @Test func fourUsersLockOutNeitherAFifthNorRoot() {
        let quota = UserQuota(total: 256, perUser: 64)
        var counts: [UInt32: Int] = [:]
        func take(_ uid: UInt32) -> Bool {
            let (own, all) = (counts[uid] ?? 0, counts.values.reduce(0, +))
            guard quota.obstacle(uid: uid, own: own, all: all) == nil else { return false }
            counts[uid] = own + 1
            return true
        }
        for uid in UInt32(1)...4 { while take(uid) {} }
        #expect(take(5) && !take(5))
        #expect(take(0) && take(0))
    }
}

@Suite("Timeouts of idle clients", .serialized)
struct IdleClientTests {
    @Test func closesAConnectionWithoutACall() throws {
        let broker = try BrokerProcess(["--set", "IdleTimeout=5"])
        let session = try broker.connect()
        _ = try session.create()
        let client = try broker.connect()
        #expect(try client.ask("org.varlink.service.GetInfo").error == nil)
        #expect(try client.isClosed())
        #expect(broker.log.contains("the client made no call for 5 s"))
        // A session is no idle connection, although it was idle for longer.
        #expect(session.isOpen)
    }

    @Test func leavesAConnectionAloneThatWaitsForAReply() throws {
        let loop = try EventLoop()
        let pair = try UnixSocket.pair()
        let peer = try PeerCredentials(of: pair.first.rawValue)
        let client = dup(pair.second.rawValue)
        defer { close(client) }
        let connection = try ClientConnection(
            pair.first, peer: peer, loop: loop, logger: Logger(label: "test"), onCall: { _, _ in loop.stop() },
            onClose: { _ in })
        let method = "org.varlink.service.GetInfo"
        let call = try VarlinkCall.encode(method: method, parameters: [String: String]()) + [0]
        try #require(call.withUnsafeBytes { send(client, $0.baseAddress, $0.count, 0) } == call.count)
        try loop.run()
        // A timeout of zero is over at once.
        connection.closeIfIdle(for: .zero)
        #expect(!connection.isClosed)
        connection.reply(with: [String: String]())
        connection.closeIfIdle(for: .zero)
        #expect(connection.isClosed)
    }

    @Test func endsASessionThatIsNeverPrepared() throws {
        let broker = try BrokerProcess(["--set", "PrepareTimeout=0.3"])
        let client = try broker.connect()
        let id = try client.create()
        let reason = "the client neither registered a pool nor prepared the session within 0.3 s (PrepareTimeout)"
        #expect(try client.rest().contains(reason))
        let end = try broker.result(id)
        #expect(end.reason == reason)
        #expect(end.code == -12903)
    }

    @Test("Zero switches the timeouts off", arguments: ["IdleTimeout", "PrepareTimeout"])
    func zeroSwitchesThemOff(_ setting: String) throws {
        let broker = try BrokerProcess(["--set", "\(setting)=0"])
        let client = try broker.connect()
        // Another daemon, with a timeout, closes a connection that is younger.
        let other = try BrokerProcess(["--set", "\(setting)=1"])
        if setting == "PrepareTimeout" { _ = try client.create() }
        let younger = try other.connect()
        if setting == "PrepareTimeout" { _ = try younger.create() }
        #expect(try younger.isClosed())
        #expect(client.isOpen)
    }
}
