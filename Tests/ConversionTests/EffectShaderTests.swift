// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension VulkanTests {
    /// Lists of effects in shaders, against the reference.
    @Suite struct EffectShaders {
        static func options(_ list: [String]) throws -> ConversionOptions {
            var options = ConversionOptions()
            options.effects = Effects(
                list: try EffectList(texts: list, .call), tables: try EffectLoopTests.tables())
            return options
        }

        @Test("random pixels from half floats, as straight and as premultiplied")
        func halves() throws {
            let light = SignalDescription(primaries: .displayP3, transfer: .linear)
            for (index, list) in (EffectLoopTests.lists + EffectLoopTests.loopLists).enumerated() {
                for alpha in [AlphaMode.straight, .premultiplied] {
                    try expectCorrect(
                        CPUConverterTests.conversion(
                            .rgba16f, light, .rgba16f, light, width: 53, height: 20, alpha: (alpha, alpha),
                            options: try Self.options(list)),
                        seed: UInt64(index + 1))
                }
            }
        }

        @Test("pixels with known results")
        func points() throws {
            for list in EffectLoopTests.lists {
                let (conversion, picture) = try EffectLoopTests.pointsOf(list)
                let reference = try ReferenceConverter(conversion)
                let converter = try VulkanConverter(reference.plan, on: TestDevice.get())
                let result = try convert(picture, with: converter, to: .rgba16f)
                #expect(distance(result, from: reference.values(picture)) <= 1, "\(list)")
            }
            try TestDevice.checkValidation()
        }

        @Test("a power of a bright channel leaves the others")
        func brightChannel() throws {
            let (conversion, picture) = try EffectLoopTests.pointsOf(
                EffectLoopTests.bright.list, [EffectLoopTests.bright.point])
            for isSoftware in [true, false] {
                let converter = try VulkanConverter(
                    ReferenceConverter(conversion).plan, on: TestDevice.get(), isSoftware: isSoftware)
                let result = try convert(picture, with: converter, to: .rgba16f)
                let values = (0..<3).map { Half.value(UInt16(result[$0, 0, 0])) }
                #expect(EffectLoopTests.keepsOthers(values), "\(values)")
            }
            try TestDevice.checkValidation()
        }

        @Test("video to half floats, bytes and video with every filter of chroma")
        func video() throws {
            let light = SignalDescription(primaries: .displayP3, transfer: .linear)
            let sdr = SignalDescription()
            var sited = SignalDescription(siting: .topLeft)
            for (index, list) in EffectLoopTests.videoLists.enumerated() {
                var options = try Self.options(list)
                try expectCorrect(CPUConverterTests.conversion(.nv12, sdr, .rgba16f, light, options: options))
                try expectCorrect(
                    CPUConverterTests.conversion(
                        .nv12, sdr, .bgra8, SignalDescription(transfer: .sRGB), options: options))
                options.chromaDownsampling = .siting
                sited.siting = ChromaSiting.allCases[index % ChromaSiting.allCases.count]
                let target = PixelFormat.yCbCr[index % PixelFormat.yCbCr.count]
                try expectCorrect(CPUConverterTests.conversion(.nv12, sdr, target, sited, options: options))
            }
        }

        @Test("the form for GPUs writes the same pixels")
        func formForGPUs() throws {
            let light = SignalDescription(primaries: .displayP3, transfer: .linear)
            let list = ["cdl:power=1.1", "vignette", "lut:table=0,space=pq", "background:color=204060"]
            for target in [PixelFormat.rgba16f, .rgba8, .yu12, .p010] {
                let coded = SignalDescription(transfer: target.isRGB ? .sRGB : .bt1886)
                let signal = target == .rgba16f ? light : coded
                let conversion = CPUConverterTests.conversion(
                    .rgba16f, light, target, signal, options: try Self.options(list))
                let reference = try ReferenceConverter(conversion)
                let picture = Picture.noise(.rgba16f, 37, 11, seed: 3)
                let converter = try VulkanConverter(reference.plan, on: TestDevice.get(), isSoftware: false)
                let result = try convert(picture, with: converter, to: target)
                #expect(distance(result, from: reference.values(picture)) <= 1, "\(target)")
            }
            try TestDevice.checkValidation()
        }

        @Test("a list alone does not need the CPU")
        func choice() throws {
            let light = SignalDescription(primaries: .displayP3, transfer: .linear)
            let conversion = CPUConverterTests.conversion(
                .rgba16f, light, .rgba16f, light, options: try Self.options(["sepia"]))
            let chosen = try ConverterChoice.choose(for: conversion, ConverterChoice.Request(.vulkan))
            #expect(!chosen.converter.isCPU)
        }
    }
}
