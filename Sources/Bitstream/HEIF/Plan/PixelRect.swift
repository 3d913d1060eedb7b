// SPDX-License-Identifier: MIT

/// A rectangle of samples; its right and bottom edges are outside.
public struct PixelRect: Hashable, Sendable {
    public var x: Int
    public var y: Int
    public var width: Int
    public var height: Int

    public init(x: Int, y: Int, width: Int, height: Int) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }

    /// The rectangle at the origin.
    public init(width: Int, height: Int) { self.init(x: 0, y: 0, width: width, height: height) }

    public var isEmpty: Bool { width <= 0 || height <= 0 }
    public var maxX: Int { x + width }
    public var maxY: Int { y + height }

    /// What both rectangles have; empty where that is nothing.
    public func intersection(_ other: PixelRect) -> PixelRect {
        let (left, top) = (max(x, other.x), max(y, other.y))
        return PixelRect(
            x: left, y: top, width: max(min(maxX, other.maxX) - left, 0),
            height: max(min(maxY, other.maxY) - top, 0))
    }
}

/// One of the eight ways to lay a picture on a grid: mirrored or not, then turned.
public struct Orientation: Hashable, Sendable {
    /// Quarter turns counter-clockwise, 0…3, after mirroring.
    public var turns: Int
    /// Whether left and right change places first.
    public var isMirrored: Bool

    public static let upright = Orientation(turns: 0, isMirrored: false)

    public init(turns: Int, isMirrored: Bool) {
        self.turns = turns & 3
        self.isMirrored = isMirrored
    }
}

/// Where the samples of a picture are in another one: an orientation, then a displacement, in edges between samples.
struct Placement: Hashable, Sendable {
    // x' = xx·x + xy·y + x0, y' = yx·x + yy·y + y0; the matrix has one ±1 in each row.
    private var xx = 1
    private var xy = 0
    private var yx = 0
    private var yy = 1
    private var x0 = 0
    private var y0 = 0

    /// A displacement alone.
    init(x: Int = 0, y: Int = 0) { (x0, y0) = (x, y) }

    private init(xx: Int, xy: Int, yx: Int, yy: Int, x0: Int, y0: Int) {
        (self.xx, self.xy, self.yx, self.yy, self.x0, self.y0) = (xx, xy, yx, yy, x0, y0)
    }

    /// Quarter turns counter-clockwise of a picture of the given size.
    static func rotation(_ turns: Int, width: Int, height: Int) -> Placement {
        switch turns & 3 {
        case 1: Placement(xx: 0, xy: 1, yx: -1, yy: 0, x0: 0, y0: width)
        case 2: Placement(xx: -1, xy: 0, yx: 0, yy: -1, x0: width, y0: height)
        case 3: Placement(xx: 0, xy: -1, yx: 1, yy: 0, x0: height, y0: 0)
        default: Placement()
        }
    }

    /// An exchange of left and right, or of top and bottom.
    static func mirror(isLeftRight: Bool, width: Int, height: Int) -> Placement {
        isLeftRight
            ? Placement(xx: -1, xy: 0, yx: 0, yy: 1, x0: width, y0: 0)
            : Placement(xx: 1, xy: 0, yx: 0, yy: -1, x0: 0, y0: height)
    }

    /// First `inner`, then this one.
    func after(_ inner: Placement) -> Placement {
        Placement(
            xx: xx * inner.xx + xy * inner.yx, xy: xx * inner.xy + xy * inner.yy,
            yx: yx * inner.xx + yy * inner.yx, yy: yx * inner.xy + yy * inner.yy,
            x0: xx * inner.x0 + xy * inner.y0 + x0, y0: yx * inner.x0 + yy * inner.y0 + y0)
    }

    /// The placement that undoes this one.
    var inverse: Placement {
        // The matrix is orthogonal.
        Placement(
            xx: xx, xy: yx, yx: xy, yy: yy, x0: -(xx * x0 + yx * y0), y0: -(xy * x0 + yy * y0))
    }

    /// Where a rectangle comes to lie.
    func map(_ rect: PixelRect) -> PixelRect {
        let first = (xx * rect.x + xy * rect.y + x0, yx * rect.x + yy * rect.y + y0)
        let second = (xx * rect.maxX + xy * rect.maxY + x0, yx * rect.maxX + yy * rect.maxY + y0)
        return PixelRect(
            x: min(first.0, second.0), y: min(first.1, second.1), width: abs(first.0 - second.0),
            height: abs(first.1 - second.1))
    }

    /// The orientation without the displacement.
    var orientation: Orientation {
        // A mirrored picture has a determinant of −1; mirroring first negates the first column.
        let isMirrored = xx * yy - xy * yx < 0
        let (a, c) = isMirrored ? (-xx, -yx) : (xx, yx)
        // The columns of the turns: 0 (1, 0), 1 (0, −1), 2 (−1, 0), 3 (0, 1).
        return Orientation(turns: a == 1 ? 0 : a == -1 ? 2 : c == -1 ? 1 : 3, isMirrored: isMirrored)
    }
}
