// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel
import HWDConversion
import Testing

/// Reproducible random numbers.
struct Numbers: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 | 1 }

    mutating func next() -> UInt64 {
        // xorshift64* (Vigna 2016).
        state ^= state >> 12
        state ^= state << 25
        state ^= state >> 27
        return state &* 0x2545_F491_4F6C_DD1D
    }
}

extension Picture {
    /// A picture of random codes; half floats include NaN and infinities.
    static func any(_ image: ImageDescription, seed: UInt64 = 1) -> Picture {
        var numbers = Numbers(seed)
        var picture = Picture(image.format, width: image.width, height: image.height)
        let isYCbCr = image.format.isYCbCr
        for component in 0..<(image.format.hasAlpha ? 4 : 3) {
            let isChroma = isYCbCr && (component == 1 || component == 2)
            for y in 0..<(isChroma ? picture.chromaHeight : picture.height) {
                for x in 0..<(isChroma ? picture.chromaWidth : picture.width) {
                    picture[component, x, y] =
                        image.format == .rgba16f
                        ? Int(half(component, &numbers))
                        : Int.random(in: 0...image.format.top(component), using: &numbers)
                }
            }
        }
        return picture
    }

    private static func half(_ component: Int, _ numbers: inout Numbers) -> UInt16 {
        if component == 3 { return Float16(Double.random(in: 0...1, using: &numbers)).bitPattern }
        switch Int.random(in: 0..<16, using: &numbers) {
        case 0: return UInt16.random(in: 0...UInt16.max, using: &numbers)
        case 1: return Float16(Double.random(in: 0...60, using: &numbers)).bitPattern
        case 2: return Float16(Double.random(in: -0.5...0, using: &numbers)).bitPattern
        case 3: return [0x7C00, 0xFC00, 0x7E01, 0x0001, 0x8000, 0x7BFF].randomElement(using: &numbers) ?? 0
        default: return Float16(Double.random(in: 0...4, using: &numbers)).bitPattern
        }
    }

    /// The converted picture; gaps between rows must stay unchanged.
    func converted(by converter: any PixelConverter, to target: ImageDescription) throws -> Picture {
        let gap = 8
        let filler: UInt8 = 0xA5
        func spread(_ format: PixelFormat, _ plane: Int, _ bytes: [UInt8]?) -> (bytes: [UInt8], stride: Int) {
            let row = format.rowBytes(plane: plane, width: bytes == nil ? target.width : width)
            let rows = format.rows(plane: plane, height: bytes == nil ? target.height : height)
            var all = [UInt8](repeating: filler, count: (row + gap) * rows)
            if let bytes {
                for line in 0..<rows {
                    all.replaceSubrange(
                        line * (row + gap)..<line * (row + gap) + row, with: bytes[line * row..<(line + 1) * row])
                }
            }
            return (all, row + gap)
        }
        let sources = planes.indices.map { spread(format, $0, planes[$0]) }
        let targets = (0..<target.format.planeCount).map { spread(target.format, $0, nil) }
        let from = sources.map { UnsafeMutableRawBufferPointer.copy($0.bytes) }
        let to = targets.map { UnsafeMutableRawBufferPointer.copy($0.bytes) }
        defer { (from + to).forEach { $0.deallocate() } }
        try converter.convert(
            try zip(from, sources).map {
                PlaneView(base: UnsafeRawPointer(try #require($0.baseAddress)), stride: $1.stride)
            },
            into: try zip(to, targets).map {
                MutablePlaneView(base: try #require($0.baseAddress), stride: $1.stride)
            })
        var result = Picture(target.format, width: target.width, height: target.height)
        for plane in to.indices {
            let row = target.format.rowBytes(plane: plane, width: target.width)
            for line in 0..<target.format.rows(plane: plane, height: target.height) {
                let start = line * (row + gap)
                result.planes[plane].replaceSubrange(
                    line * row..<(line + 1) * row, with: to[plane][start..<start + row])
                let isUntouched = to[plane][start + row..<start + row + gap].allSatisfy { $0 == filler }
                #expect(isUntouched, "bytes after row \(line) of plane \(plane) were written")
            }
        }
        return result
    }
}

extension UnsafeMutableRawBufferPointer {
    /// Memory of exactly these bytes, so that a sanitizer detects accesses beyond them.
    static func copy(_ bytes: [UInt8]) -> UnsafeMutableRawBufferPointer {
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: bytes.count, alignment: 16)
        memory.copyBytes(from: bytes)
        return memory
    }
}

extension PixelFormat {
    /// The largest code of a component.
    func top(_ component: Int) -> Int { component == 3 ? alphaTop : 1 << bitDepth - 1 }

    /// The code of a converter's value before rounding; unused bits are ones.
    func code(_ value: Double, _ component: Int) -> Double {
        guard component == 3 else { return value }
        return hasAlpha ? value * Double(alphaTop) : Double(alphaTop)
    }
}

/// The distance of a result from the reference.
struct Difference {
    /// Of half floats: in units in the last place of the value, or in eighths of that of the largest component; the smaller.
    var halves = 0.0
    /// Of codes: from the value before rounding; 0.5 at best.
    var codes = 0.0

    init(_ result: Picture, _ values: ReferenceConverter.Values, dithered: Bool = false) {
        let format = result.format
        let top = Double(1 << format.bitDepth) - 1
        for (component, plane) in values.enumerated() {
            let width = format.isYCbCr && (component == 1 || component == 2) ? result.chromaWidth : result.width
            for (index, value) in plane.enumerated() {
                let code = result[component, index % width, index / width]
                guard format == .rgba16f else {
                    let wanted = format.code(value, component)
                    codes = max(codes, abs(Double(code) - min(max(wanted, 0), top)))
                    continue
                }
                let wanted = min(max(value, -Half.limit), Half.limit)
                let largest = values.prefix(3).map { min(abs($0[index]), Half.limit) }.max() ?? 0
                let error = abs(Half.value(UInt16(code)) - wanted)
                halves = max(halves, min(error / Self.unit(wanted), error / Self.unit(largest) * 8))
            }
        }
    }

    /// A half float's unit in the last place.
    private static func unit(_ value: Double) -> Double {
        let exponent = value == 0 ? -14 : max(Int(value.magnitude.exponent), -14)
        return Double(sign: .plus, exponent: exponent - 10, significand: 1)
    }
}
