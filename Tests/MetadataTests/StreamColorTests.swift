// SPDX-License-Identifier: GPL-2.0-or-later
import HWDMetadata
import HWDModel
import Testing

/// The color of each frame, from what a file and its stream describe.
@Suite struct StreamColorTests {
    static let pq = ColorDescription(primaries: 9, transfer: 16, matrix: 9)
    static let sdr = ColorDescription(primaries: 1, transfer: 1, matrix: 1, chromaLocation: 0)

    @Test func framesLikeTheFirstHaveTheFilesColor() {
        // The file says more than the stream, or other things.
        for coded in [ColorDescription(), Self.sdr, Self.pq] {
            var colors = StreamColor(Self.pq)
            for _ in 0..<3 { #expect(colors.color(of: coded) == Self.pq) }
        }
    }

    @Test func whatChangesInTheStreamChanges() {
        var colors = StreamColor(Self.pq)
        #expect(colors.color(of: Self.pq) == Self.pq)
        #expect(colors.color(of: Self.sdr) == Self.sdr)
        #expect(colors.color(of: Self.pq) == Self.pq)

        // Only the transfer function changes; the primaries are the file's.
        var described = StreamColor(ColorDescription(primaries: 9, transfer: 18, matrix: 9))
        #expect(described.color(of: ColorDescription(transfer: 14)).transfer == 18)
        let other = described.color(of: ColorDescription(transfer: 16))
        #expect(other == ColorDescription(primaries: 9, transfer: 16, matrix: 9))
    }

    @Test func aMatrixOfRGBIsNotTaken() {
        var colors = StreamColor(Self.sdr)
        _ = colors.color(of: Self.sdr)
        var coded = Self.sdr
        coded.matrix = 0
        #expect(colors.color(of: coded).matrix == 1)
    }
}
