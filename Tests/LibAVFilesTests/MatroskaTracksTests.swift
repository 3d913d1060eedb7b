// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDLibAVReading

/// The aspect ratio of cropped tracks of Matroska (RFC 9559 5.1.4.1.28), from the ratios that both forms of libavformat report.
@Suite struct MatroskaTracksTests {
    /// A video track of 100x80 samples, of which 10 at the left and at the right are cropped.
    private static func tracks(display: (width: UInt8, height: UInt8)?) -> MatroskaTracks {
        func element(_ id: [UInt8], _ content: [UInt8]) -> [UInt8] { id + [0x80 | UInt8(content.count)] + content }
        var video = element([0xB0], [100]) + element([0xBA], [80]) + element([0x54, 0xCC], [10])
        video += element([0x54, 0xDD], [10])
        if let display {
            video += element([0x54, 0xB0], [display.width]) + element([0x54, 0xBA], [display.height])
        }
        return MatroskaTracks(elements: element([0xAE], element([0x83], [1]) + element([0xE0], video)))
    }

    /// What libavformat divides the displayed size by: the coded size (5.1), or the cropped one (7.1).
    private static func reported(_ display: (width: UInt8, height: UInt8), isOfCropped: Bool) -> Rational? {
        Rational(Int32(display.width) * 80, Int32(display.height) * (isOfCropped ? 80 : 100))
    }

    @Test(arguments: [false, true]) func theDisplayedSizeIsOfTheCroppedPicture(_ isOfCropped: Bool) {
        let display: (width: UInt8, height: UInt8) = (160, 80)
        let aspect = Self.tracks(display: display).aspect(
            0, Self.reported(display, isOfCropped: isOfCropped), width: 100, height: 80, isOfCropped: isOfCropped)
        #expect(aspect == Rational(2))
    }

    @Test(arguments: [false, true]) func aProgramThatDidNotCropItIsKnown(_ isOfCropped: Bool) {
        let display: (width: UInt8, height: UInt8) = (100, 80)
        let aspect = Self.tracks(display: display).aspect(
            0, Self.reported(display, isOfCropped: isOfCropped), width: 100, height: 80, isOfCropped: isOfCropped)
        #expect(aspect == Rational(1))
    }

    @Test(arguments: [false, true]) func samplesAreSquareByDefault(_ isOfCropped: Bool) {
        let aspect = Self.tracks(display: nil).aspect(
            0, Rational(1), width: 100, height: 80, isOfCropped: isOfCropped)
        #expect(aspect == Rational(1))
    }
}
