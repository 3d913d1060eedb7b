// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDModel
internal import Synchronization

/// How this process creates sessions, by the options `--priority`, `--wait`, `--max-wait` and `--hardware`.
enum SessionRequest {
    private static let waitMilliseconds = Atomic<Int>(0)
    private static let background = Atomic<Bool>(false)

    /// How long a session may wait for a slot.
    static var wait: Duration {
        get { .milliseconds(waitMilliseconds.load(ordering: .relaxed)) }
        set { waitMilliseconds.store(Int(newValue / .milliseconds(1)), ordering: .relaxed) }
    }

    /// Whether the sessions run in the background.
    static var isBackground: Bool {
        get { background.load(ordering: .relaxed) }
        set { background.store(newValue, ordering: .relaxed) }
    }

    private static let hardware = Atomic<Bool>(false)

    /// Whether the command ends where its sessions have no hardware.
    static var requiresHardware: Bool {
        get { hardware.load(ordering: .relaxed) }
        set { hardware.store(newValue, ordering: .relaxed) }
    }

    /// The properties of every session.
    static var properties: [PropertyKey: PropertyValue] { isBackground ? [.priority: .string("background")] : [:] }

    /// How the client library waits for slots.
    static var policy: SessionPolicy {
        SessionPolicy(maxWait: wait) { Console.detail("waiting for a slot: \($0.reason)") }
    }

    /// A daemon whose sessions wait for a slot if that is wanted.
    static func findDaemon() throws -> Daemon { try findDaemon(beginsAgain: false) }

    /// As `findDaemon()`.
    ///
    /// - Parameter beginsAgain: whether work begins again that found no slot for a further session.
    static func findDaemon(beginsAgain: Bool) throws -> Daemon {
        var policy = policy
        policy.beginsAgain = beginsAgain
        return Daemon(try Daemon.findAndReport(requiresHardware: requiresHardware), policy)
    }
}
