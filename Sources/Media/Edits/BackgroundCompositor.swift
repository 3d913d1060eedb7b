// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMetadata
public import HWDModel

/// Composites 8-bit 4:2:0 pictures with alpha over a single color.
///
/// Coded values are blended, not linear light, as players do. A chroma sample is weighted by the mean alpha of its luma
/// samples.
public struct BackgroundCompositor {
    /// An R′G′B′ color, 0…255 each.
    public struct RGB: Hashable, Sendable {
        /// Red.
        public let red: UInt8
        /// Green.
        public let green: UInt8
        /// Blue.
        public let blue: UInt8

        /// A color from its components.
        public init(red: UInt8, green: UInt8, blue: UInt8) {
            (self.red, self.green, self.blue) = (red, green, blue)
        }

        /// A color from six hexadecimal digits, `RRGGBB`; nil for everything else.
        public init?(text: String) {
            guard text.utf8.count == 6, text.allSatisfy(\.isHexDigit), let number = UInt32(text, radix: 16) else {
                return nil
            }
            self.init(
                red: UInt8(number >> 16), green: UInt8(number >> 8 & 255), blue: UInt8(number & 255))
        }
    }

    /// Whether the pictures' colors are multiplied by alpha.
    private let isPremultiplied: Bool
    /// The background's Y′, Cb and Cr.
    private let background: [Int]
    /// The Y′, Cb and Cr of black.
    private let black: [Int]

    /// A compositor for pictures described by `color`, `height` rows high.
    public init(_ rgb: RGB, color: ColorDescription, height: Int, isPremultiplied: Bool) {
        self.isPremultiplied = isPremultiplied
        let (kr, kb) = Self.weights(color.matrix, height: height)
        let (r, g, b) = (Double(rgb.red) / 255, Double(rgb.green) / 255, Double(rgb.blue) / 255)
        let y = kr * r + (1 - kr - kb) * g + kb * b
        let (cb, cr) = ((b - y) / (2 - 2 * kb), (r - y) / (2 - 2 * kr))
        // H.273 equations 20 to 22, and 26 to 28 for full range.
        let (floor, luma, chroma) = color.isFullRange ? (0.0, 255.0, 255.0) : (16.0, 219.0, 224.0)
        background = [floor + luma * y, 128 + chroma * cb, 128 + chroma * cr].map { value in
            Int(max(0, min(255, value.rounded())))
        }
        black = [Int(floor), 128, 128]
    }

    /// A compositor with a background that has been converted to the pictures' color.
    ///
    /// - Parameter codes: its Y′, Cb and Cr, 0…255.
    public init(codes: [Int], isFullRange: Bool, isPremultiplied: Bool) {
        precondition(codes.count == 3, "a background has three codes")
        self.isPremultiplied = isPremultiplied
        background = codes.map { max(0, min(255, $0)) }
        black = [isFullRange ? 0 : 16, 128, 128]
    }

    /// KR and KB of H.273 table 4.
    private static func weights(_ matrix: UInt8, height: Int) -> (kr: Double, kb: Double) {
        switch matrix {
        case 1: (0.2126, 0.0722)
        case 4: (0.30, 0.11)
        case 5, 6: (0.299, 0.114)
        case 7: (0.212, 0.087)
        case 9, 10: (0.2627, 0.0593)
        default: weights(ColorDescription.defaultMatrix(height: height), height: height)
        }
    }

    /// Composites a picture into `YU12` memory in the layout of `FrameLayout.packed`.
    ///
    /// - Parameters:
    ///   - source: a `YUVA` picture.
    ///   - width: the whole picture's width.
    ///   - height: the whole picture's height.
    /// - Throws: `Parameter` where a layout exceeds its memory.
    public func flatten(
        _ source: UnsafeRawBufferPointer, _ layout: FrameLayout, width: Int, height: Int,
        to target: UnsafeMutableRawBufferPointer
    ) throws(SessionError) {
        try layout.validate(.yuva, width: width, height: height, poolSize: UInt64(source.count))
        let packed = FrameLayout.packed(.yu12, width: width, height: height)
        try packed.layout.validate(.yu12, width: width, height: height, poolSize: UInt64(target.count))
        let alpha = layout.planes[3]
        for plane in 0..<3 {
            let (from, to) = (layout.planes[plane], packed.layout.planes[plane])
            for line in 0..<PixelFormat.yu12.rows(plane: plane, height: height) {
                let row = Int(from.offset) + line * Int(from.stride)
                let out = Int(to.offset) + line * Int(to.stride)
                // A chroma sample covers two rows of alpha, except at an odd edge.
                let (first, second) = plane == 0 ? (line, line) : (2 * line, min(2 * line + 1, height - 1))
                let upper = Int(alpha.offset) + first * Int(alpha.stride)
                let lower = Int(alpha.offset) + second * Int(alpha.stride)
                for x in 0..<PixelFormat.yu12.rowBytes(plane: plane, width: width) {
                    let weight: Int
                    if plane == 0 {
                        weight = unsafe Int(source[upper + x])
                    } else {
                        let (left, right) = (2 * x, min(2 * x + 1, width - 1))
                        let sum =
                            unsafe Int(source[upper + left]) + Int(source[upper + right])
                            + Int(source[lower + left]) + Int(source[lower + right])
                        weight = (sum + 2) / 4
                    }
                    unsafe target[out + x] = unsafe mix(Int(source[row + x]), weight, plane)
                }
            }
        }
    }

    private func mix(_ value: Int, _ alpha: Int, _ plane: Int) -> UInt8 {
        let weight = 255 - alpha
        let mixed =
            isPremultiplied
            ? value * 255 + weight * (background[plane] - black[plane])
            : value * alpha + weight * background[plane]
        return UInt8(max(0, min(255, (mixed + (mixed >= 0 ? 127 : -127)) / 255)))
    }
}
