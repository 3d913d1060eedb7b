// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc

/// A picture reduced to the mean values of a coarse grid, which coding hardly changes: shows which picture it is.
struct PictureSignature {
    /// Y', then Cb and Cr of half as many rows and columns, in units of an 8-bit sample.
    private let means: [Float]
    private let lumaCount: Int

    /// The most columns and rows of the grid.
    private static let maxCells = 32
    /// Samples a cell has at least, in each direction: the mean of fewer depends on the quality.
    private static let minCell = 8

    /// The columns and rows of a grid for pictures of `width`×`height` samples and larger.
    static func grid(width: Int, height: Int) -> (columns: Int, rows: Int) {
        (max(1, min(maxCells, width / minCell)), max(1, min(maxCells, height / minCell)))
    }

    /// - Parameter planes: Y', Cb and Cr.
    init(_ planes: [PicturePlane], _ grid: (columns: Int, rows: Int)) {
        var means: [Float] = []
        for (component, plane) in planes.prefix(3).enumerated() {
            let half = component > 0
            means += plane.cellMeans(
                columns: max(1, half ? grid.columns / 2 : grid.columns),
                rows: max(1, half ? grid.rows / 2 : grid.rows))
        }
        self.means = means
        lumaCount = grid.columns * grid.rows
    }

    /// The means of Y' (0), Cb (1) or Cr (2); empty for a component that the picture does not have.
    func cells(_ component: Int) -> ArraySlice<Float> {
        guard component > 0 else { return means.prefix(lumaCount) }
        let count = (means.count - lumaCount) / 2
        guard count > 0 else { return [] }
        let start = lumaCount + (component - 1) * count
        return means[start..<start + count]
    }

    /// The root mean square of the difference, in units of an 8-bit sample.
    func distance(to other: PictureSignature) -> Double {
        let count = min(means.count, other.means.count)
        guard count > 0 else { return 0 }
        var sum = 0.0
        for index in 0..<count {
            let difference = Double(means[index] - other.means[index])
            sum += difference * difference
        }
        return sqrt(sum / Double(count))
    }

    /// The same for luma alone, after the best linear mapping of the other picture's values: for pictures whose colors were
    /// converted.
    func fittedDistance(to other: PictureSignature) -> Double {
        let count = min(lumaCount, other.lumaCount)
        let (mine, theirs) = (statistics(count), other.statistics(count))
        guard count > 1, mine.variance > 0, theirs.variance > 0 else { return sqrt(mine.variance) }
        var covariance = 0.0
        for index in 0..<count {
            covariance += (Double(means[index]) - mine.mean) * (Double(other.means[index]) - theirs.mean)
        }
        covariance /= Double(count)
        // A mapping of light never inverts it.
        let explained = covariance > 0 ? covariance * covariance / theirs.variance : 0
        return sqrt(max(0, mine.variance - explained))
    }

    /// The standard deviation of luma.
    var deviation: Double { sqrt(statistics(lumaCount).variance) }

    private func statistics(_ count: Int) -> (mean: Double, variance: Double) {
        let luma = means.prefix(count)
        guard !luma.isEmpty else { return (0, 0) }
        let mean = luma.reduce(0) { $0 + Double($1) } / Double(luma.count)
        let squares = luma.reduce(0) { $0 + (Double($1) - mean) * (Double($1) - mean) }
        return (mean, squares / Double(luma.count))
    }
}
