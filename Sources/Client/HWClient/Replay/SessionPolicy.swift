// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWDModel
internal import HWDTransport

/// How long a program's sessions wait for slots, and when work that failed is begun again.
package struct SessionPolicy: Sendable {
    /// How long a session may wait for a slot; zero: not at all.
    package var maxWait: Duration
    /// Called with a refusal before the daemon is asked again.
    package var willAskAgain: @Sendable (ClientError) -> Void
    /// Whether work that found no slot for a further session begins again (`run`), so that such a session waits only briefly.
    package var beginsAgain = false

    package init(
        maxWait: Duration = .zero, willAskAgain: @escaping @Sendable (ClientError) -> Void = { _ in }
    ) {
        (self.maxWait, self.willAskAgain) = (maxWait, willAskAgain)
    }

    /// How long a program that has a session waits for a slot for another before it begins again: if it waited longer, two
    /// programs that each hold one could wait for each other.
    private static let maxWaitWithOthers = Duration.milliseconds(500)
    /// In seconds.
    private static let pauses = 0.5...2.0

    /// How long a session may wait.
    ///
    /// - Parameter hasOthers: whether the program has other sessions.
    func wait(hasOthers: Bool) -> Duration {
        hasOthers && beginsAgain ? min(maxWait, Self.maxWaitWithOthers) : maxWait
    }

    /// Blocks the thread for 0.5 to 2 s before the daemon, which has refused a session, is asked again.
    ///
    /// - Throws: the refusal, where the pause would end after the deadline or another call cannot help.
    func pause(after refusal: ClientError, until deadline: MonotonicTime) throws(ClientError) {
        let next = MonotonicTime.now + Self.pause()
        guard refusal.exitStatus == .tryLater, next < deadline else { throw refusal }
        willAskAgain(refusal)
        next.sleep()
    }

    /// Does work, and begins it again where its error names a remedy: once for each kind of session whose hardware failed; and,
    /// within `maxWait` of its first start, each time it got only some of the sessions that it needs.
    ///
    /// - Parameters:
    ///   - mayRepeat: prepares the work for another attempt with this remedy; false where it cannot begin again.
    ///   - work: must have ended the sessions that it created when it throws.
    /// - Throws: the error of the last attempt, or one that `mayRepeat` throws.
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
                    case .slots: next < deadline
                    case .software(let kind): replaced.insert(kind).inserted
                    }
                guard isPossible, let remedy = error.remedy, try mayRepeat(remedy, error) else { throw error }
                if remedy == .slots { next.sleep() }
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
