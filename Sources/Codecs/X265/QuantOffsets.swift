// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDX265
internal import HWDCoding

/// x265's quantization offsets of a picture whose blocks all have the same one.
final class QuantOffsets {
    private let base: UnsafeMutablePointer<Float>
    private let count: Int

    /// Offsets for pictures of this size.
    ///
    /// x265 copies an offset for each 16x16 block, or 8x8 block with `qg-size=8`.
    init(_ size: PaddedSize) {
        count = 2 * (size.width / 16 + 2) * 2 * (size.height / 16 + 2)
        base = .allocate(capacity: count)
        base.initialize(repeating: 0, count: count)
    }

    deinit { base.deallocate() }

    /// Sets a picture's offset in QP steps.
    ///
    /// If one picture of an encoder has offsets all need them, because x265 allocates room with the first picture.
    func set(_ offset: Double, of picture: UnsafeMutablePointer<x265_picture>) {
        base.update(repeating: Float(offset), count: count)
        picture.pointee.quantOffsets = base
    }
}
