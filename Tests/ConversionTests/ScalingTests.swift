// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension Picture {
    /// A picture with all its components, half floats in the usual range.
    static func scalable(_ image: ImageDescription, seed: UInt64) -> Picture {
        image.format == .yuva
            ? .any(image, seed: seed) : .noise(image.format, image.width, image.height, seed: seed)
    }

    /// The largest difference of a component, in codes, or for half floats in units of 1/1024 of the larger of 1 and the value.
    func largestDifference(_ other: Picture) -> Double {
        var largest = 0.0
        for component in 0..<(format.hasAlpha ? 4 : 3) {
            let isChroma = format.isYCbCr && (component == 1 || component == 2)
            for y in 0..<(isChroma ? chromaHeight : height) {
                for x in 0..<(isChroma ? chromaWidth : width) {
                    let (a, b) = (self[component, x, y], other[component, x, y])
                    guard format == .rgba16f else {
                        largest = max(largest, Double(abs(a - b)))
                        continue
                    }
                    let (first, second) = (Half.value(UInt16(a)), Half.value(UInt16(b)))
                    largest = max(largest, abs(first - second) * 1024 / max(1, abs(first)))
                }
            }
        }
        return largest
    }
}

/// Scaling on the CPU compared with `ReferenceScaler`.
@Suite(.serialized) struct ScalingTests {
    static func check(_ conversion: Conversion, limit: Double, seed: UInt64 = 3) throws {
        let picture = Picture.scalable(conversion.source, seed: seed)
        let wanted = try ReferenceScaler(conversion).convert(picture)
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            let converter = try ConverterChoice.onCPU(conversion, threads: 2)
            let result = try picture.converted(by: converter, to: conversion.target)
            let difference = result.largestDifference(wanted)
            #expect(difference <= limit, "\(difference): \(converter.device), \(conversion)")
        }
    }

    @Test("one step", arguments: ScalingCases.direct.indices)
    func direct(index: Int) throws {
        let conversion = ScalingCases.direct[index]
        #expect(try ScalingPlan(conversion).after == nil)
        try Self.check(conversion, limit: 1)
    }

    @Test("every siting", arguments: ScalingCases.sitings.indices)
    func sitings(index: Int) throws { try Self.check(ScalingCases.sitings[index], limit: 1) }

    @Test("modes and mirrored pictures", arguments: ScalingCases.modes.indices)
    func modes(index: Int) throws { try Self.check(ScalingCases.modes[index], limit: 1) }

    @Test("several steps", arguments: ScalingCases.stepped.indices)
    func stepped(index: Int) throws { try Self.check(ScalingCases.stepped[index], limit: 1.5) }

    @Test("a separate plane of alpha", arguments: ScalingCases.alphaPlanes.indices)
    func alphaPlanes(index: Int) throws { try Self.check(ScalingCases.alphaPlanes[index], limit: 1.5) }

    @Test func dithersAsTheReference() throws {
        let conversion = Conversion(
            source: ScalingCases.image(.p010, 64, 48), target: ScalingCases.image(.nv12, 40, 40),
            options: ConversionOptions(dither: true))
        #expect(try ScalingPlan(conversion).scaling.dithers)
        try Self.check(conversion, limit: 1)
    }

    @Test("a part of the same size is a copy of its samples")
    func crops() throws {
        var options = ConversionOptions()
        options.scaling = ScalingOptions(
            mode: .cropSourceToCleanAperture, cleanAperture: PictureRectangle(x: 6, y: 10, width: 20, height: 30))
        let conversion = Conversion(
            source: ScalingCases.image(.i010, 64, 48), target: ScalingCases.image(.i010, 20, 30), options: options)
        let picture = Picture.noise(.i010, 64, 48, seed: 8)
        let result = try picture.converted(by: ConverterChoice.onCPU(conversion), to: conversion.target)
        for y in 0..<30 {
            for x in 0..<20 { #expect(result[0, x, y] == picture[0, x + 6, y + 10]) }
        }
        for y in 0..<15 {
            for x in 0..<10 { #expect(result[1, x, y] == picture[1, x + 3, y + 5]) }
        }
    }

    @Test("effects are applied to the whole letterboxed picture, whatever is filtered")
    func effects() throws {
        let texts = ["cdl:offset=.25", "vignette:intensity=.8"]
        let targets = try ScalingOptions.Light.allCases.map { light in
            var options = ConversionOptions()
            options.scaling = ScalingOptions(light: light, mode: .letterbox)
            options.effects = Effects(list: try EffectList(texts: texts, .call))
            let conversion = Conversion(
                source: ScalingCases.image(.nv12, 64, 32), target: ScalingCases.image(.nv12, 48, 48),
                options: options)
            try Self.check(conversion, limit: 1.5)
            var gray = Picture(.nv12, width: 64, height: 32)
            for y in 0..<32 { for x in 0..<64 { gray[0, x, y] = 126 } }
            for y in 0..<16 { for x in 0..<32 { (gray[1, x, y], gray[2, x, y]) = (128, 128) } }
            return try gray.converted(by: ConverterChoice.onCPU(conversion), to: conversion.target)
        }
        // Bars are lifted, and darkest in the target's corners.
        for target in targets {
            #expect(target[0, 24, 2] > 100 && target[0, 24, 24] > target[0, 24, 2])
            #expect(target[0, 0, 0] < target[0, 24, 0] && abs(target[0, 0, 0] - target[0, 47, 47]) <= 1)
        }
        #expect(targets[0].largestDifference(targets[1]) <= 1)
    }

    @Test("large factors, many threads and whole rows of vectors agree with the reference")
    func factors() throws {
        let sizes = [
            ((640, 360), (80, 45)), ((80, 45), (640, 360)), ((16, 16), (128, 2)), ((202, 50), (101, 25)),
            ((402, 40), (201, 61)), ((404, 20), (101, 20)), ((99, 40), (99, 20)), ((150, 90), (50, 30)),
        ]
        for (from, to) in sizes {
            for format in [PixelFormat.nv12, .i010, .rgba8, .rgba16f] {
                try Self.check(
                    Conversion(
                        source: ScalingCases.image(format, from.0, from.1),
                        target: ScalingCases.image(format, to.0, to.1)), limit: 1)
            }
        }
    }

    @Test("half widths, which are scaled in integers", arguments: ScalingCases.halved.indices)
    func halves(index: Int) throws { try Self.check(ScalingCases.halved[index], limit: 1) }

    @Test("levels stay what they are where a width becomes a half", arguments: [PixelFormat.nv12, .p010])
    func levels(format: PixelFormat) throws {
        let conversion = Conversion(
            source: ScalingCases.image(format, 70, 46), target: ScalingCases.image(format, 35, 23))
        let top = (1 << format.bitDepth) - 1
        for code in [0, 1, top / 2, top - 1, top] {
            var picture = Picture(format, width: 70, height: 46)
            for y in 0..<46 { for x in 0..<70 { picture[0, x, y] = code } }
            for component in 1...2 {
                for y in 0..<23 { for x in 0..<35 { picture[component, x, y] = code } }
            }
            for level in Int32(0)...2 {
                hwd_limit_instructions(level)
                defer { hwd_limit_instructions(2) }
                let result = try picture.converted(by: ConverterChoice.onCPU(conversion), to: conversion.target)
                #expect((0..<23).allSatisfy { y in (0..<35).allSatisfy { result[0, $0, y] == code } })
                #expect((0..<12).allSatisfy { y in (0..<18).allSatisfy { result[2, $0, y] == code } })
            }
        }
    }

    @Test("what cannot be scaled is refused")
    func refuses() {
        func error(_ from: (Int, Int), _ to: (Int, Int), _ scaling: ScalingOptions = ScalingOptions()) -> Status? {
            do throws(SessionError) {
                _ = try ConverterChoice.onCPU(
                    Conversion(
                        source: ScalingCases.image(.nv12, from.0, from.1),
                        target: ScalingCases.image(.nv12, to.0, to.1),
                        options: ConversionOptions(scaling: scaling)))
                return nil
            } catch { return error.status }
        }
        #expect(error((64, 64), (7, 64)) == .parameter)
        #expect(error((64, 64), (513, 64)) == .parameter)
        #expect(error((64, 64), (8, 512)) == nil)
        #expect(error((64, 64), (0, 64)) == .parameter)
        for part in [(60, 0, 8, 8), (0, 60, 8, 8), (0, 0, 0, 8), (.max, .max, .max, .max)]
            as [(UInt32, UInt32, UInt32, UInt32)]
        {
            let outside = PictureRectangle(x: part.0, y: part.1, width: part.2, height: part.3)
            #expect(
                error((64, 64), (64, 64), ScalingOptions(mode: .letterbox, cleanAperture: outside)) == .parameter)
        }
    }
}

extension VulkanTests {
    /// Scaling by shaders compared with the CPU's loops.
    @Suite struct ScalingShaders {
        private func check(_ conversion: Conversion, limit: Int? = nil, seed: UInt64 = 4) throws {
            let device = try TestDevice.get()
            let converter = try ConverterChoice.on(device, conversion, SharedGPU(device))
            if let limit, let scaler = converter as? VulkanScaler { scaler.bindingLimit = limit }
            let picture = Picture.scalable(conversion.source, seed: seed)
            let wanted = try picture.converted(
                by: ConverterChoice.onCPU(conversion, threads: 1), to: conversion.target)
            let result = try picture.converted(by: converter, to: conversion.target)
            let difference = result.largestDifference(wanted)
            #expect(difference <= 1, "\(difference): \(conversion)")
            try TestDevice.checkValidation()
        }

        @Test("one step") func direct() throws {
            for conversion in ScalingCases.direct { try check(conversion) }
        }

        @Test("every siting, modes and mirrored pictures") func shapes() throws {
            for conversion in ScalingCases.sitings + ScalingCases.modes { try check(conversion) }
        }

        @Test("several steps") func stepped() throws {
            for conversion in ScalingCases.stepped { try check(conversion) }
        }

        @Test("slices") func slices() throws {
            for conversion in ScalingCases.direct + ScalingCases.modes { try check(conversion, limit: 12000) }
        }
    }
}
