// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
import func Glibc.exp2
import func Glibc.pow

/// An effect of a list with its numbers, computed once in Double for the reference, shaders and the CPU's loops.
public enum EffectStep: Sendable {
    /// Exposure, saturation or a linear color decision, or several of them.
    case affine(Affine)
    /// A matrix of sRGB-coded values.
    case coded(Matrix3)
    case cdl(ColorDecision)
    case vignette(Vignette)
    case curve(ToneCurve)
    case key(ChromaKey)
    /// The channel 0…2 that is limited, and how much of the excess goes.
    case despill(channel: Int, amount: Double)
    case lut(TableLookup)
    /// Light behind transparent pixels.
    case background(Triple)

    /// The steps of a conversion's list.
    ///
    /// - Throws: `Parameter` for a table that is missing.
    static func steps(_ conversion: Conversion) throws(SessionError) -> [EffectStep] {
        var steps: [EffectStep] = []
        for effect in conversion.options.effects.list.effects {
            append(try EffectStep(effect, conversion), to: &steps)
        }
        return steps
    }

    /// Adds a step: neighboring affine maps become one, and matrices move before a vignette, which is a factor.
    ///
    /// Behind a map with which the list begins, and which no shader applies as an effect, there are never more steps than
    /// effects: the matrix of a map with an offset moves only to the beginning or into another map, as the offset stays.
    private static func append(_ step: EffectStep, to steps: inout [EffectStep]) {
        guard case .affine(let next) = step else { return steps.append(step) }
        if case .affine(let last)? = steps.last {
            steps[steps.count - 1] = .affine(next * last)
            return
        }
        let first = (steps.lastIndex { !$0.isVignette } ?? -1) + 1
        guard first < steps.count else { return steps.append(step) }
        let matrix = Affine(next.matrix)
        if first > 0, case .affine(let before) = steps[first - 1] {
            steps[first - 1] = .affine(matrix * before)
        } else if first == 0 || next.offset == .zero {
            steps.insert(.affine(matrix), at: first)
        } else {
            return steps.append(step)
        }
        if next.offset != .zero { steps.append(.affine(Affine(.identity, next.offset))) }
    }

    private init(_ effect: Effect, _ conversion: Conversion) throws(SessionError) {
        let primaries = conversion.target.signal.primaries
        switch effect.name {
        case .exposure: self = .affine(Affine(.diagonal(Triple(repeating: exp2(effect.number("ev"))))))
        case .saturation:
            self = .affine(Affine(Effects.saturating(effect.number("s"), luminance: primaries.toXYZ.rows.1)))
        case .sepia: self = .coded(.mix(.identity, SepiaMatrix.full, effect.number("amount")))
        case .cdl:
            let decision = ColorDecision(effect, Coding(effect.space ?? .linear, conversion))
            self = decision.affine.map { .affine($0) } ?? .cdl(decision)
        case .vignette: self = .vignette(Vignette(effect, conversion.target))
        case .curve: self = .curve(ToneCurve(effect.numbers("points")))
        case .key: self = .key(ChromaKey(effect, primaries))
        case .despill:
            let color = effect.color("color")?.coded(primaries) ?? .zero
            let channel = color.x >= color.y && color.x >= color.z ? 0 : color.y >= color.z ? 1 : 2
            self = .despill(channel: channel, amount: effect.number("amount"))
        case .lut:
            let tables = conversion.options.effects.tables
            guard let number = effect.table, tables.indices.contains(number) else {
                throw SessionError(.parameter, "the effect lut: there is no table \(effect.table ?? 0)")
            }
            self = .lut(
                TableLookup(
                    table: tables[number], coding: Coding(effect.space ?? .srgb, conversion),
                    scalesHeadroom: effect.word("headroom") == "scale"))
        case .background: self = .background(effect.color("color")?.light(primaries) ?? .zero)
        }
    }

    /// Applies the step to a pixel's light and alpha.
    ///
    /// - Parameter position: the pixel's column and row.
    func apply(_ color: Triple, _ alpha: Double, at position: (x: Int, y: Int)) -> (Triple, Double) {
        switch self {
        case .affine(let map): return (map(color), alpha)
        case .coded(let matrix):
            let transfer = TransferFunction.sRGB
            return ((matrix * color.mapped(transfer.encode)).mapped(transfer.decode), alpha)
        case .cdl(let decision): return (decision.apply(color), alpha)
        case .vignette(let vignette): return (color * vignette.gain(at: position), alpha)
        case .curve(let curve): return (color.mapped(curve.value), alpha)
        case .key(let key): return (color, alpha * key.alpha(color))
        case .despill(let channel, let amount):
            var limited = color
            let mean = (color.sum() - color[channel]) / 2
            limited[channel] -= amount * max(0, color[channel] - mean)
            return (limited, alpha)
        case .lut(let lookup): return (lookup.apply(color), alpha)
        case .background(let light): return (color * alpha + light * (1 - alpha), 1)
        }
    }

    /// Whether it is a factor of at most 1.
    var isVignette: Bool {
        if case .vignette = self { return true }
        return false
    }

    /// By how much the step may multiply small errors of light, roughly.
    var gain: Double {
        switch self {
        case .affine(let map): return map.matrix.largestSum
        case .coded(let matrix): return matrix.largestSum
        case .cdl(let decision): return 16 * decision.slope.max() * max(1, decision.saturation)
        case .curve(let curve): return curve.steepest
        case .lut: return 16
        case .vignette, .key, .despill, .background: return 1
        }
    }
}

extension Effect {
    /// The coding of the values that the effect's numbers apply to; nil where it is not said.
    fileprivate var space: CodingSpace? { word("space").flatMap { CodingSpace(rawValue: $0) } }
}

extension Effect.Color {
    /// The color's light in some primaries, white at 1.
    func light(_ primaries: Primaries) -> Triple {
        let own: Primaries = isDisplayP3 ? .displayP3 : .bt709
        return own.conversion(to: primaries) * Triple(red, green, blue).mapped(TransferFunction.sRGB.decode)
    }

    /// The color in some primaries, coded by sRGB's curve.
    func coded(_ primaries: Primaries) -> Triple { light(primaries).mapped(TransferFunction.sRGB.encode) }
}

extension Triple {
    /// A function of each component.
    func mapped(_ function: (Double) -> Double) -> Triple { [function(x), function(y), function(z)] }
}

/// A color decision list (ASC CDL).
public struct ColorDecision: Sendable {
    public let slope: Triple
    public let offset: Triple
    public let power: Triple
    public let saturation: Double
    /// Whether values are clamped to 0…1 as in version 1.2.
    public let clamps: Bool
    public let coding: Coding
    /// The weights of its saturation.
    public static let luma: Triple = [0.2126, 0.7152, 0.0722]

    init(_ effect: Effect, _ coding: Coding) {
        func triple(_ key: String) -> Triple {
            let numbers = effect.numbers(key)
            return [numbers[0], numbers[1], numbers[2]]
        }
        (slope, offset, power) = (triple("slope"), triple("offset"), triple("power"))
        saturation = effect.number("sat")
        clamps = effect.word("clamp") == "true"
        self.coding = coding
    }

    /// The decision where it is an affine map of light.
    var affine: Affine? {
        guard coding.space == .linear, !clamps, power == .one else { return nil }
        return Affine(Effects.saturating(saturation, luminance: Self.luma)) * Affine(.diagonal(slope), offset)
    }

    func apply(_ color: Triple) -> Triple {
        var value = coding.encode(color) * slope + offset
        if clamps { value = value.clamped(lowerBound: .zero, upperBound: .one) }
        for index in 0..<3 where value[index] > 0 { value[index] = pow(value[index], power[index]) }
        let luma = Triple(repeating: (Self.luma * value).sum())
        // Not by a difference, in which a bright channel would lose what the others have.
        value = value * saturation + luma * (1 - saturation)
        if clamps { value = value.clamped(lowerBound: .zero, upperBound: .one) }
        return coding.decode(value)
    }
}

/// Light that falls towards the corners by the fourth power of the cosine.
public struct Vignette: Sendable {
    public let intensity: Double
    /// The picture's center in samples.
    public let center: (x: Double, y: Double)
    /// The factor on squared distances in samples.
    public let scale: Double

    init(_ effect: Effect, _ image: ImageDescription) {
        intensity = effect.number("intensity")
        let (width, height) = (Double(image.width), Double(image.height))
        center = (width / 2, height / 2)
        let radius = effect.number("radius")
        scale = 4 / ((width * width + height * height) * radius * radius)
    }

    func gain(at position: (x: Int, y: Int)) -> Double {
        let (x, y) = (Double(position.x) + 0.5 - center.x, Double(position.y) + 0.5 - center.y)
        let cosine = 1 / (1 + (x * x + y * y) * scale)
        return 1 - intensity * (1 - cosine * cosine)
    }
}

/// A color that becomes transparent: by the distance of chroma, with BT.709's matrix of sRGB-coded values of 0…1.
public struct ChromaKey: Sendable {
    /// Cb and Cr of the key.
    public let chroma: (cb: Double, cr: Double)
    public let similarity: Double
    public let blend: Double
    /// Below this, alpha is 0 or 1.
    public static let leastBlend = 0.0001

    init(_ effect: Effect, _ primaries: Primaries) {
        let color = effect.color("color")?.coded(primaries) ?? .zero
        let values = YCbCrMatrix.bt709.fromRGB * color.clamped(lowerBound: .zero, upperBound: .one)
        chroma = (values.y, values.z)
        (similarity, blend) = (effect.number("similarity"), effect.number("blend"))
    }

    func alpha(_ color: Triple) -> Double {
        let coded = color.clamped(lowerBound: .zero, upperBound: .one).mapped(TransferFunction.sRGB.encode)
        let values = YCbCrMatrix.bt709.fromRGB * coded
        let (cb, cr) = (values.y - chroma.cb, values.z - chroma.cr)
        let distance = ((cb * cb + cr * cr) / 2).squareRoot()
        guard blend > Self.leastBlend else { return distance > similarity ? 1 : 0 }
        return min(max((distance - similarity) / blend, 0), 1)
    }
}
