// SPDX-License-Identifier: MIT
internal import HWDModel

extension StillCanvas {
    /// The size of a picture that fits a square, with its proportions; its own where it fits already.
    package static func size(_ width: Int, _ height: Int, within most: Int) -> (width: Int, height: Int) {
        guard max(width, height) > most else { return (width, height) }
        let scale = Double(most) / Double(max(width, height))
        func side(_ length: Int) -> Int { max(1, Int((Double(length) * scale).rounded())) }
        return (side(width), side(height))
    }

    /// The picture in a smaller size: each sample is the mean of those that it covers.
    ///
    /// - Throws: what making a canvas throws.
    package func averaged(width newWidth: Int, height newHeight: Int) throws(ImageError) -> StillCanvas {
        let target = try StillCanvas(format, width: newWidth, height: newHeight)
        for (plane, (from, to)) in zip(planes, target.planes).enumerated() {
            func size(_ canvas: StillCanvas) -> (width: Int, height: Int) {
                let width = canvas.format.rowBytes(plane: plane, width: canvas.width)
                return (
                    width / canvas.format.bytesPerSample, canvas.format.rows(plane: plane, height: canvas.height)
                )
            }
            let average = PlaneAverage(from: size(self), to: size(target))
            let source = PlaneView(base: UnsafeRawPointer(from.base), stride: from.stride)
            if format.bytesPerSample == 2 {
                average.run(UInt16.self, source, to)
            } else {
                average.run(UInt8.self, source, to)
            }
        }
        return target
    }
}

/// An area average of one plane: first the columns of a row, then rows.
private struct PlaneAverage {
    /// The samples that one sample of the target covers, with the part of each.
    private struct Span {
        var first: Int
        var weights: [Float]
    }

    private let columns: [Span]
    private let rows: [Span]

    init(from source: (width: Int, height: Int), to target: (width: Int, height: Int)) {
        columns = Self.spans(source.width, target.width)
        rows = Self.spans(source.height, target.height)
    }

    private static func spans(_ source: Int, _ target: Int) -> [Span] {
        let scale = Double(source) / Double(target)
        return (0..<target).map { index in
            let (start, end) = (Double(index) * scale, Double(index + 1) * scale)
            let first = min(Int(start), source - 1)
            let last = max(first, min(Int(end.rounded(.up)) - 1, source - 1))
            let weights = (first...last).map { place in
                Float(max(0, min(end, Double(place + 1)) - max(start, Double(place))) / scale)
            }
            return Span(first: first, weights: weights)
        }
    }

    func run<Sample: FixedWidthInteger & UnsignedInteger & BitwiseCopyable>(
        _ type: Sample.Type, _ from: PlaneView, _ to: MutablePlaneView
    ) {
        var sums = [Float](repeating: 0, count: columns.count)
        for (number, row) in rows.enumerated() {
            for column in sums.indices { sums[column] = 0 }
            for (offset, weight) in row.weights.enumerated() {
                let line = from.base + (row.first + offset) * from.stride
                for (column, span) in columns.enumerated() {
                    var sum: Float = 0
                    for (place, part) in span.weights.enumerated() {
                        let offset = (span.first + place) * MemoryLayout<Sample>.size
                        sum += part * Float(line.loadUnaligned(fromByteOffset: offset, as: Sample.self))
                    }
                    sums[column] += weight * sum
                }
            }
            let line = to.base + number * to.stride
            for (column, sum) in sums.enumerated() {
                let sample = Sample(clamping: Int(sum.rounded()))
                line.storeBytes(of: sample, toByteOffset: column * MemoryLayout<Sample>.size, as: Sample.self)
            }
        }
    }
}
