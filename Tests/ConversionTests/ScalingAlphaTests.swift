// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

/// Premultiplied colors after a filter that rings.
@Suite(.serialized) struct ScalingAlphaTests {
    /// Opaque white and colored bars between transparent ones, premultiplied: the hardest edges.
    static func bars(_ image: ImageDescription) -> Picture {
        var picture = Picture(image.format, width: image.width, height: image.height)
        for y in 0..<image.height {
            for x in 0..<image.width {
                let alpha = (x / 5 + y / 7) % 2 == 0 ? 255 : (x / 11) % 2 * 60
                let colors = [alpha, x % 3 == 0 ? alpha : 0, alpha / 2, alpha]
                for component in 0..<4 { picture[component, x, y] = colors[component] }
            }
        }
        return picture
    }

    /// Pixels with a color above alpha.
    static func excess(_ picture: Picture) -> Int {
        var count = 0
        for y in 0..<picture.height {
            for x in 0..<picture.width
            where (0..<3).contains(where: { picture[$0, x, y] > picture[3, x, y] }) { count += 1 }
        }
        return count
    }

    static var cases: [Conversion] {
        [((61, 47), (83, 90)), ((64, 48), (32, 24)), ((90, 60), (37, 31))].flatMap { from, to in
            [PixelFormat.rgba8, .bgra8].map { format in
                Conversion(
                    source: ScalingCases.image(.rgba8, from.0, from.1),
                    target: ScalingCases.image(format, to.0, to.1))
            }
        }
    }

    @Test("No color exceeds alpha, with the reference and with each instruction set", arguments: cases.indices)
    func cpu(index: Int) throws {
        let conversion = Self.cases[index]
        let picture = Self.bars(conversion.source)
        let wanted = try ReferenceScaler(conversion).convert(picture)
        #expect(Self.excess(picture) == 0 && Self.excess(wanted) == 0)
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            let result = try picture.converted(
                by: ConverterChoice.onCPU(conversion, threads: 2), to: conversion.target)
            #expect(Self.excess(result) == 0, "\(level)")
            #expect(result.largestDifference(wanted) <= 1, "\(level)")
        }
    }

    @Test("Colors of which alpha is dropped, and light above white, are not limited")
    func others() throws {
        let dropped = Conversion(
            source: ScalingCases.image(.rgba8, 60, 40), target: ScalingCases.image(.nv12, 30, 20))
        let light = Conversion(
            source: ScalingCases.image(.rgba16f, 60, 40), target: ScalingCases.image(.rgba16f, 30, 20))
        for conversion in [dropped, light] {
            #expect(try !ScalingPlan(conversion).scaling.clipsToAlpha)
        }
    }
}

extension VulkanTests {
    /// The same by shaders.
    @Suite struct ScalingAlphaShaders {
        @Test("No color exceeds alpha, and shaders equal the CPU")
        func shaders() throws {
            let device = try TestDevice.get()
            for conversion in ScalingAlphaTests.cases {
                let picture = ScalingAlphaTests.bars(conversion.source)
                let converter = try ConverterChoice.on(device, conversion, SharedGPU(device))
                let result = try picture.converted(by: converter, to: conversion.target)
                let wanted = try picture.converted(
                    by: ConverterChoice.onCPU(conversion, threads: 1), to: conversion.target)
                #expect(ScalingAlphaTests.excess(result) == 0)
                #expect(result.largestDifference(wanted) <= 1)
            }
            try TestDevice.checkValidation()
        }
    }
}
