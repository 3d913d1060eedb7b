// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDHEVC
import Testing

/// Pictures that pass while the limit changes (H.265 7.4.2.2).
@Suite struct LevelGateTests {
    /// Takes types, levels, limits, and whether each picture passes.
    private func check(_ steps: [(NALUnitType, Int, Int, Bool)], _ note: Comment? = nil) {
        var gate = LevelGate()
        for (number, step) in steps.enumerated() {
            let passes = gate.admits(step.0, level: step.1, limit: step.2)
            #expect(passes == step.3, "step \(number): \(step) \(note ?? "")")
        }
    }

    @Test func appliesALowerLimitAtOnce() {
        check([
            (.idrWRADL, 0, 6, true), (.trailR, 0, 6, true), (.tsaR, 1, 6, true), (.tsaN, 2, 6, true),
            (.tsaN, 2, 1, false), (.tsaR, 1, 1, true), (.trailR, 0, 0, true), (.tsaR, 1, 0, false),
        ])
    }

    @Test func resumesEveryLevelAtAKeyFrame() {
        check([
            (.idrWRADL, 0, 0, true), (.trailN, 2, 0, false), (.trailN, 2, 6, false), (.craNUT, 0, 6, true),
            (.trailR, 0, 6, true), (.trailN, 2, 6, true),
        ])
    }

    @Test func admitsLeadingPicturesByTheLevelsBeforeTheKeyFrame() {
        check([
            (.idrWRADL, 0, 1, true), (.tsaR, 1, 1, true), (.craNUT, 0, 6, true), (.raslR, 0, 6, true),
            (.raslR, 1, 6, true), (.raslN, 2, 6, false), (.radlN, 2, 6, true), (.trailN, 2, 6, true),
        ])
        check([
            (.idrWRADL, 0, 6, true), (.craNUT, 0, 6, true), (.raslN, 3, 6, true), (.raslN, 3, 2, false),
            (.raslN, 3, 6, false), (.trailR, 0, 6, true), (.tsaN, 3, 6, true),
        ])
    }

    @Test func resumesLevelsAtSwitchingPictures() {
        // TSA: its level and all levels above.
        check([
            (.idrWRADL, 0, 0, true), (.trailR, 0, 6, true), (.trailN, 1, 6, false), (.tsaR, 1, 6, true),
            (.trailN, 3, 6, true),
        ])
        // STSA: its own level only.
        check([
            (.idrWRADL, 0, 0, true), (.trailR, 0, 6, true), (.stsaR, 1, 6, true), (.trailN, 2, 6, false),
            (.stsaN, 2, 6, true), (.trailN, 1, 6, true), (.trailN, 2, 6, true),
        ])
        // Neither resumes levels beyond the next one or above the limit.
        check([
            (.idrWRADL, 0, 0, true), (.tsaN, 2, 6, false), (.tsaN, 3, 6, false), (.tsaR, 1, 2, true),
            (.tsaN, 2, 2, true), (.tsaN, 3, 2, false),
        ])
    }

    @Test func admitsEverythingWithoutALimit() {
        var gate = LevelGate()
        for type in NALUnitType.allCases where type.isSlice {
            for level in 0...6 {
                let passes = gate.admits(type, level: level, limit: 6)
                #expect(passes)
            }
        }
    }
}
