// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDModel
internal import HWDTransport

/// How long a program's sessions wait for places, and when work that uses several sessions begins again.
package struct SessionPolicy: Sendable {
    /// How long a session may wait for a place; zero: not at all.
    package var maxWait: Duration
    /// Called with a refusal before the daemon is asked again.
    package var willAskAgain: @Sendable (ClientError) -> Void

    package init(
        maxWait: Duration = .zero, willAskAgain: @escaping @Sendable (ClientError) -> Void = { _ in }
    ) {
        (self.maxWait, self.willAskAgain) = (maxWait, willAskAgain)
    }

    /// How long a program that has a session waits for another one: were it longer, programs with one each could wait for each
    /// other.
    private static let maxWaitWithOthers = Duration.milliseconds(500)
    private static let pauses = 0.5...2.0

    /// How long a session may wait, by whether the program has others.
    func wait(hasOthers: Bool) -> Duration { hasOthers ? min(maxWait, Self.maxWaitWithOthers) : maxWait }

    /// Pauses before the daemon, which has refused a session, is asked again.
    ///
    /// - Throws: the refusal, where another call would be too late or cannot help.
    func pause(after refusal: ClientError, until deadline: MonotonicTime) throws(ClientError) {
        let next = MonotonicTime.now + Self.pause()
        guard refusal.exitStatus == .tryLater, next < deadline else { throw refusal }
        willAskAgain(refusal)
        next.sleep()
    }

    /// Does work that uses several sessions, and does it again as the error says that ended it: once for each kind of session whose
    /// hardware failed, and as long as it may wait where it got some of its sessions only.
    ///
    /// - Parameter mayRepeat: whether the work can begin again, with this remedy.
    package func run(
        repeatingIf mayRepeat: (ClientError.Remedy, ClientError) throws -> Bool, _ work: () throws -> Void
    ) throws {
        let deadline = MonotonicTime.now + maxWait
        var replaced: Set<SessionKind> = []
        while true {
            do { return try work() } catch let error as ClientError {
                let next = MonotonicTime.now + Self.pause()
                let isPossible =
                    switch error.remedy {
                    case nil: false
                    case .places: next < deadline
                    case .software(let kind): replaced.insert(kind).inserted
                    }
                guard isPossible, let remedy = error.remedy, try mayRepeat(remedy, error) else { throw error }
                if remedy == .places { next.sleep() }
            }
        }
    }

    /// Random, so that programs that were refused at the same time do not ask at the same time again.
    private static func pause() -> Duration { .milliseconds(Int64(Double.random(in: pauses) * 1000)) }
}

extension MonotonicTime {
    /// What is left until this time; zero once it has passed.
    var rest: Duration { .nanoseconds(Int64(clamping: nanoseconds(since: .now))) }

    /// Blocks the thread until this time.
    func sleep() { usleep(UInt32(clamping: nanoseconds(since: .now) / 1000)) }
}
