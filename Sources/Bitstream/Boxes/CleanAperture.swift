// SPDX-License-Identifier: MIT
public import HWDModel

/// The part of a coded picture that is displayed, as in a `clap` box (ISO/IEC 14496-12 12.1.4).
public struct CleanAperture: Hashable, Sendable {
    /// Width in samples.
    public var width: Rational
    /// Height in rows.
    public var height: Rational
    /// Distance of its center from the picture's, in samples; positive is to the right.
    public var horizontalOffset: Rational
    /// Distance of its center from the picture's, in rows; positive is down.
    public var verticalOffset: Rational

    /// An aperture of any position and size.
    public init(width: Rational, height: Rational, horizontalOffset: Rational, verticalOffset: Rational) {
        self.width = width
        self.height = height
        self.horizontalOffset = horizontalOffset
        self.verticalOffset = verticalOffset
    }

    /// `width`×`height` samples of a coded picture, `x` samples from its left and `y` rows from its top edge.
    ///
    /// nil where that is not inside the picture.
    public init?(x: Int = 0, y: Int = 0, width: Int, height: Int, ofCodedWidth codedWidth: Int, codedHeight: Int) {
        guard (1...65535).contains(codedWidth), (1...65535).contains(codedHeight),
            (1...codedWidth).contains(width), (1...codedHeight).contains(height),
            (0...codedWidth - width).contains(x), (0...codedHeight - height).contains(y),
            let across = Rational(Int32(2 * x + width - codedWidth), 2),
            let down = Rational(Int32(2 * y + height - codedHeight), 2)
        else { return nil }
        self.init(
            width: Rational(Int32(width)), height: Rational(Int32(height)), horizontalOffset: across,
            verticalOffset: down)
    }

    /// Whether the aperture is not empty and is inside a picture of `codedWidth`×`codedHeight` samples.
    public func fits(codedWidth: Int, codedHeight: Int) -> Bool {
        func fits(_ size: Rational, _ offset: Rational, _ coded: Int) -> Bool {
            size.value > 0 && abs(offset.value) * 2 + size.value <= Double(coded)
        }
        return fits(width, horizontalOffset, codedWidth) && fits(height, verticalOffset, codedHeight)
    }

    /// The `clap` box.
    public var box: Box {
        var bytes: [UInt8] = []
        for number in [width, height, horizontalOffset, verticalOffset] {
            bytes.appendBigEndian(number.numerator)
            bytes.appendBigEndian(number.denominator)
        }
        return Box("clap", bytes)
    }

    /// Parses the body of a `clap` box; nil where it is cut off, a denominator is 0 or the size is not positive.
    public init?(_ bytes: [UInt8]) {
        func number(_ index: Int) -> Rational? {
            guard let numerator = bytes.bigEndian(at: index * 8, 4),
                let denominator = bytes.bigEndian(at: index * 8 + 4, 4)
            else { return nil }
            return Rational(
                Int32(bitPattern: UInt32(numerator)), Int32(bitPattern: UInt32(denominator)))
        }
        guard let width = number(0), let height = number(1), let across = number(2), let down = number(3),
            width.numerator > 0, height.numerator > 0
        else { return nil }
        self.init(width: width, height: height, horizontalOffset: across, verticalOffset: down)
    }
}
