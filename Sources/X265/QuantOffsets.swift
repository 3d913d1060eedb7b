// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265

/// An offset for every block of a picture, as x265 takes them; all blocks have the same.
final class QuantOffsets {
    private let base: UnsafeMutablePointer<Float>
    private let count: Int

    /// For pictures of this size.
    ///
    /// x265 copies an offset for each 16x16 block, or 8x8 block with `qg-size=8`.
    init(width: Int, height: Int) {
        count = 2 * (width / 16 + 2) * 2 * (height / 16 + 2)
        base = .allocate(capacity: count)
        base.initialize(repeating: 0, count: count)
    }

    deinit { base.deallocate() }

    /// Has a picture coded with this offset.
    ///
    /// Every picture of an encoder needs one, 0 if nothing else, since x265 makes room for them with its first.
    func set(_ offset: Double, of picture: UnsafeMutablePointer<x265_picture>) {
        base.update(repeating: Float(offset), count: count)
        picture.pointee.quantOffsets = base
    }
}
