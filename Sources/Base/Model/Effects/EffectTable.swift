// SPDX-License-Identifier: MIT

/// The effects that pixel-transfer sessions apply: the one table that validates lists of effects, and that `ListEffects`,
/// `hwctl effects` and the documentation are made from.
///
/// Effects work on linear light of the target's primaries, 1.0 is reference white, colors are not multiplied by alpha.
public enum EffectTable {
    /// The longest text of a table, a .cube file, in bytes.
    public static let maxTableBytes = 64 << 20

    private typealias Parameter = EffectDescription.Parameter

    /// The description of an effect.
    public static func row(_ name: Effect.Name) -> EffectDescription {
        switch name {
        case .exposure, .saturation, .sepia, .vignette, .background: simple(name)
        case .cdl: cdl
        case .curve: curve
        case .key: key
        case .despill: despill
        case .lut: lut
        }
    }

    /// Every row, in the order of `Effect.Name`.
    public static var rows: [EffectDescription] { Effect.Name.allCases.map(row) }

    /// Effects with few parameters that keep highlights.
    private static func simple(_ name: Effect.Name) -> EffectDescription {
        let (summary, parameters, cost): (String, [Parameter], EffectDescription.Cost) =
            switch name {
            case .exposure:
                (
                    "Multiplies light by 2 to the power of ev.",
                    [Parameter("ev", .number(-10...10), default: "0", unit: "stops", "the change of exposure")],
                    .low
                )
            case .saturation:
                (
                    "Scales the distance of colors from gray of the same luminance.",
                    [Parameter("s", .number(0...4), default: "1", "0 is gray, 1 changes nothing")], .low
                )
            case .sepia:
                (
                    "Mixes sRGB-coded values with the sepia of W3C Filter Effects, not clamped.",
                    [Parameter("amount", .number(0...1), default: "1", "0 changes nothing, 1 is all sepia")],
                    .medium
                )
            case .vignette:
                (
                    "Darkens the picture towards its corners as a lens does, by the fourth power of the cosine.",
                    [
                        Parameter("intensity", .number(0...1), default: "1", "0 changes nothing"),
                        Parameter(
                            "radius", .number(0.1...10), default: "1", unit: "half diagonals",
                            "where light falls to a quarter"),
                    ], .low
                )
            default:
                (
                    "Puts a color behind the picture, which is opaque from there on.",
                    [Parameter("color", .color, default: "000000", "the color, coded by sRGB's curve")], .low
                )
            }
        return EffectDescription(
            name: name, summary: summary, parameters: parameters, highlights: .kept, cost: cost)
    }

    private static let cdl = EffectDescription(
        name: .cdl, summary: "The color decision list of the ASC: (slope · x + offset) ^ power, then saturation.",
        parameters: [
            Parameter("slope", .triple(0...100), default: "1", "factors of R, G and B"),
            Parameter("offset", .triple(-10...10), default: "0", "what is added"),
            Parameter("power", .triple(0.01...100), default: "1", "exponents of positive values"),
            Parameter(
                "sat", .number(0...10), default: "1", "saturation by BT.709's luma weights; 1 changes nothing"),
            Parameter(
                "clamp", .word(["false", "true"]), default: "false", "whether values are clamped to 0…1 as in v1.2"),
            Parameter(
                "space", .word(CodingSpace.ofCDL.map(\.rawValue)), default: CodingSpace.linear.rawValue,
                "the coding of the values that the numbers apply to"),
        ],
        highlights: .keptExcept("clamp=true"), cost: .medium)

    private static let curve = EffectDescription(
        name: .curve, summary: "A monotone cubic through points, for each of R, G and B; straight beyond the ends.",
        parameters: [
            Parameter("points", .points(2...16), isRequired: true, "x/y/x/y…, with increasing x")
        ],
        highlights: .kept, cost: .medium)

    private static let key = EffectDescription(
        name: .key,
        summary: "Makes a color transparent, by the distance of chroma; highlights have less chroma and stay.",
        parameters: [
            Parameter("color", .color, isRequired: true, "the color, coded by sRGB's curve"),
            Parameter("similarity", .number(0.01...1), default: "0.1", "the distance up to which alpha is 0"),
            Parameter("blend", .number(0...1), default: "0.1", "the distance over which alpha then rises to 1"),
        ],
        highlights: .kept, cost: .medium)

    private static let despill = EffectDescription(
        name: .despill,
        summary: "Limits the strongest channel of a key's color to the mean of the two others.",
        parameters: [
            Parameter("amount", .number(0...1), default: "1", "0 changes nothing"),
            Parameter("color", .color, "the key's color; that of the preceding key when absent"),
        ],
        highlights: .kept, cost: .low)

    private static let lut = EffectDescription(
        name: .lut,
        summary:
            "Colors by a table in a .cube file, one- or three-dimensional (tetrahedral), of 129³ entries at most.",
        parameters: [
            Parameter("file", .file, isRequired: true, "the .cube file"),
            Parameter(
                "table", .table, isRequired: true,
                "the table's number, from 0 on: one of the call's, or added to the session"),
            Parameter(
                "space", .word(CodingSpace.ofLUT.map(\.rawValue)),
                "the coding of the table's values: srgb when absent, which SDR targets alone allow"),
            Parameter(
                "headroom", .word(["none", "scale"]), default: "none",
                "scale: light above 1 is divided by its largest component before, and multiplied after"),
        ],
        highlights: .keptExcept("space=srgb, gamma24 and linear without headroom=scale"), cost: .high)
}

/// The values that an effect's numbers or tables apply to.
public enum CodingSpace: String, CaseIterable, Hashable, Sendable {
    case linear
    /// sRGB's curve, mirrored below 0 and extended above 1.
    case srgb
    /// A power of 2.4, mirrored and extended like that.
    case gamma24
    /// PQ of BT.2100, with the session's reference white.
    case pq
    /// HLG of BT.2100, behind the inverse of the OOTF for the session's HLG peak.
    case hlg
    /// The curve of ACEScct, on the target's primaries.
    case acescct

    /// Those of color decision lists.
    public static let ofCDL: [CodingSpace] = [.linear, .srgb, .pq, .hlg, .acescct]
    /// Those of tables.
    public static let ofLUT: [CodingSpace] = [.srgb, .gamma24, .pq, .hlg, .acescct, .linear]
}
