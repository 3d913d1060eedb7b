// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

@Suite struct LevelTests {
    /// H.265 table A.8 and A.9, and the sizes and rates that table A.10 lists as just fitting.
    @Test(arguments: [
        ("HEVC_Main_4_1", 1920, 1080, 60), ("HEVC_Main_4", 1920, 1080, 30), ("HEVC_Main10_5_1", 3840, 2160, 60),
        ("HEVC_Main_6_2", 8192, 4320, 120), ("HEVC_Main_2", 352, 288, 30),
    ])
    func acceptsTheSizesThatTheStandardListsPerLevel(name: String, width: Int, height: Int, rate: Int32) throws {
        let level = try #require(ProfileLevel(name: name)?.level)
        try level.validate(width: width, height: height, frameRate: Rational(rate))
        #expect(throws: SessionError.self, "rate") {
            try level.validate(width: width, height: height, frameRate: Rational(rate * 2))
        }
        #expect(throws: SessionError.self, "size") {
            try level.validate(width: width * 2, height: height * 2, frameRate: Rational(1))
        }
    }

    @Test func parsesEveryName() {
        for name in ProfileLevel.names { #expect(ProfileLevel(name: name)?.name == name) }
        #expect(ProfileLevel(name: "HEVC_Main_7") == nil)
        #expect(ProfileLevel(name: "") == nil)
    }
}
