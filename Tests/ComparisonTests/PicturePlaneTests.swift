// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import HWDLibAVReading
import HWDModel
import Testing

@testable import HWDComparison

/// The loops that compare planes, of each instruction set, beside the definitions in whole numbers and Double.
@Suite(.serialized) struct PicturePlaneTests {
    /// A picture in memory, and its samples of one component as numbers.
    private struct Picture {
        let format: PixelFormat
        let width: Int
        let height: Int
        private var bytes: [UInt8]
        private let layout: FrameLayout

        /// - Parameter samples: of a component, a column and a row.
        init(_ format: PixelFormat, width: Int, height: Int, samples: (Int, Int, Int) -> Int) {
            (self.format, self.width, self.height) = (format, width, height)
            let packed = FrameLayout.packed(format, width: width, height: height)
            (bytes, layout) = ([UInt8](repeating: 0, count: packed.size), packed.layout)
            for component in 0..<3 {
                let plane = layout.planes[format.isSemiPlanar ? min(component, 1) : component]
                let isJoined = format.isSemiPlanar && component > 0
                for y in 0..<rows(component) {
                    for x in 0..<columns(component) {
                        let place = isJoined ? 2 * x + component - 1 : x
                        let start = Int(plane.offset) + y * Int(plane.stride) + place * format.bytesPerSample
                        let value = samples(component, x, y) << (format == .p010 ? 6 : 0)
                        bytes[start] = UInt8(value & 255)
                        if format.bytesPerSample == 2 { bytes[start + 1] = UInt8(value >> 8) }
                    }
                }
            }
        }

        func columns(_ component: Int) -> Int { component == 0 ? width : (width + 1) / 2 }
        func rows(_ component: Int) -> Int { component == 0 ? height : (height + 1) / 2 }

        func withPlane<Result>(_ component: Int, _ body: (PicturePlane) throws -> Result) throws -> Result {
            try bytes.withUnsafeBytes { memory in
                let all = PictureRectangle(x: 0, y: 0, width: UInt32(width), height: UInt32(height))
                let view = try PictureView(
                    memory: memory, layout: layout, format: format, width: width, height: height, part: all)
                return try body(try #require(PicturePlane(component, of: view)))
            }
        }
    }

    /// A sample of up to 8 bits, the same in each run.
    private static func noise(_ seed: Int, _ component: Int, _ x: Int, _ y: Int) -> Int {
        var state = UInt64(seed &* 7919 + component &* 104_729 + x &* 1_299_709 + y &* 15_485_863 + 1)
        for _ in 0..<3 { state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407 }
        return Int(state >> 56)
    }

    /// SSIM of the windows of 8x8 samples, four apart, as Wang and others define it.
    private func similarity(
        _ width: Int, _ height: Int, peak: Double, _ first: (Int, Int) -> Int, _ second: (Int, Int) -> Int
    ) -> Double {
        var values: [Double] = []
        for top in stride(from: 0, through: height - 8, by: 4) {
            for left in stride(from: 0, through: width - 8, by: 4) {
                let places = (0..<64).map { (left + $0 % 8, top + $0 / 8) }
                let (a, b) = (places.map { Double(first($0, $1)) }, places.map { Double(second($0, $1)) })
                let (meanA, meanB) = (a.reduce(0, +) / 64, b.reduce(0, +) / 64)
                let varianceA = a.reduce(0) { $0 + ($1 - meanA) * ($1 - meanA) } / 63
                let varianceB = b.reduce(0) { $0 + ($1 - meanB) * ($1 - meanB) } / 63
                let covariance = zip(a, b).reduce(0) { $0 + ($1.0 - meanA) * ($1.1 - meanB) } / 63
                let (c1, c2) = (0.0001 * peak * peak, 0.0009 * peak * peak)
                values.append(
                    (2 * meanA * meanB + c1) * (2 * covariance + c2)
                        / ((meanA * meanA + meanB * meanB + c1) * (varianceA + varianceB + c2)))
            }
        }
        return values.isEmpty ? 1 : values.reduce(0, +) / Double(values.count)
    }

    @Test(arguments: [0, 1, 2])
    func planesDifferAsDefined(level: Int32) throws {
        hwd_limit_instructions(level)
        defer { hwd_limit_instructions(2) }
        let pairs: [(PixelFormat, PixelFormat)] = [
            (.yu12, .yu12), (.yu12, .nv12), (.nv12, .i010), (.i010, .i010), (.i010, .p010), (.p010, .p010),
        ]
        for (old, new) in pairs {
            for (width, height) in [(96, 32), (71, 45), (18, 9), (6, 6)] {
                let scale = [old, new].map { 1 << ($0.bitDepth - 8) }
                func first(_ component: Int, _ x: Int, _ y: Int) -> Int {
                    scale[0] * Self.noise(1, component, x / 3, y / 2)
                }
                func second(_ component: Int, _ x: Int, _ y: Int) -> Int {
                    let value = Self.noise(1, component, x / 3, y / 2) + Self.noise(2, component, x, y) / 32
                    return scale[1] * min(255, value)
                }
                let pictures = (
                    Picture(old, width: width, height: height, samples: first),
                    Picture(new, width: width, height: height, samples: second)
                )
                let depth = max(old.bitDepth, new.bitDepth)
                let raise = scale.map { (1 << (depth - 8)) / $0 }
                for component in 0..<3 {
                    let (columns, rows) = (pictures.0.columns(component), pictures.0.rows(component))
                    let found = try pictures.0.withPlane(component) { one in
                        try pictures.1.withPlane(component) { other in try #require(one.difference(from: other)) }
                    }
                    var squared = 0
                    for y in 0..<rows {
                        for x in 0..<columns {
                            let difference = raise[0] * first(component, x, y) - raise[1] * second(component, x, y)
                            squared += difference * difference
                        }
                    }
                    #expect(found.squared == Double(squared), "\(old) \(new) \(width)x\(height), \(component)")
                    let expected = similarity(
                        columns, rows, peak: Double((1 << depth) - 1),
                        { raise[0] * first(component, $0, $1) }, { raise[1] * second(component, $0, $1) })
                    #expect(
                        abs(found.similarity - expected) < 1e-9, "\(old) \(new) \(width)x\(height), \(component)")
                }
            }
        }
    }

    @Test(arguments: [0, 1, 2])
    func cellsHaveTheirMeans(level: Int32) throws {
        hwd_limit_instructions(level)
        defer { hwd_limit_instructions(2) }
        for format in [PixelFormat.yu12, .nv12, .i010, .p010] {
            let (width, height, columns, rows) = (71, 45, 7, 4)
            let scale = 1 << (format.bitDepth - 8)
            let picture = Picture(format, width: width, height: height) { component, x, y in
                scale * Self.noise(3, component, x, y)
            }
            for component in 0..<3 {
                let (across, down) = (picture.columns(component), picture.rows(component))
                let means = try picture.withPlane(component) { $0.cellMeans(columns: columns, rows: rows) }
                #expect(means.count == columns * rows)
                for (index, mean) in means.enumerated() {
                    let (column, row) = (index % columns, index / columns)
                    let cells = (down * row / rows..<down * (row + 1) / rows).flatMap { y in
                        (across * column / columns..<across * (column + 1) / columns).map { x in
                            Self.noise(3, component, x, y)
                        }
                    }
                    let expected = Float(cells.reduce(0, +)) / Float(cells.count)
                    #expect(abs(mean - expected) < 1e-3, "\(format), component \(component), cell \(index)")
                }
            }
        }
    }

    /// Words of a file may have more bits than its depth.
    @Test(arguments: [0, 1, 2])
    func longerSamplesAreNeverEqual(level: Int32) throws {
        hwd_limit_instructions(level)
        defer { hwd_limit_instructions(2) }
        for value in [0x8000, 0xFFFF] {
            let black = Picture(.i010, width: 64, height: 16) { _, _, _ in 0 }
            let other = Picture(.i010, width: 64, height: 16) { _, _, _ in value }
            let found = try black.withPlane(0) { one in
                try other.withPlane(0) { try #require(one.difference(from: $0)) }
            }
            #expect(found.squared == Double(64 * 16 * value * value))
        }
    }
}
