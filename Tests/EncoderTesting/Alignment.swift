// SPDX-License-Identifier: GPL-2.0-or-later

/// The lag at which one sound is most alike another in a window: `mine[i + lag]` then corresponds to `theirs[i]`.
///
/// - Parameters:
///   - window: samples of `theirs`; both sounds have those within `range` of it.
///   - range: the largest lag to either side, in samples.
/// - Returns: the lag in samples, and the normalized cross-correlation there (1 is equal).
public func alignment(
    of mine: [Float], with theirs: [Float], in window: Range<Int>, _ range: Int
) -> (lag: Int, likeness: Double) {
    var best = (lag: 0, likeness: -Double.infinity)
    for lag in -range...range {
        var (product, first, second) = (Float(0), Float(0), Float(0))
        for index in window {
            let (a, b) = (mine[index + lag], theirs[index])
            product += a * b
            first += a * a
            second += b * b
        }
        let likeness = Double(product) / max(1e-9, Double(first * second).squareRoot())
        if likeness > best.likeness { best = (lag, likeness) }
    }
    return best
}
