// SPDX-License-Identifier: GPL-2.0-or-later
package import HWClient
package import HWDControlCommands
internal import HWDModel
internal import HWOutput

/// Play without a window, against a clock that waits for each frame: cadences are exact, and a slow machine takes longer.
package struct HeadlessPlay {
    private let setup: PlaySetup
    private let refreshes: Refreshes
    private let clock = ManualClock()

    /// Longer than a daemon takes to replace a process that hangs.
    private static let pictureTimeout = Duration.seconds(120)

    package init(_ setup: PlaySetup) throws(CommandFailure) {
        self.setup = setup
        let text = setup.arguments.displayRate ?? "60"
        guard let rate = Rational(text: text) else {
            throw CommandFailure(.usage, "--display-rate \(text) is not a rate")
        }
        refreshes = Refreshes(rate: rate)
    }

    /// Plays to the end.
    package func run(_ daemon: Daemon) throws -> PlayReceipt {
        let output = try setup.open(daemon, clock: clock)
        let limit = setup.arguments.duration.flatMap(PlayArguments.nanoseconds) ?? .max
        var (refresh, cadence) = (0, Cadence())
        var first: (refresh: Int, item: Int64)?
        while refreshes.time(refresh) < limit {
            clock.set(refreshes.time(refresh))
            let answer = output.copyFrame(waiting: Self.pictureTimeout)
            try setup.report(output.takeEvents())
            if answer.frame != nil {
                if first == nil { first = (refresh, output.itemTime(forHostTime: clock.now)) }
                cadence.show(at: refresh)
            } else if try isOver(answer.reason, hasBegun: first != nil) {
                break
            }
            refresh += 1
        }
        guard first != nil else { throw setup.nothingShown }
        cadence.end(at: refresh)
        var receipt = PlayReceipt(
            file: setup.arguments.file, rate: setup.isPaused ? 0 : setup.arguments.rate,
            format: setup.format.rawValue,
            refreshes: refresh)
        receipt.displayRate = refreshes.rate.value
        receipt.add(output, setup.video.times)
        receipt.add(cadence, ideal: ideal(from: first, refresh))
        return receipt
    }

    /// Whether no frame follows.
    private func isOver(_ reason: NoFrame?, hasBegun: Bool) throws(CommandFailure) -> Bool {
        switch reason {
        case nil, .same: return false
        case .beforeStart: return setup.arguments.rate < 0
        case .afterEnd: return setup.arguments.rate > 0 || !hasBegun
        case .notDecodedYet, .seeking:
            throw CommandFailure(
                .software,
                "\(setup.arguments.file): no picture came within \(Self.pictureTimeout.components.seconds) s")
        }
    }

    /// The cadence by the file's times; nil for a loop, whose frames come several times.
    private func ideal(from first: (refresh: Int, item: Int64)?, _ count: Int) -> Cadence? {
        guard let first, !setup.arguments.loop else { return nil }
        let rate = setup.isPaused ? 0 : Int64((setup.arguments.rate * 1_000_000).rounded())
        return IdealPlay(
            times: setup.video.times.sorted, timeBase: setup.video.timeBase, start: first.item, rate: rate,
            refreshes: refreshes
        ).cadence(first.refresh..<count)
    }
}
