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

    @Test func identityCurvesOfProfile81StayWithinACodeOfPQ() throws {
        let mapping = try Self.mapping(Self.generated(.profile81))
        for codes: Triple in [
            [64, 512, 512], [502, 512, 512], [600, 450, 600], [700, 560, 480], [800, 512, 512],
        ] {
            let (mapped, plain) = (try Self.light(codes, mapping), try Self.light(codes, nil))
            for component in 0..<3 {
                let pq = [mapped, plain].map { TransferFunction.pq.encode(max($0[component], 0) / 10000) * 1023 }
                #expect(abs(pq[0] - pq[1]) <= 1, "\(codes): \(pq)")
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

    // MARK: - What is refused

    struct Refused: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var reason: String
        var change: @Sendable (inout DolbyVisionRPU) -> Void

        init(_ name: String, _ reason: String, _ change: @escaping @Sendable (inout DolbyVisionRPU) -> Void) {
            (testDescription, self.reason, self.change) = (name, reason, change)
        }
    }

    private static func changeMapping(_ rpu: inout DolbyVisionRPU, _ body: (inout RPUMapping) -> Void) {
        guard case .coded(var mapping) = rpu.mapping else { return }
        body(&mapping)
        rpu.mapping = .coded(mapping)
    }

    static let refused: [Refused] = [
        Refused("profile 7", "enhancement layer") {
            $0.header.sequenceInfo?.depths?.elSpatialResamplingFilterFlag = true
            $0.header.sequenceInfo?.depths?.disableResidualFlag = false
            changeMapping(&$0) { $0.residual = RPUResidual() }
        },
        Refused("a residual in profile 8", "enhancement layer") {
            $0.header.sequenceInfo?.depths?.disableResidualFlag = false
            changeMapping(&$0) { $0.residual = RPUResidual() }
        },
        Refused("an unknown profile", "unknown profile") { $0.header.vdrRPUProfile = 9 },
        Refused("samples of 12 bits", "12 bits") { $0.header.sequenceInfo?.depths?.blBitDepthMinus8 = 4 },
        Refused("pivots beyond the last code", "pivots") {
            changeMapping(&$0) { $0.curves[1].pivots = [1000, 1000] }
        },
        Refused("an infinite coefficient", "out of range") {
            $0.header.sequenceInfo?.coefficients = .float
            changeMapping(&$0) { $0.curves[0].pieces = [.polynomial([0x7F80_0000, 0])] }
        },
        Refused("a coefficient that is no number", "out of range") {
            $0.header.sequenceInfo?.coefficients = .float
            changeMapping(&$0) { $0.curves[0].pieces = [.polynomial([0, 0x7FC0_0000])] }
        },
        Refused("partitions", "partitions") { changeMapping(&$0) { $0.numXPartitionsMinus1 = 1 } },
        Refused("an impossible id", "impossible id") { changeMapping(&$0) { $0.vdrRPUID = 1 << 20 } },
        Refused("another signal than PQ", "signal_eotf") { $0.displayManagement?.color?.signalEOTF = 39322 },
        Refused("no color metadata", "color metadata") { $0.displayManagement = nil },
        Refused("color metadata of an RPU that was not seen", "color metadata") {
            $0.header.sequenceInfo?.depths?.dmCompression = 1
            $0.displayManagement?.color = nil
        },
    ]

    @Test("An RPU that cannot be applied is refused with its reason", arguments: refused)
    func refuses(_ refused: Refused) throws {
        var rpu = try Self.generated(.profile81)
        refused.change(&rpu)
        let nal = try rpu.nalUnit()
        var history = MappingHistory()
        let error = #expect(throws: SessionError.self) { try history.mapping(rpu: nal) }
        #expect(error?.status == .pixelTransferNotSupported && error?.reason.contains(refused.reason) ?? false)
    }

    @Test func damagedRPUsAreRefused() throws {
        let nal = try Self.profile5().nalUnit()
        var history = MappingHistory()
        var refusals = 0
        for index in nal.indices.dropFirst(2) {
            var damaged = nal
            damaged[index] ^= 0x10
            #expect(throws: SessionError.self, "byte \(index)") { try history.mapping(rpu: damaged) }
            #expect(throws: SessionError.self) { try history.mapping(rpu: Array(nal.prefix(index))) }
            refusals += 1
        }
        #expect(refusals > 200)
        #expect(throws: SessionError.self) { try history.mapping(rpu: []) }
    }

    @Test("The largest coefficients give finite light", arguments: [false, true])
    func extremeCoefficients(isFloat: Bool) throws {
        var rpu = try Self.profile5()
        let coefficient = isFloat ? Int(Float(0x1p30).bitPattern) : 0x7FFF_FFFF << 23
        rpu.header.sequenceInfo?.coefficients = isFloat ? .float : .fixed(log2Denominator: 23)
        Self.changeMapping(&rpu) { mapping in
            for index in 0..<3 {
                mapping.curves[index] = RPUCurve(
                    pivots: [0, 1023],
                    pieces: [
                        .regression(
                            constant: coefficient,
                            orders: [[Int]](repeating: [Int](repeating: coefficient, count: 7), count: 3))
                    ])
            }
        }
        let light = try Self.light([1023, 1023, 1023], Self.mapping(rpu))
        for component in 0..<3 { #expect(light[component].isFinite) }
    }

    @Test func aMappingNeedsTheDepthAndTheSignalThatItIsFor() throws {
        let mapping = try Self.mapping(Self.generated(.iPhone))
        for (format, signal) in [
            (PixelFormat.nv12, Self.pq), (.rgba8, Self.pq),
            (.i010, SignalDescription(primaries: .bt2020, transfer: .hlg)),
            (.i010, SignalDescription(transfer: .pq)),
        ] {
            let image = ImageDescription(format: format, width: 16, height: 16, signal: signal)
            #expect(throws: SessionError.self) {
                try ConversionPlan(
                    Conversion(source: image, target: image, options: ConversionOptions(mapping: mapping)))
            }
        }
    }
}
