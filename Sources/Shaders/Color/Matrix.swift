// SPDX-License-Identifier: GPL-2.0-or-later

/// Three values of one pixel: R, G, B or Y', Cb, Cr.
public typealias Triple = SIMD3<Double>

/// A 3x3 matrix by rows.
public struct Matrix3: Hashable, Sendable {
    /// The rows.
    public var rows: (Triple, Triple, Triple) { (first, second, third) }
    private var first: Triple
    private var second: Triple
    private var third: Triple

    /// A matrix from its rows.
    public init(_ first: Triple, _ second: Triple, _ third: Triple) {
        self.first = first
        self.second = second
        self.third = third
    }

    /// The identity.
    public static let identity = Matrix3([1, 0, 0], [0, 1, 0], [0, 0, 1])

    /// A diagonal matrix.
    public static func diagonal(_ values: Triple) -> Matrix3 {
        Matrix3([values.x, 0, 0], [0, values.y, 0], [0, 0, values.z])
    }

    /// The matrix times a column.
    public static func * (matrix: Matrix3, column: Triple) -> Triple {
        [(matrix.first * column).sum(), (matrix.second * column).sum(), (matrix.third * column).sum()]
    }

    /// The product; the right one is applied first.
    public static func * (left: Matrix3, right: Matrix3) -> Matrix3 {
        let columns = [Triple(1, 0, 0), Triple(0, 1, 0), Triple(0, 0, 1)].map { left * (right * $0) }
        return Matrix3(
            [columns[0].x, columns[1].x, columns[2].x], [columns[0].y, columns[1].y, columns[2].y],
            [columns[0].z, columns[1].z, columns[2].z])
    }

    /// The interpolation `left · (1 − amount) + right · amount`.
    static func mix(_ left: Matrix3, _ right: Matrix3, _ amount: Double) -> Matrix3 {
        Matrix3(
            left.first * (1 - amount) + right.first * amount, left.second * (1 - amount) + right.second * amount,
            left.third * (1 - amount) + right.third * amount)
    }

    /// The largest sum of a row's absolute values.
    var largestSum: Double { [first, second, third].map { abs($0.x) + abs($0.y) + abs($0.z) }.max() ?? 0 }

    /// The inverse, by cofactors; the matrices here are far from singular.
    public var inverse: Matrix3 {
        func cross(_ a: Triple, _ b: Triple) -> Triple {
            [a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x]
        }
        let columns = (cross(second, third), cross(third, first), cross(first, second))
        let determinant = (first * columns.0).sum()
        let (a, b, c) = (columns.0 / determinant, columns.1 / determinant, columns.2 / determinant)
        return Matrix3([a.x, b.x, c.x], [a.y, b.y, c.y], [a.z, b.z, c.z])
    }
}

/// `matrix · x + offset`: a 3x4 matrix.
public struct Affine: Hashable, Sendable {
    /// The linear part.
    public var matrix: Matrix3
    /// The offset.
    public var offset: Triple

    /// An affine map from its parts.
    public init(_ matrix: Matrix3, _ offset: Triple = .zero) {
        self.matrix = matrix
        self.offset = offset
    }

    /// The map after another one.
    static func * (left: Affine, right: Affine) -> Affine {
        Affine(left.matrix * right.matrix, left(right.offset))
    }

    /// The map's value.
    public func callAsFunction(_ column: Triple) -> Triple { matrix * column + offset }
}
