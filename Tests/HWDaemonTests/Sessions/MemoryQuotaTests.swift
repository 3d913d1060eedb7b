// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDTransport
import Testing

@testable import HWDaemon

@Suite("Memory of sessions: admission and grants")
struct MemoryQuotaTests {
    private static let mebibyte: UInt64 = 1 << 20
    private static let quota = MemoryQuota(total: 1000 * mebibyte, isForOneUser: false)

    private static func registry(_ memory: MemoryQuota = quota) -> SessionRegistry {
        SessionRegistry(limits: .init(quota: .init(total: 64, perUser: 64), memory: memory))
    }

    private static func session(_ id: String, uid: UInt32, _ megabytes: UInt64) -> SessionRegistry.Running {
        var session = SessionRegistry.Running.small(id, uid: uid)
        session.memory = megabytes * mebibyte
        return session
    }

    @Test("One user has half, all users together everything")
    func admission() throws {
        var registry = Self.registry()
        try registry.admit(uid: 1, memory: 500 * Self.mebibyte)
        registry.add(Self.session("a", uid: 1, 400))
        let own = #expect(throws: Refusal.self) { try registry.admit(uid: 1, memory: 101 * Self.mebibyte) }
        #expect(own?.cause == .maxMemoryPerUser)
        #expect(own?.error.status == .videoEncoderNotAvailableNow)
        #expect(
            own?.error.reason
                == "the session needs 101 MiB of memory, and the other sessions of user 1 have 400 MiB of the 500 MiB "
                + "that one user may have (half of MaxMemory)")
        try registry.admit(uid: 2, memory: 101 * Self.mebibyte)
        registry.add(Self.session("b", uid: 2, 500))
        let all = #expect(throws: Refusal.self) { try registry.admit(uid: 3, memory: 101 * Self.mebibyte) }
        #expect(all?.cause == .maxMemory)
        #expect(
            all?.error.reason
                == "the session needs 101 MiB of memory, and the others have 900 MiB of the 1,000 MiB that all sessions "
                + "may have (MaxMemory)")
        registry.finish("a", SessionEnd(status: .ok, reason: "", framesIn: 0, framesOut: 0), now: .now)
        try registry.admit(uid: 3, memory: 500 * Self.mebibyte)
    }

    @Test("A private daemon's only user has all")
    func onlyUser() throws {
        let registry = Self.registry(MemoryQuota(total: 1000 * Self.mebibyte, isForOneUser: true))
        try registry.admit(uid: 1, memory: 1000 * Self.mebibyte)
        let refusal = #expect(throws: Refusal.self) { try registry.admit(uid: 1, memory: 1001 * Self.mebibyte) }
        #expect(
            refusal?.error.reason.hasSuffix("have 0 MiB of the 1,000 MiB that one user may have (MaxMemory)")
                == true)
    }

    @Test("A session gets what it wants, else what is left, else nothing and a reason")
    func grants() {
        var registry = Self.registry()
        registry.add(Self.session("a", uid: 1, 100))
        registry.add(Self.session("b", uid: 1, 200))
        func ask(_ needed: UInt64, _ wanted: UInt64) -> (granted: UInt64, refusal: String?) {
            let (decision, refusal) = registry.grant(
                "a", needed: needed * Self.mebibyte, wanted: wanted * Self.mebibyte, picture: 1)
            return ((decision.granted ?? 0) / Self.mebibyte, refusal)
        }
        #expect(ask(120, 150) == (150, nil))
        #expect(ask(250, 400) == (300, nil))
        #expect(ask(100, 100) == (300, nil), "nothing is taken back")
        let refused = ask(301, 400)
        #expect(refused.granted == 300)
        #expect(
            refused.refusal
                == "the session needs 301 MiB of memory, and the other sessions of user 1 have 200 MiB of the 500 MiB "
                + "that one user may have (half of MaxMemory)")
        #expect(registry.running["a"]?.memory == 300 * Self.mebibyte)
        #expect(registry.grant("gone", needed: 1, wanted: 1, picture: 0).decision.granted == 0)
    }

    @Test("Claims of a hostile process do not overflow, and take nothing from others")
    func hostile() {
        var registry = Self.registry()
        registry.add(Self.session("a", uid: 1, 100))
        #expect(registry.grant("a", needed: .max, wanted: .max, picture: .max).refusal != nil)
        #expect(registry.grant("a", needed: 0, wanted: .max, picture: .max).decision.granted == 500 * Self.mebibyte)
        // A limit that was lowered while sessions run.
        registry.limits.memory = MemoryQuota(total: 10, isForOneUser: false)
        #expect(registry.grant("a", needed: 1, wanted: 1, picture: 0).decision.granted == 500 * Self.mebibyte)
    }

    @Test("Claims without a limit do not overflow, also when one is set later")
    func hostileWithoutLimit() throws {
        var registry = Self.registry(.unlimited)
        for id in ["a", "b", "c"] {
            registry.add(Self.session(id, uid: id == "c" ? 2 : 1, 100))
            #expect(registry.grant(id, needed: .max, wanted: .max, picture: 0).decision.granted == nil)
            #expect(registry.running[id]?.memory == 1 << 44)
        }
        registry.limits.memory = Self.quota
        #expect(throws: Refusal.self) { try registry.admit(uid: 1, memory: 1) }
        #expect(throws: Refusal.self) { try registry.admit(uid: 3, memory: 1) }
        let usage = MemoryQuota.Usage(others: .max, otherUsers: .max)
        #expect(Self.quota.decide(usage, needed: 1, wanted: 1).obstacle != nil)
    }

    @Test("Without a limit every session gets what it asks for")
    func unlimited() throws {
        var registry = Self.registry(.unlimited)
        try registry.admit(uid: 1, memory: .max)
        registry.add(Self.session("a", uid: 1, 100))
        let (decision, refusal) = registry.grant("a", needed: 7, wanted: 9, picture: 0)
        #expect(decision.granted == nil && refusal == nil)
    }

    @Test("The reason of a killed process names its memory where that was near the bound")
    func killed() {
        func reason(_ used: UInt64, reported: SessionError? = nil, stopped: SessionError? = nil) -> String {
            SessionEnd.error(
                reported: reported, stopped: stopped, exit: .signaled(6), .compression,
                memory: .init(used: used * Self.mebibyte, bound: 1234 * Self.mebibyte)
            ).reason
        }
        #expect(
            reason(900)
                == "the encoder process was killed by signal 6 (SIGABRT); it had 900 MiB of private memory, of the 1,234 "
                + "MiB that its session may use")
        #expect(reason(100) == "the encoder process was killed by signal 6 (SIGABRT)")
        #expect(reason(900, reported: SessionError(.ok, "closed")) == "closed")
        #expect(reason(900, stopped: SessionError(.parameter, "stalled")) == "stalled")
    }

    @Test(
        "MaxMemory takes sizes, shares and unlimited",
        arguments: [
            ("2G", MemoryLimit.bytes(2 << 30)), ("50%", .percent(50)), ("100%", .percent(100)),
            ("unlimited", .unlimited), ("", .percent(75)),
        ])
    func setting(_ text: String, _ expected: MemoryLimit) throws {
        var settings = Settings()
        try settings.set("MaxMemory", to: text, base: Settings())
        #expect(settings.maxMemory == expected)
        let row = try #require(SettingsTable.row("MaxMemory"))
        if !text.isEmpty { #expect(row.show(settings) == text) }
    }

    @Test("MaxMemory refuses anything else", arguments: ["0", "0%", "101%", "1M", "-1", "%", "5 %x", "infinity"])
    func wrongSetting(_ text: String) {
        var settings = Settings()
        #expect(throws: SettingFault.self) { try settings.set("MaxMemory", to: text, base: Settings()) }
    }

    @Test func sharesAreOfTheAvailableMemory() {
        #expect(MemoryLimit.percent(75).resolved(available: 1000 << 20) == 750 << 20)
        #expect(MemoryLimit.percent(1).resolved(available: 1000 << 20) == 256 << 20)
        #expect(MemoryLimit.bytes(5).resolved(available: 1000) == 5)
        #expect(MemoryLimit.unlimited.resolved(available: 1000) == nil)
        #expect(MemoryLimit.available > 64 << 20)
    }

    @Test("The limits of a control group and of those above it count, in both versions")
    func groups() {
        #expect(
            MemoryLimit.groupFolders("0::/system.slice/hwdaemon.service\n")
                == [
                    "/sys/fs/cgroup", "/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/system.slice/hwdaemon.service",
                ])
        #expect(
            MemoryLimit.groupFolders("5:cpu:/a\n4:memory:/a\nnonsense\n0::/../b\n")
                == ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/memory/a", "/sys/fs/cgroup"])
    }
}
