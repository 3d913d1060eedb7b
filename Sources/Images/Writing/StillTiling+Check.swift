// SPDX-License-Identifier: MIT
internal import HWDModel

extension StillTiling {
    /// The most samples on a side of a coded picture, by the limits of sessions; the daemon checks it again.
    private static let maxSide = 16_384

    /// Checks that a file and the sessions take a picture of this size in these tiles.
    ///
    /// - Throws: `unsupported`.
    func check(width: Int, height: Int) throws(ImageError) {
        let (picture, coded) = ("a picture of \(width)x\(height)", "\(self.width)x\(self.height)")
        guard isPossible else {
            throw ImageError(
                .unsupported, "\(picture) needs \(columns)x\(rows) tiles of \(coded); a grid has \(Self.gridLimits)"
            )
        }
        guard hasLevel else {
            throw ImageError(
                .unsupported, "a coded picture of \(coded) is larger than HEVC's levels allow: use tiles")
        }
        guard max(self.width, self.height) <= Self.maxSide else {
            throw ImageError(
                .unsupported, "\(picture): sessions encode at most \(Self.maxSide) samples on a side: use tiles")
        }
    }
}
