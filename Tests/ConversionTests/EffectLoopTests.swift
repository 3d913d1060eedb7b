// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDPixels
import HWDColor
import HWDConversion
import HWDModel
import Testing

/// The CPU's loops for effects, of every instruction set, against the reference.
@Suite(.serialized) struct EffectLoopTests {
    static let lists = otherLists + affineLists

    private static let otherLists: [[String]] = [
        ["vignette:intensity=.3", "exposure:ev=1.5", "saturation:s=1.4"], ["sepia"], ["sepia:amount=.6"],
        ["cdl:slope=1.1/1/.9,offset=-.03/-.02/.01,power=1.25/1/.8,sat=1.7"],
        ["cdl:slope=1.1/1/.9,offset=-.03/-.02/.01,power=1.25/1/.8,sat=1.7,clamp=true"],
        ["cdl:slope=1.1,power=1.2,space=srgb"], ["cdl:slope=1.05,sat=1.2,space=pq"],
        ["cdl:slope=0.9,sat=0.8,space=hlg"], ["cdl:slope=1.1,offset=.01,sat=0.9,space=acescct"],
        ["vignette:intensity=.8"], ["curve:points=0/0/.18/.12/.5/.55/1/1/4/3"],
        ["key:color=1acc33,similarity=.12,blend=.1"], ["key:color=1acc33,similarity=.12,blend=0"],
        ["key:color=1acc33,similarity=.01,blend=1", "despill", "background:color=204060@p3"],
        ["lut:table=0,space=pq"], ["lut:table=0,space=hlg"], ["lut:table=0,space=srgb"],
        ["lut:table=0,space=gamma24,headroom=scale"], ["lut:table=0,space=acescct"], ["lut:table=1,space=linear"],
        ["exposure:ev=-1", "saturation:s=.8", "cdl:power=1.1", "vignette"],
        // Steps are never more than effects, though offsets stay behind vignettes.
        ["vignette:intensity=.4", "cdl:slope=.98,offset=.01"]
            + Array(
                repeating: ["curve:points=0/0/.5/.52/1/1", "vignette:intensity=.1", "cdl:slope=.98,offset=.01"],
                count: 4
            ).joined() + ["sepia:amount=.2", "vignette"],
    ]

    /// Lists that are a matrix, offsets and vignettes.
    static let affineLists: [[String]] = [
        ["exposure:ev=.5", "saturation:s=1.2", "cdl:slope=1.1/1/.9,offset=.01,sat=1.1", "vignette"],
        ["vignette:intensity=.5", "exposure:ev=.7", "saturation:s=.6"],
        ["vignette:intensity=.9", "cdl:slope=1.1/.9/1,offset=.02/0/-.01", "exposure:ev=.3", "vignette:radius=2"],
        ["cdl:slope=.9,offset=-.02/.03/0,sat=1.3", "exposure:ev=-.5"],
    ]

    /// Powers that are computed as squares of others, and more pieces than a register of AVX2 and of AVX-512 holds.
    static let loopLists: [[String]] = [
        ["cdl:power=6/.3/2.6"], [curve(9) { $0 * $0 }], [curve(16) { 2 * $0 }], ["cdl:power=.05/20/1.1,clamp=true"],
    ]

    private static func curve(_ count: Int, _ function: (Double) -> Double) -> String {
        let points = (0..<count).map { Double($0) / 4 }
        return "curve:points=" + points.map { "\($0)/\(function($0))" }.joined(separator: "/")
    }

    /// Those for video: a key, and a table in a coding that is steep near black, multiply what rounding leaves of a component
    /// that is 0.
    static let videoLists = lists.filter { !$0.contains { text in steep.contains { text.hasPrefix($0) } } }
    private static let steep = [
        "key", "lut:table=0,space=pq", "lut:table=0,space=hlg", "lut:table=0,space=gamma24",
    ]

    /// A cube and a line.
    static func tables() throws -> [CubeTable] {
        var text = "LUT_3D_SIZE 5\n"
        for index in 0..<125 {
            let (r, g, b) = (Double(index % 5) / 4, Double(index / 5 % 5) / 4, Double(index / 25) / 4)
            text +=
                "\(0.9 * r + 0.05 * g * b + 0.02) \(0.8 * g + 0.1 * r * r + 0.01) \(0.85 * b + 0.1 * (1 - r) * g)\n"
        }
        let line = "LUT_1D_SIZE 4\nDOMAIN_MAX 4 2 1\n0 0 0\n0.5 0.25 0.3\n1.5 1 0.5\n3 2 1\n"
        return try [text, line].map { try CubeTable(text: Array($0.utf8)) }
    }

    @Test(
        "random pixels from half floats, as straight and as premultiplied", arguments: (lists + loopLists).indices)
    func halves(index: Int) throws {
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        var options = ConversionOptions()
        let list = (Self.lists + Self.loopLists)[index]
        options.effects = Effects(list: try EffectList(texts: list, .call), tables: try Self.tables())
        for alpha in [AlphaMode.straight, .premultiplied] {
            try CPUConverterTests.check(
                CPUConverterTests.conversion(
                    .rgba16f, light, .rgba16f, light, width: 53, height: 20, alpha: (alpha, alpha), options: options
                ),
                seed: UInt64(index + 1))
        }
    }

    @Test("video to half floats, bytes and video", arguments: videoLists.indices)
    func video(index: Int) throws {
        var options = ConversionOptions()
        options.effects = Effects(
            list: try EffectList(texts: Self.videoLists[index], .call), tables: try Self.tables())
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        let sdr = SignalDescription()
        try CPUConverterTests.check(CPUConverterTests.conversion(.nv12, sdr, .rgba16f, light, options: options))
        try CPUConverterTests.check(
            CPUConverterTests.conversion(.nv12, sdr, .bgra8, SignalDescription(transfer: .sRGB), options: options))
        try CPUConverterTests.check(CPUConverterTests.conversion(.nv12, sdr, .yu12, sdr, options: options))
    }

    /// Dark video, in which the first segments of curves are read.
    @Test("matrices, offsets and vignettes near black", arguments: affineLists.indices)
    func nearBlack(index: Int) throws {
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        var options = ConversionOptions()
        options.effects = Effects(list: try EffectList(texts: Self.affineLists[index], .call))
        for signal in [CPUConverterTests.pq, CPUConverterTests.hlg] {
            let conversion = CPUConverterTests.conversion(
                .p010, signal, .rgba16f, light, width: 96, height: 64, options: options)
            var picture = Picture.any(conversion.source, seed: 5)
            for component in 0..<3 {
                for y in 0..<(component == 0 ? picture.height : picture.chromaHeight) {
                    for x in 0..<(component == 0 ? picture.width : picture.chromaWidth) {
                        let code = picture[component, x, y]
                        picture[component, x, y] = component == 0 ? 60 + code % 80 : 504 + code % 17
                    }
                }
            }
            let values = try ReferenceConverter(conversion).values(picture)
            for level in Int32(0)...2 {
                hwd_limit_instructions(level)
                defer { hwd_limit_instructions(2) }
                let result = try picture.converted(by: CPUConverter(conversion, threads: 1), to: conversion.target)
                let error = Difference(result, values).halves
                #expect(error <= 1, "\(error) units, \(String(cString: hwd_instructions())), \(signal)")
            }
        }
    }

    /// Pixels with known results, which `ColorTests` compares with the reference.
    static let points: [Triple] = [
        [0.18, 0.18, 0.18], [0.8, 0.1, 0.05], [0.02, 0.55, 0.12], [3.2, 1.7, 0.9], [-0.04, 0.25, 1],
    ]

    /// The conversion of points by a list, and their picture.
    static func pointsOf(_ list: [String], _ points: [Triple] = points) throws -> (Conversion, Picture) {
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        var options = ConversionOptions()
        options.effects = Effects(list: try EffectList(texts: list, .call), tables: try tables())
        var picture = Picture(.rgba16f, width: points.count, height: 2)
        for (x, point) in points.enumerated() {
            for y in 0..<2 {
                for channel in 0..<3 { picture[channel, x, y] = Int(Half.bits(point[channel])) }
                picture[3, x, y] = Int(Half.bits(1))
            }
        }
        let conversion = CPUConverterTests.conversion(
            .rgba16f, light, .rgba16f, light, width: points.count, height: 2, options: options)
        return (conversion, picture)
    }

    @Test("pixels with known results", arguments: lists.indices)
    func points(index: Int) throws {
        let (conversion, picture) = try Self.pointsOf(Self.lists[index])
        let values = try ReferenceConverter(conversion).values(picture)
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            let result = try picture.converted(by: CPUConverter(conversion, threads: 1), to: conversion.target)
            #expect(Difference(result, values).halves <= 1, "\(String(cString: hwd_instructions()))")
        }
    }

    /// A channel that becomes much brighter than the others, which keep what they have.
    static let bright = (list: ["cdl:power=6/1/1"], point: [49, 1, 0.1] as Triple)

    /// Whether each channel has what `bright` leaves, to a half float's unit; `Difference` allows more beside a large one.
    static func keepsOthers(_ values: [Double]) -> Bool {
        values[0] >= 65504 && abs(values[1] - 1) <= 0x1p-10 && abs(values[2] - 0.1) <= 0x1p-14
    }

    @Test("a power of a bright channel leaves the others")
    func brightChannel() throws {
        let (conversion, picture) = try Self.pointsOf(Self.bright.list, [Self.bright.point])
        let exact = try ReferenceConverter(conversion).values(picture).prefix(3).map { $0[0] }
        #expect(Self.keepsOthers(exact), "\(exact)")
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            let result = try picture.converted(by: CPUConverter(conversion, threads: 1), to: conversion.target)
            let values = (0..<3).map { Half.value(UInt16(result[$0, 0, 0])) }
            #expect(Self.keepsOthers(values), "\(values), \(String(cString: hwd_instructions()))")
        }
    }

    @Test("powers of light that another effect made brighter than half floats reach")
    func beyondHalves() throws {
        let (conversion, picture) = try Self.pointsOf(["exposure:ev=10", "cdl:power=.3"], [[65504, 40000, 2]])
        let values = try ReferenceConverter(conversion).values(picture)
        for level in Int32(0)...2 {
            hwd_limit_instructions(level)
            defer { hwd_limit_instructions(2) }
            let result = try picture.converted(by: CPUConverter(conversion, threads: 1), to: conversion.target)
            for channel in 0..<3 {
                let (value, wanted) = (Half.value(UInt16(result[channel, 0, 0])), values[channel][0])
                #expect(abs(value - wanted) <= wanted / 1024, "\(value), \(String(cString: hwd_instructions()))")
            }
        }
    }

    /// Pictures wider than what effects pass over at once, with every form of chroma.
    @Test("video of several stretches to half floats", arguments: ChromaSiting.allCases)
    func stretches(_ siting: ChromaSiting) throws {
        var options = ConversionOptions()
        options.effects = Effects(list: try EffectList(texts: ["cdl:power=1.1", "vignette"], .call))
        let light = SignalDescription(primaries: .displayP3, transfer: .linear)
        for var signal in [CPUConverterTests.pq, SignalDescription()] {
            signal.siting = siting
            try CPUConverterTests.check(
                CPUConverterTests.conversion(
                    signal.transfer == .pq ? .p010 : .nv12, signal, .rgba16f, light, width: 1090, height: 6,
                    options: options))
        }
    }
}
