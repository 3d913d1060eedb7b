// SPDX-License-Identifier: MIT

/// Makes the RPU of each picture of a stream: constants of the stream, and the picture's light.
public struct DolbyVisionGenerator: Hashable, Sendable {
    /// What an RPU holds besides the picture's light.
    public enum Constants: Hashable, Sendable {
        /// Profile 8.4 (HLG), with an iPhone's trims.
        case iPhone
        /// Profile 8.4 (HLG), with static light levels and without trims, as dovi_tool makes it.
        case profile84
        /// Profile 8.1 (PQ), without trims.
        case profile81
    }

    public var constants: Constants
    /// Level 5; nil leaves it out where the constants do not need it.
    public var activeArea: RPUActiveArea?
    /// Level 6; nil leaves it out where the constants do not need it.
    public var staticLight: RPUStaticLight?

    public init(
        _ constants: Constants = .iPhone, activeArea: RPUActiveArea? = nil, staticLight: RPUStaticLight? = nil
    ) {
        self.constants = constants
        self.activeArea = activeArea ?? (constants == .iPhone ? nil : RPUActiveArea())
        self.staticLight =
            staticLight ?? (constants == .iPhone ? nil : RPUStaticLight(maxLuminance: 1000, minLuminance: 1))
    }

    /// The RPU of a picture.
    ///
    /// - Parameters:
    ///   - light: level 1.
    ///   - anchor: level 4; nil leaves it out.
    ///   - sceneRefresh: whether the picture is the first of a shot.
    public func rpu(
        light: RPULight, anchor: RPUAnchor? = nil, sceneRefresh: Bool = true
    ) throws(BitstreamError) -> DolbyVisionRPU {
        var metadata = RPUDisplayManagement()
        metadata.sceneRefreshFlag = sceneRefresh ? 1 : 0
        metadata.extension1 = [try RPUBlock(.level1(light))]
        if let anchor { metadata.extension1.append(try RPUBlock(.level4(anchor))) }
        if let activeArea { metadata.extension1.append(try RPUBlock(.level5(activeArea))) }
        if let staticLight { metadata.extension1.append(try RPUBlock(.level6(staticLight))) }
        var secondList: [RPUBlock] = []
        for content in Self.secondList(constants) { secondList.append(try RPUBlock(content)) }
        metadata.extension2 = secondList
        return DolbyVisionRPU(mapping: constants == .profile81 ? .identity : .hlg, displayManagement: metadata)
    }

    /// The NAL unit of a picture's RPU.
    ///
    /// - Parameters:
    ///   - light: as measured; it is brought within the limits of level 1.
    ///   - startsShot: whether the picture is the first of a shot.
    ///   - temporalID: the picture's TemporalId, 0…6.
    public func nalUnit(light: RPULight, startsShot: Bool, temporalID: Int = 0) throws(BitstreamError) -> [UInt8] {
        var result = try rpu(light: light.clamped(), sceneRefresh: startsShot)
        result.nalHeader.nuhTemporalIDPlus1 = temporalID + 1
        return try result.nalUnit()
    }

    private static func secondList(_ constants: Constants) -> [RPUBlockContent] {
        let primaries = RPUBlockContent.level9(RPUSourcePrimaries())
        guard constants == .iPhone else {
            return [primaries, .level11(RPUContentType(contentType: 1, whitePoint: 0x10)), .level254(RPUVersion())]
        }
        return [.level3(RPULight(min: 2048, max: 2048, average: 2048))]
            + iPhoneTrims.map { .level8($0) } + [primaries]
            + [
                .level10(RPUTargetDisplay(index: 255, maxPQ: 3696, minPQ: 0, primaryIndex: 2)),
                .level10(RPUTargetDisplay(index: 20, maxPQ: 2672, minPQ: 0, primaryIndex: 2)),
                .level11(RPUContentType(contentType: 4)), .level254(RPUVersion()),
            ]
    }

    /// The trims that an iPhone writes in every RPU, whatever the picture.
    static let iPhoneTrims: [RPUDisplayTrim] = {
        var (first, second) = (RPUDisplayTrim(), RPUDisplayTrim())
        (first.targetDisplayIndex, first.slope, first.power) = (255, 2458, 2208)
        (second.targetDisplayIndex, second.power) = (20, 1900)
        return [first, second]
    }()
}

extension RPULight {
    /// Levels within the limits that players expect: min 0…12, max 2081…4095, average from 1229 (819 without a second list
    /// of extension blocks) to below max.
    public func clamped(hasSecondList: Bool = true) -> RPULight {
        let peak = Swift.min(Swift.max(max, 2081), 4095)
        return RPULight(
            min: Swift.min(Swift.max(min, 0), 12), max: peak,
            average: Swift.min(Swift.max(average, hasSecondList ? 1229 : 819), peak - 1))
    }
}

extension RPUMapping {
    /// The mapping of PQ to itself.
    public static let identity: RPUMapping = {
        var mapping = RPUMapping()
        mapping.curves = [RPUCurve](
            repeating: RPUCurve(pivots: [0, 1023], pieces: [.polynomial([0, 1 << 23])]), count: 3)
        return mapping
    }()

    /// The mapping of HLG (10 bits, narrow range) to PQ at 1,000 cd/m² and gamma 1.2 that every known RPU of profile 8.4 has;
    /// coefficients × 2^23.
    public static let hlg: RPUMapping = {
        var mapping = RPUMapping()
        mapping.curves = [
            RPUCurve(pivots: [63, 69, 230, 256, 256, 37, 16, 8, 7], pieces: hlgLuma.map { .polynomial($0) }),
            RPUCurve(pivots: [0, 1023], pieces: [.regression(constant: 9_538_791, orders: hlgCb)]),
            RPUCurve(pivots: [0, 1023], pieces: [.regression(constant: -10_511_104, orders: hlgCr)]),
        ]
        return mapping
    }()

    private static let hlgLuma = [
        [-409_680, 16_721_463, -20_276_640], [-119_056, 13_575_212, -12_867_889], [1_317_527, 5_338_528, -948_122],
        [2_119_979, 2_065_496, 2_288_524], [7_982_780, -11_367_226, 9_973_944],
        [53_792_084, -114_243_184, 67_724_328], [112_973_872, -244_837_568, 139_764_480],
        [236_828_416, -518_849_056, 291_306_944],
    ]
    private static let hlgCb = [
        [-8_301_253, -10_548_230, -41_300_540, 17_800_512, 48_512_552, 80_625_688, -96_346_000],
        [-88_703, -2_568_677, 27_489_948, -1_115_062, -40_380_556, -96_983_816, 157_352_304],
        [-215_627, 3_261_951, -10_807_161, 927_142, 20_303_056, 63_830_604, -153_146_704],
    ]
    private static let hlgCr = [
        [33_747_536, 5_369_128, 44_496_156, -8_767_568, -64_336_844, -5_266_155, 11_350_189],
        [-26_784_644, -5_823_003, -42_467_152, 13_165_896, 101_312_912, 7_036_536, -31_888_026],
        [8_794_873, 2_901_521, 19_457_440, -8_242_268, -66_100_812, -4_021_798, 38_635_284],
    ]
}
