// SPDX-License-Identifier: MIT

/// Reduces a luma sample to what is left of it over black; 255 is opaque.
public func composite(_ luma: UInt8, alpha: UInt8) -> UInt8 { UInt8(16 + Int(luma - 16) * Int(alpha) / 255) }
