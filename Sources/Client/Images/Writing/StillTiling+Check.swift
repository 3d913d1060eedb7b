// SPDX-License-Identifier: MIT
internal import HWDModel

extension StillTiling {
    /// Checks that a file and the sessions take a picture of this size in these tiles.
    ///
    /// - Throws: `unsupported`.
    func check(width: Int, height: Int) throws(ImageError) {
        if let obstacle = obstacle(width: width, height: height) { throw ImageError(.unsupported, obstacle) }
    }
}
