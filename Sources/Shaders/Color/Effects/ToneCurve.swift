// SPDX-License-Identifier: GPL-2.0-or-later

/// A monotone cubic through points (Fritsch and Carlson 1980), straight on beyond the ends.
public struct ToneCurve: Sendable {
    /// From `start` on: the polynomial of t = (x − start) · scale, constants first.
    public struct Piece: Sendable {
        public let start: Double
        public let scale: Double
        public let factors: (Double, Double, Double, Double)

        func value(_ x: Double) -> Double {
            let t = (x - start) * scale
            return factors.0 + t * (factors.1 + t * (factors.2 + t * factors.3))
        }
    }

    /// The first one holds below its start, too.
    public let pieces: [Piece]
    /// The steepest slope at a point.
    let steepest: Double

    /// - Parameter points: x, y, x, y…: two at least, with increasing x.
    init(_ points: [Double]) {
        let x = stride(from: 0, to: points.count, by: 2).map { points[$0] }
        let y = stride(from: 1, to: points.count, by: 2).map { points[$0] }
        let width = x.indices.dropLast().map { x[$0 + 1] - x[$0] }
        let rise = width.indices.map { (y[$0 + 1] - y[$0]) / width[$0] }
        let slope = Self.slopes(width, rise)
        var pieces = [Piece(start: x[0], scale: 1, factors: (y[0], slope[0], 0, 0))]
        for index in width.indices {
            let (from, to) = (slope[index] * width[index], slope[index + 1] * width[index])
            let step = y[index + 1] - y[index]
            pieces.append(
                Piece(
                    start: x[index], scale: 1 / width[index],
                    factors: (y[index], from, 3 * step - 2 * from - to, from + to - 2 * step)))
        }
        let last = x.count - 1
        pieces.append(Piece(start: x[last], scale: 1, factors: (y[last], slope[last], 0, 0)))
        self.pieces = pieces
        steepest = slope.map { abs($0) }.max() ?? 1
    }

    /// The slopes at the points, by weighted harmonic means, limited so that no piece turns back.
    private static func slopes(_ width: [Double], _ rise: [Double]) -> [Double] {
        var slope = [rise[0]]
        for index in 1..<max(rise.count, 1) {
            let (before, after) = (rise[index - 1], rise[index])
            let (first, second) = (2 * width[index] + width[index - 1], width[index] + 2 * width[index - 1])
            slope.append(
                before * after <= 0 ? 0 : (first + second) / (first / before + second / after))
        }
        slope.append(rise[rise.count - 1])
        for index in rise.indices {
            guard rise[index] != 0 else {
                (slope[index], slope[index + 1]) = (0, 0)
                continue
            }
            let (a, b) = (slope[index] / rise[index], slope[index + 1] / rise[index])
            let length = (a * a + b * b).squareRoot()
            guard length > 3 else { continue }
            (slope[index], slope[index + 1]) = (3 / length * a * rise[index], 3 / length * b * rise[index])
        }
        return slope
    }

    func value(_ x: Double) -> Double {
        // The piece after the first one begins at the same point.
        let piece = x <= pieces[0].start ? pieces[0] : pieces.last { $0.start <= x } ?? pieces[0]
        return piece.value(x)
    }
}
