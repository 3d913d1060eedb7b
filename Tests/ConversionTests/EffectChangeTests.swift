// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

/// Converters that take other parameters of their effects, and effects of the older members.
@Suite(.serialized) struct EffectParameterTests {
    /// Lists of the same effects, and whether one shader serves both.
    static let pairs: [(first: [String], second: [String], sharesShader: Bool)] = [
        (["exposure:ev=-2", "vignette:intensity=.8"], ["exposure:ev=2", "vignette:intensity=.3,radius=2"], true),
        (
            ["curve:points=0/0/.5/.52/1/1", "vignette", "sepia:amount=.1"],
            ["curve:points=0/0/.2/.3/.5/.6/1/1", "vignette:intensity=.1", "sepia:amount=.7"], true
        ),
        (["lut:table=0,space=srgb"], ["lut:table=2,space=srgb"], true),
        (["lut:table=0,space=srgb"], ["lut:table=1,space=linear"], false),
        (["cdl:slope=1.1,sat=1.2"], ["cdl:power=1.2,sat=.8"], false),
        (
            ["key:color=1acc33,blend=.2", "despill", "background:color=204060"],
            ["key:color=cc331a,blend=1", "despill:amount=.5", "background:color=ffffff"], true
        ),
    ]

    static let light = SignalDescription(primaries: .displayP3, transfer: .linear)

    static func conversion(
        _ list: [String], _ source: PixelFormat, _ signal: SignalDescription
    ) throws -> Conversion {
        var options = ConversionOptions()
        let tables = try EffectLoopTests.tables()
        let other = Array("LUT_3D_SIZE 2\n0 0 0\n.9 0 0\n0 .8 0\n1 1 0\n0 0 1\n1 0 1\n0 1 1\n1 1 .9\n".utf8)
        options.effects = Effects(
            list: try EffectList(texts: list, .call), tables: tables + [try CubeTable(text: other)])
        return CPUConverterTests.conversion(source, signal, .rgba16f, light, options: options)
    }

    @Test("the CPU's loops, there and back", arguments: pairs.indices)
    func loops(index: Int) throws {
        let (first, second, _) = Self.pairs[index]
        for (format, signal) in [(PixelFormat.rgba16f, Self.light), (.nv12, SignalDescription())] {
            let steps = try [first, second, first].map { try Self.conversion($0, format, signal) }
            let picture = Picture.noise(format, steps[0].source.width, steps[0].source.height, seed: 7)
            for level in Int32(0)...2 {
                hwd_limit_instructions(level)
                defer { hwd_limit_instructions(2) }
                let converter = try CPUConverter(steps[0], threads: 1)
                for conversion in steps {
                    #expect(try converter.change(to: conversion))
                    let result = try picture.converted(by: converter, to: conversion.target)
                    let error = Difference(result, try ReferenceConverter(conversion).values(picture)).halves
                    #expect(error <= 1, "\(error) units, \(String(cString: hwd_instructions())), \(conversion)")
                }
            }
        }
    }

    @Test("other effects, another order and another conversion need another converter")
    func refused() throws {
        let list = ["exposure:ev=1", "vignette"]
        let converter = try CPUConverter(Self.conversion(list, .rgba16f, Self.light), threads: 1)
        for other in [["exposure:ev=1"], ["vignette", "exposure:ev=1"], []] {
            #expect(try !converter.change(to: Self.conversion(other, .rgba16f, Self.light)), "\(other)")
        }
        #expect(try !converter.change(to: Self.conversion(list, .nv12, SignalDescription())))
        var white = try Self.conversion(list, .rgba16f, Self.light)
        white.options.referenceWhite = 100
        #expect(try !converter.change(to: white))
    }

    /// The older members of effects, and FNV-1a hashes (64 bits) of frames that the loops of revision ee7e3d2d, the last before lists,
    /// make with AVX-512, AVX2 and neither.
    private static let members: [(Effects, [Int32: UInt64])] = [
        (Effects(exposure: 1.5), [2: 0x3909_b60f_b462_66d0, 1: 0x3909_b60f_b462_66d0, 0: 0x3909_b60f_b462_66d0]),
        (Effects(saturation: 0.5), [2: 0xe5c2_f961_01a8_7a9f, 1: 0xe5c2_f961_01a8_7a9f, 0: 0xe5c2_f961_01a8_7a9f]),
        (Effects(sepia: 0.6), [2: 0x0c8f_cf7a_6937_8f81, 1: 0x0c8f_cf7a_6937_8f81, 0: 0x0c8f_cf7a_6937_8f81]),
        (
            Effects(exposure: -0.75, saturation: 1.4, sepia: 0.25),
            [2: 0x3e30_e67d_803d_ac3f, 1: 0x3e30_e67d_803d_ac3f, 0: 0x9428_d74a_808e_c0a4]
        ),
    ]

    @Test("the older members give the same bits as before there were lists")
    func oldMembers() throws {
        var picture = Picture(.rgba16f, width: 61, height: 16)
        var state: UInt64 = 1
        for y in 0..<picture.height {
            for x in 0..<picture.width {
                for channel in 0..<4 {
                    // Knuth's MMIX generator.
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let number = Double(state >> 52)
                    let value =
                        channel == 3 ? number.truncatingRemainder(dividingBy: 257) / 256 : number / 512 - 0.25
                    picture[channel, x, y] = Int(Float16(value).bitPattern)
                }
            }
        }
        for (effects, wanted) in Self.members {
            let conversion = CPUConverterTests.conversion(
                .rgba16f, Self.light, .rgba16f, Self.light, width: picture.width, height: picture.height,
                options: ConversionOptions(effects: effects))
            for limit in Int32(0)...2 {
                hwd_limit_instructions(limit)
                defer { hwd_limit_instructions(2) }
                let result = try picture.converted(by: CPUConverter(conversion, threads: 1), to: conversion.target)
                let hash = result.planes[0].reduce(UInt64(0xcbf2_9ce4_8422_2325)) {
                    ($0 ^ UInt64($1)) &* 0x100_0000_01b3
                }
                #expect(hash == wanted[hwd_level()], "\(effects), \(String(cString: hwd_instructions()))")
            }
        }
    }
}

extension VulkanTests {
    /// Shaders that take other parameters of their effects.
    @Suite struct EffectParameters {
        @Test("shaders, there and back", arguments: EffectParameterTests.pairs.indices)
        func shaders(index: Int) throws {
            let (first, second, sharesShader) = EffectParameterTests.pairs[index]
            let steps = try [first, second, first].map {
                try EffectParameterTests.conversion($0, .rgba16f, EffectParameterTests.light)
            }
            let picture = Picture.noise(.rgba16f, steps[0].source.width, steps[0].source.height, seed: 7)
            let converter = try VulkanConverter(ConversionPlan(steps[0]), on: TestDevice.get())
            guard sharesShader else {
                #expect(try !converter.change(to: steps[1]))
                return
            }
            for conversion in steps {
                #expect(try converter.change(to: conversion))
                let result = try convert(picture, with: converter, to: .rgba16f)
                let values = try ReferenceConverter(conversion).values(picture)
                #expect(distance(result, from: values) <= 1, "\(conversion.options.effects.list)")
            }
            try TestDevice.checkValidation()
        }
    }
}
