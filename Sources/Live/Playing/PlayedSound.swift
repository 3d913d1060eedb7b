// SPDX-License-Identifier: GPL-2.0-or-later
package import HWOutput
internal import Synchronization

/// Sound beside the pictures.
///
/// Item and host times are in nanoseconds; host times are of CLOCK_MONOTONIC.
package protocol PlayedSound: AnyObject, Sendable {
    /// Gets ready to be heard from an item time on; silent until `start`.
    func prepare(_ item: Int64)
    /// What belongs to an item time is heard at a host time, or as soon after it as the device can.
    func start(_ item: Int64, at host: Int64)
    /// Silence from now on.
    func stop()
    /// What is heard at a host time, the latest that is known; nil while nothing is heard.
    var position: (item: Int64, host: Int64)? { get }
    /// 0 to 1, by which samples are multiplied.
    func setVolume(_ volume: Double)
    /// What people should know, once each.
    func takeNotes() -> [String]
    /// What was heard; nil before anything was.
    var heard: PlayReceipt.Sound? { get }
}

/// The host's clock, moved so that the pictures follow the sound.
package final class PlayedSoundClock: OutputClock {
    private let clock: any OutputClock
    private let offset = Atomic<Int64>(0)

    /// Errors above this are taken at once, like those of a sound that begins, as its device had to start.
    private static let jump: Int64 = 100_000_000
    /// What is left of an error after each refresh: (n − 1)/n.
    private static let smoothing: Int64 = 16

    /// A clock that runs as another one does, until a sound is followed.
    package init(_ clock: any OutputClock) { self.clock = clock }

    package var now: Int64 { moved(clock.now) }

    /// The time of this clock at a time of the other one.
    package func moved(_ host: Int64) -> Int64 { host &+ offset.load(ordering: .relaxed) }

    /// Moves the clock by a part of what the sound is ahead of the pictures, or by all of it.
    /// - Parameter isFirst: whether the sound has just begun.
    package func follow(_ ahead: Int64, isFirst: Bool) {
        let isWhole = isFirst || ahead.magnitude > Self.jump.magnitude
        offset.wrappingAdd(isWhole ? ahead : ahead / Self.smoothing, ordering: .relaxed)
    }
}
