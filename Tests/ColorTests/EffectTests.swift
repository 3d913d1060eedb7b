// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel
import Testing

/// Effects against values that were computed in double precision outside of this project.
@Suite struct EffectTests {
    static let inputs: [Triple] = [
        [0.18, 0.18, 0.18], [0.8, 0.1, 0.05], [0.02, 0.55, 0.12], [3.2, 1.7, 0.9], [-0.04, 0.25, 1],
    ]

    struct Case: Sendable {
        var texts: [String]
        var primaries = Primaries.bt709
        /// For each input.
        var wanted: [Triple]
    }

    static let decision = "slope=1.1/1/.9,offset=-.03/-.02/.01,power=1.25/1/.8,sat=1.7"
    static let cases: [Case] = [
        Case(
            texts: ["exposure:ev=1.5"],
            wanted: [
                [0.509117, 0.509117, 0.509117], [2.262742, 0.282843, 0.141421], [0.056569, 1.555635, 0.339411],
                [9.050967, 4.808326, 2.545584], [-0.113137, 0.707107, 2.828427],
            ]),
        Case(
            texts: ["saturation:s=.5"], primaries: .displayP3,
            wanted: [
                [0.18, 0.18, 0.18], [0.528159, 0.178159, 0.153159], [0.207275, 0.472275, 0.257275],
                [2.590016, 1.840016, 1.440016], [0.101531, 0.246531, 0.621531],
            ]),
        Case(
            texts: ["saturation:s=1.4"], primaries: .bt2020,
            wanted: [
                [0.18, 0.18, 0.18], [1.007630, 0.027630, -0.042370], [-0.126108, 0.615892, 0.013892],
                [3.661356, 1.561356, 0.441356], [-0.143317, 0.262683, 1.312683],
            ]),
        Case(
            texts: ["sepia"],
            wanted: [
                [0.346413, 0.268538, 0.156634], [0.408537, 0.315619, 0.183446], [0.479600, 0.371557, 0.214935],
                [3.883255, 2.963962, 1.664145], [0.228389, 0.178326, 0.105141],
            ]),
        Case(
            texts: ["sepia:amount=.6"],
            wanted: [
                [0.272257, 0.230646, 0.165753], [0.546934, 0.212348, 0.118224], [0.208289, 0.438061, 0.173101],
                [3.600694, 2.409336, 1.325736], [0.039945, 0.205308, 0.335894],
            ]),
        Case(
            texts: ["cdl:\(decision)"],
            wanted: [
                [0.074376, 0.163530, 0.307318], [1.220990, -0.030477, 0.000532], [-0.286893, 0.627707, 0.034285],
                [6.515161, 1.261911, -0.143648], [-0.276802, 0.239998, 1.425455],
            ]),
        Case(
            texts: ["cdl:\(decision),clamp=true"],
            wanted: [
                [0.074376, 0.163530, 0.307318], [1, 0, 0.000532], [0, 0.626517, 0.033094], [1, 1, 0.757860],
                [0, 0.228986, 1],
            ]),
        Case(
            texts: ["vignette:intensity=.8"],
            wanted: [
                [0.080129, 0.080129, 0.080129], [0.356129, 0.044516, 0.022258], [0.008903, 0.244839, 0.053419],
                [1.424516, 0.756774, 0.400645], [-0.017806, 0.111290, 0.445161],
            ]),
        Case(
            texts: ["curve:points=0/0/.18/.12/.5/.55/1/1/4/3"],
            wanted: [
                [0.12, 0.12, 0.12], [0.836927, 0.061793, 0.031354], [0.012943, 0.603326, 0.074737],
                [2.486606, 1.519106, 0.919878], [-0.026667, 0.196557, 1],
            ]),
        Case(
            texts: ["despill:color=1acc33"],
            wanted: [inputs[0], inputs[1], [0.02, 0.07, 0.12], inputs[3], inputs[4]]),
    ]

    static func plan(
        _ texts: [String], _ primaries: Primaries = .bt709, tables: [CubeTable] = []
    ) throws -> ConversionPlan {
        let image = ImageDescription(
            format: .rgba16f, width: 1920, height: 1080,
            signal: SignalDescription(primaries: primaries, transfer: .linear), alpha: .straight)
        var options = ConversionOptions()
        options.effects = Effects(list: try EffectList(texts: texts, .call), tables: tables)
        return try ConversionPlan(Conversion(source: image, target: image, options: options))
    }

    static func expect(_ got: Triple, _ wanted: Triple, _ words: String, _ place: SourceLocation = #_sourceLocation)
    {
        for channel in 0..<3 {
            #expect(
                abs(got[channel] - wanted[channel]) <= 6e-7, "\(words): \(got), not \(wanted)",
                sourceLocation: place)
        }
    }

    @Test("Reference pixels", arguments: cases.indices)
    func pixels(index: Int) throws {
        let own = Self.cases[index]
        let plan = try Self.plan(own.texts, own.primaries)
        for (input, wanted) in zip(Self.inputs, own.wanted) {
            let result = plan.convert(input, alpha: 1, at: (100, 50))
            Self.expect(result.codes, wanted, "\(own.texts) of \(input)")
            #expect(result.alpha == 1)
        }
    }

    @Test(
        "A list is its effects one after the other, whichever of them become one step",
        arguments: [
            ["exposure:ev=.5", "saturation:s=1.2", "cdl:slope=1.1/1/.9,offset=.01/0/-.02,sat=1.1", "vignette"],
            ["vignette:intensity=.5", "exposure:ev=.7", "saturation:s=.6"],
            [
                "vignette", "cdl:slope=1.1/.9/1,offset=.02/0/-.01", "exposure:ev=.3", "vignette:radius=2",
                "saturation:s=0",
            ],
            [
                "cdl:offset=.1,sat=.5", "sepia", "exposure:ev=1", "cdl:slope=2,clamp=true",
                "cdl:offset=-.1,space=srgb",
            ],
        ])
    func composed(list: [String]) throws {
        let whole = try Self.plan(list, .displayP3)
        let parts = try list.map { try Self.plan([$0], .displayP3) }
        for input in Self.inputs {
            let wanted = parts.reduce(input) { $1.convert($0, alpha: 1, at: (100, 50)).codes }
            Self.expect(whole.convert(input, alpha: 1, at: (100, 50)).codes, wanted, "\(list) of \(input)")
        }
    }

    @Test("A key makes its color transparent, highlights stay, and a background fills what is transparent")
    func key() throws {
        let key = "key:color=1acc33,similarity=.12,blend=.1"
        let alphas = try Self.inputs.map { try Self.plan([key]).convert($0, alpha: 1).alpha }
        #expect(alphas == [1, 1, 0, 1, 1])
        let filled = try Self.plan([key, "background:color=ffffff"]).convert(Self.inputs[2], alpha: 1)
        Self.expect(filled.codes, .one, "a background")
        #expect(filled.alpha == 1)
        let half = try Self.plan(["background"]).convert([1, 2, 4], alpha: 0.5)
        Self.expect(half.codes, [0.5, 1, 2], "a black background")
    }

    @Test("A key without a background after it needs a target with alpha")
    func keyWithoutAlpha() throws {
        let key = "key:color=1acc33"
        func error(_ texts: [String], _ format: PixelFormat, width: Int = 64) throws -> SessionError? {
            let source = ImageDescription(
                format: .rgba8, width: 64, height: 32, signal: SignalDescription(transfer: .sRGB))
            let signal = SignalDescription(transfer: format.isRGB ? .sRGB : .bt1886)
            let target = ImageDescription(format: format, width: width, height: 32, signal: signal)
            var options = ConversionOptions()
            options.effects = Effects(list: try EffectList(texts: texts, .call))
            do throws(SessionError) {
                let conversion = Conversion(source: source, target: target, options: options)
                guard conversion.isScaled else {
                    _ = try ConversionPlan(conversion)
                    return nil
                }
                _ = try ScalingPlan(conversion)
                return nil
            } catch { return error }
        }
        for width in [64, 48] {
            for format in [PixelFormat.nv12, .yu12, .p010, .i010] {
                let refused = try error([key, "despill"], format, width: width)
                #expect(refused?.status == .parameter && refused?.reason.contains("background") == true)
                #expect(try error([key, "background", key], format, width: width)?.status == .parameter)
                #expect(try error([key, "despill", "background", "sepia"], format, width: width) == nil)
            }
            #expect(try error([key], .rgba8, width: width) == nil)
        }
    }

    @Test("A table that no effect names is found")
    func unnamedTables() throws {
        let table = try CubeTable(text: Array("LUT_1D_SIZE 2\n0 0 0\n1 1 1\n".utf8))
        let list = try EffectList(texts: ["lut:table=0,space=srgb", "lut:table=2,space=srgb"], .call)
        #expect(Effects(list: list, tables: [table, table, table]).unnamedTable == 1)
        #expect(Effects(list: list, tables: [table]).unnamedTable == nil)
        #expect(Effects(tables: [table]).unnamedTable == 0)
    }

    @Test("Order matters, and old members are not mixed with a list")
    func order() throws {
        let first = try Self.plan(["exposure:ev=1", "cdl:offset=1"]).convert([1, 1, 1], alpha: 1).codes
        let second = try Self.plan(["cdl:offset=1", "exposure:ev=1"]).convert([1, 1, 1], alpha: 1).codes
        #expect(first == [3, 3, 3] && second == [4, 4, 4])
        var options = ConversionOptions()
        options.effects = Effects(exposure: 1, list: try EffectList(texts: ["sepia"], .call))
        let image = ImageDescription(
            format: .rgba16f, width: 16, height: 16, signal: SignalDescription(transfer: .linear))
        #expect(throws: SessionError.self) {
            try Conversion(source: image, target: image, options: options).validate()
        }
    }
}
