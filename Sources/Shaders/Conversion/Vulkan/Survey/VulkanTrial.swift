// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

/// Converts small pictures on a device and compares them with `ReferenceConverter`.
enum VulkanTrial {
    private static let size = (width: 32, height: 16)
    /// The size of source and target in bytes, for half floats, the larger format.
    static let memorySize = 2 * size.width * size.height * 8 + 2 * pageSize
    private static let pageSize = 65536

    /// PQ of BT.2020 to half floats of Display P3: range, chroma, matrix, curve and primaries at once.
    private static let toHalves = Conversion(
        source: image(.p010, SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020)),
        target: image(.rgba16f, SignalDescription(primaries: .displayP3, transfer: .linear)))
    /// Half floats to HLG, which uses the other shader.
    private static let toCodes = Conversion(
        source: image(.rgba16f, SignalDescription(primaries: .displayP3, transfer: .linear)),
        target: image(.p010, SignalDescription(primaries: .bt2020, transfer: .hlg, matrix: .bt2020)))

    private static func image(_ format: PixelFormat, _ signal: SignalDescription) -> ImageDescription {
        ImageDescription(format: format, width: size.width, height: size.height, signal: signal)
    }

    /// Why a device's conversions are wrong; nil when they are correct.
    ///
    /// - Parameter memory: memory for the pictures, used in place; nil copies them.
    static func fault(
        of gpu: VulkanDevice, in memory: UnsafeMutableRawBufferPointer?
    ) throws(SessionError) -> String? {
        // One direction suffices in place, because it both reads and writes there.
        for conversion in memory == nil ? [toHalves, toCodes] : [toHalves] {
            let reference = try ReferenceConverter(conversion)
            let picture = pattern(conversion.source.format)
            let converter = try VulkanConverter(reference.plan, on: gpu)
            if let memory { try gpu.importMemory(UnsafeRawBufferPointer(memory), isWritable: true) }
            defer { if let base = memory?.baseAddress { gpu.forgetMemory(base) } }
            let result = try convert(picture, by: converter, to: conversion.target.format, in: memory)
            let error = distance(of: result, from: reference.values(picture))
            guard error <= 1 else {
                let name = conversion.target.format == .rgba16f ? "half floats" : "HLG codes"
                return "\(name)\(memory == nil ? "" : " in host memory") are wrong"
            }
        }
        return nil
    }

    /// Gray and color ramps over the whole range, without codes outside the nominal range.
    private static func pattern(_ format: PixelFormat) -> Picture {
        var picture = Picture(format, width: size.width, height: size.height)
        for y in 0..<size.height {
            for x in 0..<size.width {
                let step = (y * size.width + x) * 876 / (size.width * size.height - 1)
                if format == .rgba16f {
                    for component in 0..<3 {
                        // Up to 4 times reference white, with a different slope for each component.
                        let light = Double((step * (component + 1)) % 877) / 219
                        picture[component, x, y] = Int(Half.bits(light))
                    }
                    picture[3, x, y] = Int(Half.bits(1))
                } else {
                    picture[0, x, y] = 64 + step
                }
            }
        }
        guard format.isYCbCr else { return picture }
        for y in 0..<picture.chromaHeight {
            for x in 0..<picture.chromaWidth {
                picture[1, x, y] = 512 + (x - picture.chromaWidth / 2) * 12
                picture[2, x, y] = 512 + (y - picture.chromaHeight / 2) * 24
            }
        }
        return picture
    }

    /// Converts a picture in `memory`, or in temporary memory.
    private static func convert(
        _ picture: Picture, by converter: VulkanConverter, to format: PixelFormat,
        in memory: UnsafeMutableRawBufferPointer?
    ) throws(SessionError) -> Picture {
        let own: UnsafeMutableRawBufferPointer? =
            memory == nil ? .allocate(byteCount: memorySize, alignment: 4096) : nil
        defer { own?.deallocate() }
        guard let memory = memory ?? own, memory.count >= memorySize, let base = memory.baseAddress else {
            throw SessionError(.allocationFailed, "no memory for a picture")
        }
        memory.initializeMemory(as: UInt8.self, repeating: 0)
        let middle = memorySize / 2
        var at = 0
        var source: [PlaneView] = []
        for (plane, bytes) in picture.planes.enumerated() {
            (base + at).copyMemory(from: bytes, byteCount: bytes.count)
            source.append(
                PlaneView(base: base + at, stride: picture.format.rowBytes(plane: plane, width: picture.width)))
            at += bytes.count
        }
        var result = Picture(format, width: picture.width, height: picture.height)
        at = middle
        var target: [MutablePlaneView] = []
        for (plane, bytes) in result.planes.enumerated() {
            target.append(
                MutablePlaneView(base: base + at, stride: format.rowBytes(plane: plane, width: picture.width)))
            at += bytes.count
        }
        try converter.convert(source, into: target)
        at = middle
        for plane in result.planes.indices {
            let count = result.planes[plane].count
            result.planes[plane] = Array(memory[at..<at + count])
            at += count
        }
        return result
    }

    /// The distance of a picture from the reference, at most 1 for a correct one.
    ///
    /// For half floats in units in the last place of the value, or in eighths of that of the pixel's largest component; for
    /// codes in units of rounding (0.5) plus 0.1 for fp32.
    private static func distance(of picture: Picture, from values: ReferenceConverter.Values) -> Double {
        func unit(_ value: Double) -> Double {
            let exponent = value == 0 ? -14 : max(Int(value.magnitude.exponent), -14)
            return Double(sign: .plus, exponent: exponent - 10, significand: 1)
        }
        var worst = 0.0
        for (component, plane) in values.enumerated() {
            let isChroma = picture.format.isYCbCr && component > 0
            let width = isChroma ? picture.chromaWidth : picture.width
            for (index, exact) in plane.enumerated() {
                let code = picture[component, index % width, index / width]
                if picture.format == .rgba16f {
                    let bits = UInt16(truncatingIfNeeded: code)
                    // No device may write these, and Half.value would map them to finite values.
                    guard Float16(bitPattern: bits).isFinite else { return .infinity }
                    let largest = values.prefix(3).map { abs($0[index]) }.max() ?? 0
                    let allowed = max(unit(exact), unit(largest) / 8)
                    worst = max(worst, abs(Half.value(bits) - exact) / allowed)
                } else {
                    worst = max(worst, abs(Double(code) - min(max(exact, 0), 1023)) / 0.6)
                }
            }
        }
        return worst
    }
}
