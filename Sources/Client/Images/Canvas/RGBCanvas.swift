// SPDX-License-Identifier: MIT
internal import Glibc
package import HWDHEIF
package import HWDModel

/// A picture that 4:2:0 cannot hold as it is: R, G, B and alpha of 16 bits, to which parts of decoded ones are painted.
package final class RGBCanvas {
    package let width: Int
    package let height: Int
    private let pool: UnsafeMutablePointer<UInt16>

    /// A canvas that is black and opaque.
    ///
    /// - Throws: `unsupported` for a canvas that is too large for memory.
    package init(width: Int, height: Int) throws(ImageError) {
        guard StillCanvas.canHold(width: width, height: height), let base = calloc(width * height, 8) else {
            throw ImageError(
                .unsupported,
                "a picture of \(width)x\(height) is too large to be held at once: decode a region of it")
        }
        (self.width, self.height) = (width, height)
        pool = base.bindMemory(to: UInt16.self, capacity: 4 * width * height)
        for index in 0..<width * height { pool[4 * index + 3] = .max }
    }

    deinit { free(pool) }

    /// R, G, B and alpha of each sample in rows without gaps; valid as long as the canvas.
    package var samples: UnsafeBufferPointer<UInt16> {
        UnsafeBufferPointer(start: pool, count: 4 * width * height)
    }

    /// Fills a rectangle with an opaque color of 16 bits.
    package func fill(_ rect: PixelRect, _ color: [UInt16]) {
        for row in rect.y..<rect.maxY {
            for column in rect.x..<rect.maxX {
                let pixel = pool + 4 * (row * width + column)
                for component in 0..<3 { pixel[component] = color[component] }
                pixel[3] = .max
            }
        }
    }

    /// Copies a part of a decoded picture; alpha stays.
    ///
    /// - Parameter color: how its samples are read.
    package func paint(_ coded: CodedPlanes, _ color: ColorDescription, _ copy: DecodePlan.Copy) {
        let columns = copy.source.x..<copy.source.maxX
        var color = color
        if coded.isRGB { (color.matrix, color.isFullRange) = (0, true) }
        let math = SampleMath(color, depth: coded.bitDepth)
        let chroma =
            coded.planes.count < 3 ? nil : ChromaRows(coded, location: color.chromaLocation, columns: columns)
        var (cb, cr) = ([Float](repeating: 0, count: columns.count), [Float](repeating: 0, count: columns.count))
        for row in copy.source.y..<copy.source.maxY {
            chroma?.read(row, &cb, &cr)
            let line = coded.planes[0].base + row * coded.planes[0].stride
            let (start, step) = target(copy, row: row)
            for (index, column) in columns.enumerated() {
                let luma = Self.sample(line, column, coded.bitDepth)
                let rgb = chroma == nil ? math.gray(luma) : math.rgb(luma, cb[index], cr[index])
                let pixel = pool + start + index * step
                let codes = rgb.clamped(lowerBound: SIMD3(repeating: 0), upperBound: SIMD3(repeating: 1)) * 65535
                for component in 0..<3 { pixel[component] = UInt16(codes[component].rounded()) }
            }
        }
    }

    /// Copies the luma of a part of a decoded picture, at full range, to alpha.
    package func paintAlpha(_ coded: CodedPlanes, _ copy: DecodePlan.Copy) {
        let scale = 65535 / Float((1 << coded.bitDepth) - 1)
        for row in copy.source.y..<copy.source.maxY {
            let line = coded.planes[0].base + row * coded.planes[0].stride
            let (start, step) = target(copy, row: row)
            for (index, column) in (copy.source.x..<copy.source.maxX).enumerated() {
                let value = (Self.sample(line, column, coded.bitDepth) * scale).rounded()
                pool[start + index * step + 3] = UInt16(min(value, 65535))
            }
        }
    }

    /// Lays a picture with alpha over a part of the canvas; the canvas's alpha stays.
    ///
    /// - Parameter copy: its source is all of the picture.
    package func blend(_ picture: RGBCanvas, isPremultiplied: Bool, _ copy: DecodePlan.Copy) {
        for row in 0..<picture.height {
            let line = picture.pool + 4 * row * picture.width
            let (start, step) = target(copy, row: copy.source.y + row)
            for column in 0..<picture.width {
                let (pixel, above) = (pool + start + column * step, line + 4 * column)
                let alpha = Int(above[3])
                for component in 0..<3 {
                    let part = Int(above[component]) * (isPremultiplied ? 65535 : alpha)
                    let sum = part + Int(pixel[component]) * (65535 - alpha) + 32767
                    pixel[component] = UInt16(clamping: sum / 65535)
                }
            }
        }
    }

    /// Multiplies colors by alpha, or divides them; the color of a transparent premultiplied sample is lost.
    package func changeAlphaMode(toPremultiplied: Bool) {
        for index in 0..<width * height {
            let pixel = pool + 4 * index
            let alpha = Int(pixel[3])
            for component in 0..<3 {
                let value = Int(pixel[component])
                pixel[component] =
                    toPremultiplied
                    ? UInt16((value * alpha + 32767) / 65535)
                    : alpha == 0 ? 0 : UInt16(min(65535, (value * 65535 + alpha / 2) / alpha))
            }
        }
    }

    /// Where the first sample of a row of a copy's source is painted, and the distance to the next, in components.
    private func target(_ copy: DecodePlan.Copy, row: Int) -> (start: Int, step: Int) {
        let part = copy.source
        func place(_ column: Int) -> Int {
            let across = copy.orientation.isMirrored ? part.width - 1 - column : column
            let down = row - part.y
            let (x, y): (Int, Int) =
                switch copy.orientation.turns {
                case 1: (down, part.width - 1 - across)
                case 2: (part.width - 1 - across, part.height - 1 - down)
                case 3: (part.height - 1 - down, across)
                default: (across, down)
                }
            return 4 * ((copy.destination.y + y) * width + copy.destination.x + x)
        }
        return (place(0), part.width > 1 ? place(1) - place(0) : 0)
    }

    @inline(__always)
    private static func sample(_ line: UnsafeRawPointer, _ column: Int, _ depth: Int) -> Float {
        depth > 8
            ? Float(line.loadUnaligned(fromByteOffset: 2 * column, as: UInt16.self))
            : Float(line.load(fromByteOffset: column, as: UInt8.self))
    }

    /// The picture as 4:2:0, whose chroma is in the center of four samples of luma.
    ///
    /// - Parameters:
    ///   - format: `yu12`, `i010` or `yuva`.
    ///   - color: the matrix and range of the result.
    /// - Throws: what making a canvas throws.
    package func yCbCr(_ format: PixelFormat, _ color: ColorDescription) throws(ImageError) -> StillCanvas {
        let canvas = try StillCanvas(format, width: width, height: height)
        let (math, planes, isDeep) = (
            SampleMath(color, depth: format.bitDepth), canvas.planes, format.bytesPerSample == 2
        )
        func store(_ value: Float, _ plane: Int, _ column: Int, _ row: Int) {
            let line = planes[plane].base + row * planes[plane].stride
            if isDeep {
                line.storeBytes(of: UInt16(math.code(value)), toByteOffset: 2 * column, as: UInt16.self)
            } else {
                line.storeBytes(of: UInt8(math.code(value)), toByteOffset: column, as: UInt8.self)
            }
        }
        for top in stride(from: 0, to: height, by: 2) {
            for left in stride(from: 0, to: width, by: 2) {
                var (sum, count) = (SIMD3<Float>(repeating: 0), Float(0))
                for row in top..<min(top + 2, height) {
                    for column in left..<min(left + 2, width) {
                        let pixel = pool + 4 * (row * width + column)
                        let rgb = SIMD3(Float(pixel[0]), Float(pixel[1]), Float(pixel[2])) / 65535
                        sum += rgb
                        count += 1
                        store(math.samples(rgb).x, 0, column, row)
                        if format == .yuva {
                            let alpha = UInt8((Int(pixel[3]) * 255 + 32767) / 65535)
                            let line = planes[3].base + row * planes[3].stride
                            line.storeBytes(of: alpha, toByteOffset: column, as: UInt8.self)
                        }
                    }
                }
                let mean = math.samples(sum / count)
                store(mean.y, 1, left / 2, top / 2)
                store(mean.z, 2, left / 2, top / 2)
            }
        }
        return canvas
    }
}
