// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Lays 8-bit 4:2:0 pictures with alpha over a colour.
///
/// Both are mixed as they are coded, without linear light, as players do. A chroma sample is mixed by the mean alpha of
/// the luma samples it covers.
public struct BackgroundCompositor {
    /// A colour of the display, 0…255 each.
    public struct RGB: Hashable, Sendable {
        /// Red.
        public let red: UInt8
        /// Green.
        public let green: UInt8
        /// Blue.
        public let blue: UInt8

        /// By its parts.
        public init(red: UInt8, green: UInt8, blue: UInt8) {
            (self.red, self.green, self.blue) = (red, green, blue)
        }

        /// From six hexadecimal digits, `RRGGBB`; nil for everything else.
        public init?(text: String) {
            guard text.utf8.count == 6, text.allSatisfy(\.isHexDigit), let number = UInt32(text, radix: 16) else {
                return nil
            }
            self.init(
                red: UInt8(number >> 16), green: UInt8(number >> 8 & 255), blue: UInt8(number & 255))
        }
    }

    /// Whether colours come multiplied by alpha.
    private let isPremultiplied: Bool
    /// The background's Y′, Cb and Cr, and what black has there.
    private let background: [Int]
    private let black: [Int]

    /// Rows from which untagged pictures count as high definition, which is BT.709's (ITU-R BT.709 part 1).
    private static let highDefinitionHeight = 720

    /// For pictures described by `color`, `height` rows high.
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

    /// KR and KB of H.273 table 4.
    private static func weights(_ matrix: UInt8, height: Int) -> (kr: Double, kb: Double) {
        switch matrix {
        case 1: (0.2126, 0.0722)
        case 4: (0.30, 0.11)
        case 5, 6: (0.299, 0.114)
        case 7: (0.212, 0.087)
        case 9, 10: (0.2627, 0.0593)
        default: height >= highDefinitionHeight ? (0.2126, 0.0722) : (0.299, 0.114)
        }
    }

    /// Mixes a picture into memory of `YU12`, laid out as `FrameLayout.packed` has it.
    ///
    /// - Parameter source: a `YUVA` picture; `width` and `height` are all of it.
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
                for x in 0..<PixelFormat.yu12.rowBytes(plane: plane, width: width) {
                    let a: Int
                    if plane == 0 {
                        a = Int(source[Int(alpha.offset) + line * Int(alpha.stride) + x])
                    } else {
                        // An odd edge has no second sample.
                        let (x0, y0) = (2 * x, 2 * line)
                        let (x1, y1) = (min(x0 + 1, width - 1), min(y0 + 1, height - 1))
                        let (upper, lower) = (
                            Int(alpha.offset) + y0 * Int(alpha.stride), Int(alpha.offset) + y1 * Int(alpha.stride)
                        )
                        let sum =
                            Int(source[upper + x0]) + Int(source[upper + x1]) + Int(source[lower + x0])
                            + Int(source[lower + x1])
                        a = (sum + 2) / 4
                    }
                    target[out + x] = mix(Int(source[row + x]), a, plane)
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
