// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDTransport

/// The options of all commands that create sessions: which others they give way to, and whether they wait for a slot.
struct SessionArguments: ParsableArguments {
    enum Priority: String, ExpressibleByArgument, CaseIterable { case normal, background }

    @Option(
        help: """
            background: the command and its sessions get little of the processors where other programs want them; normal, the \
            default.
            """)
    var priority: Priority?

    @Flag(
        help: """
            Where the daemon has no slot for a session, wait for one, up to an hour, instead of ending with status 75. The \
            user with the fewest sessions is first.
            """)
    var wait = false

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("As --wait, so many seconds at most.", valueName: "seconds"))
    var maxWait: Double?

    /// The longest wait, in seconds: that of a call.
    private static let longestWait = 3600.0

    /// Checks the options, and applies them.
    func validate() throws {
        if let maxWait, !(0...Self.longestWait).contains(maxWait) {
            throw ValidationError("--max-wait takes a number of seconds from 0 to 3600, not \(maxWait).")
        }
        let seconds = maxWait ?? (wait ? Self.longestWait : 0)
        SessionRequest.wait = .milliseconds(Int64(seconds * 1000))
        guard priority == .background else { return }
        SessionRequest.isBackground = true
        // A daemon that this process starts has the same.
        try? ProcessControl.lowerPriority(by: 19)
    }

    /// The given options.
    var words: [OptionWord] {
        [
            OptionWord("--priority", priority?.rawValue), OptionWord("--wait", isGiven: wait),
            OptionWord("--max-wait", maxWait),
        ].compactMap { $0 }
    }
}
