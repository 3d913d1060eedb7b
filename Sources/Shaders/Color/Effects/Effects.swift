// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel
import func Glibc.exp2

/// Picture effects in linear light of the target's primaries: a list, or exposure, saturation and sepia, applied in this order.
public struct Effects: Hashable, Sendable {
    /// Exposure in stops: light is multiplied by 2 to this power.
    public var exposure: Double
    /// Saturation: 0 is grey of the same luminance, 1 leaves the picture unchanged, larger values increase it.
    public var saturation: Double
    /// Sepia of light, which the list's is not: 0 leaves the picture unchanged, 1 is full sepia.
    public var sepia: Double
    /// The list, without which the members before apply.
    public var list: EffectList
    /// The tables that the list's effects name by their numbers.
    public var tables: [CubeTable]

    /// Creates effects; omitted ones do nothing.
    public init(
        exposure: Double = 0, saturation: Double = 1, sepia: Double = 0, list: EffectList = EffectList(),
        tables: [CubeTable] = []
    ) {
        self.exposure = exposure
        self.saturation = saturation
        self.sepia = sepia
        self.list = list
        self.tables = tables
    }

    /// Whether the effects leave a picture unchanged.
    public var isNone: Bool { !hasMembers && list.isEmpty }

    /// Whether exposure, saturation or sepia do something.
    public var hasMembers: Bool { exposure != 0 || saturation != 1 || sepia != 0 }

    /// The first table that no effect of the list names; nil without one.
    public var unnamedTable: Int? {
        let named = Set(list.effects.compactMap(\.table))
        return tables.indices.first { !named.contains($0) }
    }

    /// Exposure, saturation and sepia as one matrix, since all are linear.
    func matrix(luminance: Triple) -> Matrix3 {
        guard hasMembers else { return .identity }
        return .mix(.identity, SepiaMatrix.full, sepia) * Self.saturating(saturation, luminance: luminance)
            * .diagonal(Triple(repeating: exp2(exposure)))
    }

    static func saturating(_ amount: Double, luminance: Triple) -> Matrix3 {
        .mix(Matrix3(luminance, luminance, luminance), .identity, amount)
    }
}

/// The sepia matrix of W3C Filter Effects; its rows sum to more than 1, so highlights become warm first.
enum SepiaMatrix {
    static let full = Matrix3([0.393, 0.769, 0.189], [0.349, 0.686, 0.168], [0.272, 0.534, 0.131])
}
