// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDControlCommands
internal import HWDLibAV
internal import HWDMediaFile
internal import HWDModel

/// How close coded pictures are to their source: PSNR, and the structural similarity (SSIM) of Wang and others, 2004.
struct PictureQuality {
    private var squared = [0.0, 0.0, 0.0]
    private var samples = [0.0, 0.0, 0.0]
    private var similarity = 0.0
    private(set) var pictures = 0
    private var bitDepth = 8

    /// Adds a picture and the frame it was coded from.
    ///
    /// - Throws: when the picture is smaller than the frame or has fewer bits.
    mutating func add(_ picture: DecodedPicture, _ clip: BenchClip, frame: Int) throws(CommandFailure) {
        let scale = picture.bitDepth - clip.video.format.bitDepth
        guard picture.width >= clip.video.width, picture.height >= clip.video.height, scale >= 0 else {
            throw CommandFailure(
                .software,
                "the decoded pictures are \(picture.width)x\(picture.height) with \(picture.bitDepth) bits")
        }
        bitDepth = picture.bitDepth
        var weighted = 0.0
        var count = 0.0
        for component in 0..<3 {
            guard let source = clip.plane(component, of: frame) else { continue }
            let stride = component == 0 ? picture.width : (picture.width + 1) / 2
            let found = picture.planes[component].withUnsafeBufferPointer {
                Self.compare(source, scale: scale, $0, stride: stride, peak: Double((1 << bitDepth) - 1))
            }
            let size = Double(source.width * source.height)
            squared[component] += found.squared
            samples[component] += size
            weighted += found.similarity * size
            count += size
        }
        similarity += weighted / max(1, count)
        pictures += 1
    }

    /// In dB, over all planes; nil without any difference.
    var psnr: Double? { decibels(squared.reduce(0, +), samples.reduce(0, +)) }
    /// In dB, of luma.
    var psnrY: Double? { decibels(squared[0], samples[0]) }
    /// 1 for equal pictures.
    var ssim: Double { similarity / Double(max(1, pictures)) }

    private func decibels(_ squared: Double, _ samples: Double) -> Double? {
        guard squared > 0, samples > 0 else { return nil }
        let peak = Double((1 << bitDepth) - 1)
        return 10 * log10(peak * peak * samples / squared)
    }

    /// The sums over a 4x4 block; four of them make those of an 8x8 window.
    private struct Sums {
        var a: Int64 = 0
        var b: Int64 = 0
        /// The sum of the squares of both.
        var squares: Int64 = 0
        var products: Int64 = 0

        static func + (left: Sums, right: Sums) -> Sums {
            Sums(
                a: left.a + right.a, b: left.b + right.b, squares: left.squares + right.squares,
                products: left.products + right.products)
        }
    }

    /// Compares a plane: the sum of squared differences, and the mean similarity of 8x8 windows four samples apart.
    private static func compare(
        _ source: QualityPlane, scale: Int, _ coded: UnsafeBufferPointer<UInt16>, stride: Int, peak: Double
    ) -> (squared: Double, similarity: Double) {
        guard coded.count >= stride * source.height, let samples = coded.baseAddress else { return (0, 0) }
        let line = UnsafeMutablePointer<Int32>.allocate(capacity: source.width)
        defer { line.deallocate() }
        let columns = source.width / 4
        var above: [Sums] = []
        var sums = [Sums](repeating: Sums(), count: columns)
        var squared: Int64 = 0
        var total = 0.0
        var windows = 0
        for row in 0..<source.height {
            source.read(row: row, scale: scale, into: line)
            let other = samples + row * stride
            for x in 0..<source.width {
                let difference = Int64(line[x]) - Int64(other[x])
                squared += difference * difference
            }
            add(line, other, to: &sums)
            guard row % 4 == 3 else { continue }
            if !above.isEmpty, columns > 1 {
                for block in 0..<columns - 1 {
                    let window = above[block] + above[block + 1] + sums[block] + sums[block + 1]
                    total += similarity(window, peak: peak)
                    windows += 1
                }
            }
            swap(&above, &sums)
            sums = [Sums](repeating: Sums(), count: columns)
        }
        // A plane smaller than a window has no structure to compare.
        return (Double(squared), windows > 0 ? total / Double(windows) : 1)
    }

    /// Adds a row of both pictures to the sums of its 4x4 blocks.
    private static func add(
        _ line: UnsafePointer<Int32>, _ other: UnsafePointer<UInt16>, to sums: inout [Sums]
    ) {
        for block in sums.indices {
            for x in 4 * block..<4 * block + 4 {
                let (a, b) = (Int64(line[x]), Int64(other[x]))
                sums[block].a += a
                sums[block].b += b
                sums[block].squares += a * a + b * b
                sums[block].products += a * b
            }
        }
    }

    /// SSIM of one window of 64 samples, with the constants 0.01 and 0.03 of the peak.
    private static func similarity(_ sums: Sums, peak: Double) -> Double {
        let count = 64.0
        let (meanA, meanB) = (Double(sums.a) / count, Double(sums.b) / count)
        // Unbiased: divided by one less than there are samples.
        let variances = (Double(sums.squares) - count * (meanA * meanA + meanB * meanB)) / (count - 1)
        let covariance = (Double(sums.products) - count * meanA * meanB) / (count - 1)
        let (c1, c2) = (0.0001 * peak * peak, 0.0009 * peak * peak)
        return (2 * meanA * meanB + c1) * (2 * covariance + c2)
            / ((meanA * meanA + meanB * meanB + c1) * (variances + c2))
    }
}
