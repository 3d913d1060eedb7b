// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension VulkanTests {
    /// The shaders' shapes for GPUs against those for software, which other tests compare with the reference.
    @Suite struct Shapes {
        /// Every target, from Y'CbCr and from RGB.
        static let pairs: [(PixelFormat, PixelFormat)] = [
            (.p010, .rgba16f), (.nv12, .rgba16f), (.bgra8, .rgba16f), (.i010, .bgra8), (.rgba16f, .rgba8),
            (.rgba16f, .p010), (.nv12, .p010), (.rgba16f, .nv12), (.p010, .nv12), (.bgra8, .i010), (.yu12, .i010),
            (.rgba16f, .yu12), (.p010, .yu12),
        ]
        private static let poolSize = 1 << 18
        private static let untouched: UInt8 = 0xA5

        private static func image(_ format: PixelFormat, _ width: Int, _ height: Int) -> ImageDescription {
            let signal =
                format == .rgba16f
                ? SignalDescription(primaries: .displayP3, transfer: .linear)
                : format.bitDepth == 10
                    ? SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020, siting: .topLeft)
                    : SignalDescription(siting: format.isSemiPlanar ? .left : .center)
            return ImageDescription(format: format, width: width, height: height, signal: signal)
        }

        /// Planes one after the other, with at least sixteen bytes between rows, and where they end.
        private static func planes(
            _ image: ImageDescription, from start: Int
        ) -> (planes: [(offset: Int, stride: Int, rowBytes: Int, rows: Int)], end: Int) {
            var end = start
            let planes = (0..<image.format.planeCount).map { plane in
                let rowBytes = image.format.rowBytes(plane: plane, width: image.width)
                let rows = image.format.rows(plane: plane, height: image.height)
                let (offset, stride) = (end, rowBytes.roundedUp(to: 16) + 16)
                end += rows * stride
                return (offset, stride, rowBytes, rows)
            }
            return (planes, end)
        }

        @Test("shaders for GPUs write the same bytes, and none between rows", arguments: pairs)
        func sameBytes(_ source: PixelFormat, _ target: PixelFormat) throws {
            let device = try TestDevice.get()
            let memory = mmap(
                nil, Self.poolSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)
            let pool = try #require(memory != MAP_FAILED ? memory : nil)
            defer { munmap(pool, Self.poolSize) }
            let whole = UnsafeRawBufferPointer(start: pool, count: Self.poolSize)
            try device.importMemory(whole, isWritable: true)
            defer { device.forgetMemory(pool) }
            for width in [1, 2, 3, 4, 6, 7, 8, 10, 12, 14, 17, 18, 30, 34, 70, 130, 258] {
                let height = width % 7 + 1
                let conversion = Conversion(
                    source: Self.image(source, width, height), target: Self.image(target, width, height),
                    options: ConversionOptions(chromaDownsampling: width % 4 == 0 ? .box : .siting))
                let plan = try ConversionPlan(conversion)
                let from = Self.planes(conversion.source, from: 0)
                let to = Self.planes(conversion.target, from: from.end.roundedUp(to: 256))
                try #require(to.end <= Self.poolSize)
                let picture = Picture.noise(source, width, height, seed: UInt64(width))
                let results = try [true, false].map { isSoftware in
                    memset(pool, Int32(Self.untouched), Self.poolSize)
                    for (plane, bytes) in zip(from.planes, picture.planes) {
                        for row in 0..<plane.rows {
                            let samples = Array(bytes[row * plane.rowBytes..<(row + 1) * plane.rowBytes])
                            (pool + plane.offset + row * plane.stride).copyMemory(
                                from: samples, byteCount: plane.rowBytes)
                        }
                    }
                    let converter = try VulkanConverter(plan, on: device, isSoftware: isSoftware)
                    try converter.convert(
                        from.planes.map { PlaneView(base: pool + $0.offset, stride: $0.stride) },
                        into: to.planes.map { MutablePlaneView(base: pool + $0.offset, stride: $0.stride) })
                    return Array(whole)
                }
                #expect(results[0] == results[1], "\(width)x\(height)")
                for plane in to.planes {
                    for row in 0..<plane.rows {
                        let start = plane.offset + row * plane.stride
                        let gap = results[1][start + plane.rowBytes..<start + plane.stride]
                        #expect(gap.allSatisfy { $0 == Self.untouched }, "\(width)x\(height), row \(row)")
                    }
                }
            }
            try TestDevice.checkValidation()
        }
    }
}
