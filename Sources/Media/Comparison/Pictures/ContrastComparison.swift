// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDModel

/// Whether each component of an output's pictures has the contrast and the level of the input's, over the whole file.
///
/// Coding changes the means of cells at random, so that a line through all of them has the slope 1. A wrong range and a
/// component without contents give another one.
struct ContrastComparison {
    /// The sums over the cells of one component, for a line: output = slope · input + level.
    private struct Line {
        private var (count, x, y, xx, yy, xy) = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)

        mutating func add(_ input: ArraySlice<Float>, _ output: ArraySlice<Float>) {
            for (first, second) in zip(input, output) {
                let (first, second) = (Double(first), Double(second))
                count += 1
                x += first
                y += second
                xx += first * first
                yy += second * second
                xy += first * second
            }
        }

        /// Standard deviations in 8-bit samples.
        var deviation: (input: Double, output: Double) {
            guard count > 0 else { return (0, 0) }
            return (
                sqrt(max(0, xx / count - x / count * x / count)), sqrt(max(0, yy / count - y / count * y / count))
            )
        }
        /// The difference of the means.
        var shift: Double { count > 0 ? (y - x) / count : 0 }
        private var covariance: Double { count > 0 ? xy / count - x / count * y / count : 0 }
        var slope: Double {
            let input = deviation.input
            return input > 0 ? covariance / (input * input) : 1
        }
        /// How much of the output's variance the line explains, 0…1.
        var fit: Double {
            let product = deviation.input * deviation.output
            return product > 0 ? covariance * covariance / (product * product) : 0
        }
    }

    private var kept = [Line](repeating: Line(), count: 3)
    private var converted = [Line](repeating: Line(), count: 3)

    /// The deviation from which a component has contents.
    private static let structured = 4.0
    /// The share of the contrast below which the contents are lost: where colors are kept, and where they are converted.
    private static let (lowest, lowestConverted) = (0.25, 0.125)
    /// The largest error of the slope of a good fit; a wrong range makes 0.14.
    private static let slopeTolerance = 0.08
    private static let goodFit = 0.98
    /// The largest difference of the means, in 8-bit samples.
    private static let maxShift = 4.0

    /// Adds a pair of pictures.
    mutating func add(_ input: PictureSignature, _ output: PictureSignature, isConverted: Bool) {
        for component in 0..<3 {
            let (old, new) = (input.cells(component), output.cells(component))
            if isConverted { converted[component].add(old, new) } else { kept[component].add(old, new) }
        }
    }

    /// What is lost, in a sentence; nil where nothing is.
    var fault: String? {
        for (component, name) in ["Y", "Cb", "Cr"].enumerated() {
            let (line, other) = (kept[component], converted[component])
            if line.deviation.input > Self.structured {
                let isWrong = line.fit > Self.goodFit && abs(line.slope - 1) > Self.slopeTolerance
                if line.slope < Self.lowest || isWrong { return text(name, line.slope) }
            }
            if abs(line.shift) > Self.maxShift {
                return
                    "\(name) is \(DecimalText.text(abs(line.shift), 1)) of 255 \(line.shift > 0 ? "higher" : "lower")"
            }
            let (old, new) = other.deviation
            if old > Self.structured, new < Self.lowestConverted * old { return text(name, new / old) }
        }
        return nil
    }

    private func text(_ name: String, _ share: Double) -> String {
        "\(name) has \(DecimalText.text(max(0, share), 2)) of the input's contrast"
    }
}
