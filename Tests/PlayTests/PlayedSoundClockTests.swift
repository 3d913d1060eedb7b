// SPDX-License-Identifier: GPL-2.0-or-later
import HWDPlaying
import HWOutput
import Testing

/// The pictures' clock beside a sound's.
struct PlayedSoundClockTests {
    @Test func aClockThatFollowsNothingIsTheHosts() {
        let host = ManualClock(5_000)
        let clock = PlayedSoundClock(host)
        host.set(7_000)
        #expect(clock.now == 7_000)
        #expect(clock.moved(1) == 1)
    }

    /// A device that takes 60 ms to start: the pictures wait for all of it.
    @Test func theStartOfASoundIsTakenAtOnce() {
        let clock = PlayedSoundClock(ManualClock(1_000_000_000))
        clock.follow(-60_000_000, isFirst: true)
        #expect(clock.now == 940_000_000)
    }

    /// A device whose clock is slower by 200 ppm, and a step of 300 ms in it.
    @Test func picturesStayBesideTheSound() {
        let host = ManualClock()
        let clock = PlayedSoundClock(host)
        var worst: Int64 = 0
        for refresh in Int64(1)...3600 {
            host.set(refresh * 16_666_667)
            let step: Int64 = refresh < 1800 ? 0 : 300_000_000
            let heard = host.now - host.now / 5000 + step
            let ahead = heard - clock.now
            clock.follow(ahead, isFirst: refresh == 1)
            if refresh != 1800 { worst = max(worst, abs(ahead)) }
        }
        // 16 refreshes of 3.3 µs.
        #expect(worst < 60_000, "\(worst) ns")
    }
}
