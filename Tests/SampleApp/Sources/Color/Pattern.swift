// SPDX-License-Identifier: MIT

/// A gradient that moves by two samples with each picture, in the video range of 8 bits.
public func luma(x: Int, y: Int, picture: Int) -> UInt8 { UInt8(16 + (x + y + 2 * picture) % 220) }

/// The chroma of grey.
public let neutralChroma: UInt8 = 128
