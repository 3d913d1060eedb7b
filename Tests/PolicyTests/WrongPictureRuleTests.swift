// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDPolicy

@Suite("Wrong pictures")
struct WrongPictureRuleTests {
    @Test("PSNR of 8-bit samples")
    func formula() {
        #expect(WrongPictureRule.psnr(squaredError: 0, count: 100) == WrongPictureRule.equal)
        // A mean squared error of 1 is 20 log10 255.
        #expect(abs(WrongPictureRule.psnr(squaredError: 100, count: 100) - 48.1308) < 0.0001)
        #expect(WrongPictureRule.psnr(squaredError: 255 * 255 * 100, count: 100) == 0)
    }

    @Test("A picture below 15 dB is wrong from the first on")
    func floor() {
        var quality = WrongPictureRule()
        #expect(quality.check(15) == nil)
        #expect(quality.check(14.9)?.contains("14.9 dB") == true)
    }

    @Test("So is one 15 dB below the median, once there are eight; wrong ones do not count")
    func median() {
        var early = WrongPictureRule()
        for value in [50.0, 20, 50, 50, 50, 50, 50] { #expect(early.check(value) == nil) }
        // The second one is checked again.
        #expect(early.check(50)?.contains("20.0 dB") == true)
        var quality = WrongPictureRule()
        for value in [34.0, 35, 36, 37, 38, 36, 35, 37] { #expect(quality.check(value) == nil) }
        for _ in 0..<20 { #expect(quality.check(21) != nil) }
        #expect(quality.check(21.1) == nil)
    }

    @Test("Black pictures and titles, which are nearly equal, do not make usual ones wrong")
    func blackPictures() {
        var quality = WrongPictureRule()
        for _ in 0..<200 { #expect(quality.check(WrongPictureRule.equal) == nil) }
        #expect(quality.check(30) == nil)
        #expect(quality.check(25) != nil)
    }
}
