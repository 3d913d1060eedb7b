// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDHEVC
import HWDModel
import Testing

/// Dolby Vision's mapping of the base layer; values by NumPy (`scripts/check-mapping`), which takes the RPU as libavcodec reads it.
@Suite struct MappingTests {
    static let pq = SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020)

    /// The RPU of a profile 8 that the generator makes.
    static func generated(_ constants: DolbyVisionGenerator.Constants) throws -> DolbyVisionRPU {
        try DolbyVisionGenerator(constants).rpu(light: RPULight(min: 0, max: 3044, average: 2077))
    }

    /// An RPU of profile 5 with curves of every kind; check-mapping has the same numbers.
    static func profile5() throws -> DolbyVisionRPU {
        var mapping = RPUMapping()
        mapping.curves = [
            RPUCurve(
                pivots: [0, 256, 384, 383],
                pieces: [
                    .polynomial([83_886, 6_710_886]), .polynomial([419_430, 5_033_164, 1_677_721]),
                    .polynomial([-251_658, 7_130_316, 838_860]),
                ]),
            RPUCurve(
                pivots: [0, 500, 523],
                pieces: [
                    .polynomial([335_544, 7_717_519]),
                    .regression(
                        constant: 209_715,
                        orders: [
                            [419_430, 7_549_747, -293_601, 209_715, -125_829, 167_772, 83_886],
                            [-209_715, 335_544, 125_829, -83_886, 41_943, -125_829, 251_658],
                        ]),
                ]),
            RPUCurve(
                pivots: [0, 1023],
                pieces: [
                    .regression(
                        constant: 125_829,
                        orders: [[-167_772, 251_658, 7_885_291, 83_886, -125_829, 209_715, -41_943]])
                ]),
        ]
        var rpu = DolbyVisionRPU(mapping: mapping, displayManagement: try generated(.profile81).displayManagement)
        rpu.header.vdrRPUProfile = 0
        rpu.header.sequenceInfo?.blVideoFullRangeFlag = true
        rpu.displayManagement?.color?.yccToRGBCoef = [8192, 799, 1681, 8192, -933, 1091, 8192, 267, -5545]
        rpu.displayManagement?.color?.yccToRGBOffset = [0, 1 << 27, 1 << 27]
        rpu.displayManagement?.color?.rgbToLMSCoef = [17081, -349, -349, -349, 17081, -349, -349, -349, 17081]
        return rpu
    }

    static func mapping(_ rpu: DolbyVisionRPU) throws -> SignalMapping {
        var history = MappingHistory()
        return try history.mapping(rpu: rpu.nalUnit())
    }

    /// Light of BT.2020 in cd/m² of a pixel's codes.
    static func light(_ codes: Triple, _ mapping: SignalMapping?) throws -> Triple {
        let plan = try ConversionPlan(
            Conversion(
                source: ImageDescription(format: .i010, width: 16, height: 16, signal: pq),
                target: ImageDescription(
                    format: .rgba16f, width: 16, height: 16,
                    signal: SignalDescription(primaries: .bt2020, transfer: .linear)),
                options: ConversionOptions(referenceWhite: 100, mapping: mapping)))
        return plan.convert(codes, alpha: 1).codes * 100
    }

    static let iPhonePoints: [(Triple, Triple)] = [
        ([502, 512, 512], [52.0573539593, 51.3235495531, 56.5987115945]),
        ([721, 512, 512], [206.014021944, 207.39412854, 234.097253184]),
        ([874, 512, 512], [612.534900138, 623.347491867, 666.488434787]),
        ([64, 512, 512], [0.00156210086937, 0.00107721859988, -2.48749292029e-08]),
        ([600, 450, 600], [184.686770365, 74.4910036027, 55.4907406728]),
        ([700, 560, 480], [138.803743638, 189.954152517, 319.889755263]),
        // Codes outside the pivots 63 and 942.
        ([50, 512, 512], [0.00096148719599, 0.000625900040676, -1.44810568144e-08]),
        ([960, 512, 512], [1181.19979752, 1206.09574198, 1223.15898516]),
    ]

    static let profile5Points: [(Triple, Triple)] = [
        ([0, 512, 512], [-0.00338868588399, 0.0063086229521, 0.00032593367167]),
        ([255, 499, 530], [2.753751532, 3.12333332254, 2.28794105872]),
        ([256, 500, 500], [2.23689104942, 3.15742815096, 3.30830932233]),
        ([639, 501, 700], [149.827665439, 125.071408853, 22.7301275481]),
        ([640, 300, 512], [-15.0965381857, 209.873252663, 145.079897942]),
        ([700, 560, 480], [279.899176417, 190.866477001, 315.488786265]),
        ([1023, 1023, 0], [7097.92079403, -834.087623137, 10622.2997477]),
        ([404, 470, 561.5], [11.0370525078, 15.6294806716, 8.320144919]),
    ]

    @Test("An iPhone's profile 8.4: HLG codes to light", arguments: iPhonePoints)
    func mapsProfile84(codes: Triple, wanted: Triple) throws {
        let light = try Self.light(codes, Self.mapping(Self.generated(.iPhone)))
        for component in 0..<3 {
            #expect(abs(light[component] - wanted[component]) <= 1e-9 * max(1, wanted[component].magnitude))
        }
    }

    @Test("Profile 5: IPT through polynomials and regressions to light", arguments: profile5Points)
    func mapsProfile5(codes: Triple, wanted: Triple) throws {
        let light = try Self.light(codes, Self.mapping(Self.profile5()))
        for component in 0..<3 {
            #expect(abs(light[component] - wanted[component]) <= 1e-9 * max(1, wanted[component].magnitude))
        }
    }

    @Test func identityCurvesOfProfile81StayWithinTwoCodesOfPQ() throws {
        let mapping = try Self.mapping(Self.generated(.profile81))
        for codes: Triple in [
            [64, 512, 512], [502, 512, 512], [600, 450, 600], [700, 560, 480], [800, 512, 512],
        ] {
            let (mapped, plain) = (try Self.light(codes, mapping), try Self.light(codes, nil))
            for component in 0..<3 {
                let pq = [mapped, plain].map { TransferFunction.pq.encode(max($0[component], 0) / 10000) * 1023 }
                // The RPU's matrix is for 12 bits: 512 of 1023 is not quite its zero of 0.5.
                #expect(abs(pq[0] - pq[1]) <= 2, "\(codes): \(pq)")
            }
        }
    }

    @Test func toneMappingBeginsAtTheRPUsPeak() throws {
        var rpu = try Self.generated(.iPhone)
        for (code, peak) in [(3079, 1000.0), (3696, 4000)] {
            rpu.displayManagement?.color?.sourceMaxPQ = code
            let mapping = try Self.mapping(rpu)
            #expect(abs((mapping.peak ?? 0) - peak) <= peak / 500)
            func toneMapping(_ options: ConversionOptions) throws -> ToneMapping? {
                try ConversionPlan(
                    Conversion(
                        source: ImageDescription(format: .i010, width: 16, height: 16, signal: Self.pq),
                        target: ImageDescription(
                            format: .rgba8, width: 16, height: 16, signal: SignalDescription(transfer: .sRGB)),
                        options: options)
                ).toneMapping
            }
            let own = try toneMapping(ConversionOptions(targetHeadroom: 1, mapping: mapping))
            #expect(try own == toneMapping(ConversionOptions(targetHeadroom: 1, masteringPeak: mapping.peak)))
            #expect(own != nil)
        }
    }

    @Test func anRPUMayReferToTheMappingOfAnEarlierOne() throws {
        var history = MappingHistory()
        var rpu = try Self.profile5()
        if case .coded(var mapping) = rpu.mapping {
            mapping.vdrRPUID = 3
            rpu.mapping = .coded(mapping)
        }
        let first = try history.mapping(rpu: rpu.nalUnit())
        rpu.mapping = .previous(id: 3)
        #expect(try history.mapping(rpu: rpu.nalUnit()) == first)
        rpu.mapping = .previous(id: 2)
        let nal = try rpu.nalUnit()
        #expect(throws: SessionError.self) { try history.mapping(rpu: nal) }
    }
}
