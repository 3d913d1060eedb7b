// SPDX-License-Identifier: MIT
package import HWDHEIF
package import HWDModel

extension StillCanvas {
    /// Writes the picture as 8 bits with another matrix or range; alpha is left out.
    ///
    /// Chroma stays where it is: gray is gray by every matrix, so Cb and Cr depend on Cb and Cr alone.
    /// - Parameters:
    ///   - color: how the samples are read, by weights of red and blue.
    ///   - target: planes of Y', Cb and Cr of the canvas's size.
    ///   - wanted: the matrix and the range of the result.
    package func convert(_ color: ColorDescription, to target: [MutablePlaneView], _ wanted: ColorDescription) {
        let change = ChromaChange(from: SampleMath(color, depth: format.bitDepth), to: SampleMath(wanted, depth: 8))
        let chroma = planes[1...2].map { PlaneView(base: UnsafeRawPointer($0.base), stride: $0.stride) }
        let rows = ChromaRows(
            CodedPlanes(
                planes: [chroma[0]] + chroma, bitDepth: format.bitDepth, chromaFormat: 1,
                size: PixelRect(width: width, height: height)), location: color.chromaLocation, columns: 0..<width)
        var (cb, cr) = ([Float](repeating: 0, count: width), [Float](repeating: 0, count: width))
        for row in 0..<height {
            if !change.keepsMatrix { rows.read(row, &cb, &cr) }
            let (line, result) = (
                planes[0].base + row * planes[0].stride, target[0].base + row * target[0].stride
            )
            for column in 0..<width {
                result.storeBytes(
                    of: change.luma(sample(line, column), cb[column], cr[column]), toByteOffset: column,
                    as: UInt8.self)
            }
        }
        for row in 0..<(height + 1) / 2 {
            let (blue, red) = (planes[1].base + row * planes[1].stride, planes[2].base + row * planes[2].stride)
            let (cb, cr) = (target[1].base + row * target[1].stride, target[2].base + row * target[2].stride)
            for column in 0..<(width + 1) / 2 {
                let codes = change.chroma(sample(blue, column), sample(red, column))
                cb.storeBytes(of: codes.cb, toByteOffset: column, as: UInt8.self)
                cr.storeBytes(of: codes.cr, toByteOffset: column, as: UInt8.self)
            }
        }
    }

    @inline(__always)
    private func sample(_ line: UnsafeMutableRawPointer, _ column: Int) -> Float {
        format.bytesPerSample == 2
            ? Float(line.load(fromByteOffset: 2 * column, as: UInt16.self))
            : Float(line.load(fromByteOffset: column, as: UInt8.self))
    }

    /// A part of the picture; where it begins at an odd place, chroma is the mean of the samples that it lies between.
    ///
    /// - Throws: what making a canvas throws.
    package func cropped(_ part: PixelRect) throws(ImageError) -> StillCanvas {
        if part == PixelRect(width: width, height: height) { return self }
        let result = try StillCanvas(format, width: part.width, height: part.height)
        for (index, (from, to)) in zip(planes, result.planes).enumerated() {
            let isChroma = index == 1 || index == 2
            let (columns, rows) = (
                isChroma ? (part.width + 1) / 2 : part.width, isChroma ? (part.height + 1) / 2 : part.height
            )
            let shift = isChroma ? 1 : 0
            let (last, bottom) = (((width + shift) >> shift) - 1, ((height + shift) >> shift) - 1)
            let (across, down) = (isChroma ? part.x & 1 : 0, isChroma ? part.y & 1 : 0)
            for row in 0..<rows {
                let y = (part.y >> shift) + row
                let above = from.base + y * from.stride
                let below = from.base + min(y + down, bottom) * from.stride
                for column in 0..<columns {
                    let x = (part.x >> shift) + column
                    let next = min(x + across, last)
                    let sum =
                        sample(above, x) + sample(above, next) + sample(below, x) + sample(below, next)
                    store((sum / 4).rounded(), to.base + row * to.stride, column)
                }
            }
        }
        return result
    }

    @inline(__always)
    private func store(_ value: Float, _ line: UnsafeMutableRawPointer, _ column: Int) {
        if format.bytesPerSample == 2 {
            line.storeBytes(of: UInt16(value), toByteOffset: 2 * column, as: UInt16.self)
        } else {
            line.storeBytes(of: UInt8(value), toByteOffset: column, as: UInt8.self)
        }
    }
}

/// What becomes of Y', Cb and Cr when the matrix and the range change: a linear function whose chroma needs no luma.
private struct ChromaChange {
    let keepsMatrix: Bool
    private let from: SampleMath
    private let to: SampleMath
    /// The samples of a color without luma, for each unit of Cb and Cr of the source.
    private let (blue, red): (SIMD3<Float>, SIMD3<Float>)
    private let zero: SIMD3<Float>

    init(from: SampleMath, to: SampleMath) {
        (self.from, self.to) = (from, to)
        keepsMatrix = from.hasMatrix(of: to)
        let black = from.samples(SIMD3(repeating: 0))
        zero = to.samples(SIMD3(repeating: 0))
        blue = to.samples(from.rgb(black.x, black.y + 1, black.z)) - zero
        red = to.samples(from.rgb(black.x, black.y, black.z + 1)) - zero
    }

    @inline(__always)
    func luma(_ y: Float, _ cb: Float, _ cr: Float) -> UInt8 {
        let gray = to.samples(from.gray(y)).x
        if keepsMatrix { return UInt8(to.code(gray)) }
        let zero = from.samples(SIMD3(repeating: 0))
        return UInt8(to.code(gray + (cb - zero.y) * blue.x + (cr - zero.z) * red.x))
    }

    @inline(__always)
    func chroma(_ cb: Float, _ cr: Float) -> (cb: UInt8, cr: UInt8) {
        let black = from.samples(SIMD3(repeating: 0))
        let (b, r) = (cb - black.y, cr - black.z)
        return (
            UInt8(to.code(zero.y + b * blue.y + r * red.y)), UInt8(to.code(zero.z + b * blue.z + r * red.z))
        )
    }
}
