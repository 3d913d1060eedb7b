// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

extension ColorDescription {
    /// Rows from which untagged pictures count as high definition, which has BT.709's matrix (ITU-R BT.709 part 1).
    private static let highDefinitionHeight = 720

    /// The `matrix_coefficients` to assume for pictures without any: BT.709 for high definition, else BT.601.
    package static func defaultMatrix(height: Int) -> UInt8 { height >= highDefinitionHeight ? 1 : 6 }

    /// The matrix of Y′CbCr pictures made from RGB: the given one, or the default where it is unspecified or RGB's own.
    package func conversionMatrix(height: Int) -> UInt8 {
        matrix == 0 || matrix == Self.unspecified ? Self.defaultMatrix(height: height) : matrix
    }
}
