// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEdits
import HWDModel
import Testing

/// Turned pictures, and parts of them.
@Suite struct OrientationTests {
    /// A plane of 5x3 samples whose values are 10 · row + column.
    private static let samples = (0..<3).flatMap { row in (0..<5).map { UInt8(10 * row + $0) } }

    private func turned(_ orientation: PictureOrientation) throws -> [UInt8] {
        var target = [UInt8](repeating: 0, count: 15)
        let shown = orientation.shown(width: 5, height: 3)
        try Self.samples.withUnsafeBytes { from in
            try target.withUnsafeMutableBytes { to in
                let (source, result) = (try #require(from.baseAddress), try #require(to.baseAddress))
                orientation.copy(
                    [PlaneView(base: source, stride: 5)], to: [MutablePlaneView(base: result, stride: shown.width)],
                    .yu12, width: 5, height: 3)
            }
        }
        return target
    }

    @Test func turns() throws {
        #expect(try turned(PictureOrientation(turnedBy: 0)) == Self.samples)
        #expect(
            try turned(PictureOrientation(turnedBy: 90)) == [20, 10, 0, 21, 11, 1, 22, 12, 2, 23, 13, 3, 24, 14, 4])
        #expect(try turned(PictureOrientation(turnedBy: 180)) == Self.samples.reversed())
        #expect(
            try turned(PictureOrientation(turnedBy: 270)) == [
                4, 14, 24, 3, 13, 23, 2, 12, 22, 1, 11, 21, 0, 10, 20,
            ])
        #expect(try turned(.transposed) == [0, 10, 20, 1, 11, 21, 2, 12, 22, 3, 13, 23, 4, 14, 24])
    }

    /// A part of the shown picture has the samples of its stored part.
    @Test(arguments: [0, 90, 180, 270]) func parts(degrees: Int) throws {
        let orientation = PictureOrientation(turnedBy: degrees)
        let shown = orientation.shown(width: 5, height: 3)
        let all = try turned(orientation)
        for y in 0..<shown.height {
            for x in 0..<shown.width {
                let part = PictureRectangle(x: UInt32(x), y: UInt32(y), width: 1, height: 1)
                let stored = orientation.stored(part, shownWidth: shown.width, shownHeight: shown.height)
                #expect(all[y * shown.width + x] == Self.samples[Int(stored.y) * 5 + Int(stored.x)])
            }
        }
        #expect(!orientation.isMirrored)
        #expect(PictureOrientation.transposed.isMirrored)
    }
}
