// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDColor

/// Curves as polynomials, evaluated as loops do it and compared with their formulas.
@Suite struct CurveFitTests {
    static let curves = TransferFunction.allCases.filter { $0 != .linear }

    static func plan(
        _ from: (PixelFormat, TransferFunction), _ to: (PixelFormat, TransferFunction),
        _ options: ConversionOptions = ConversionOptions()
    ) throws -> ConversionPlan {
        func image(_ side: (PixelFormat, TransferFunction)) -> ImageDescription {
            ImageDescription(
                format: side.0, width: 16, height: 16,
                signal: SignalDescription(primaries: .bt2020, transfer: side.1, matrix: .bt2020))
        }
        return try ConversionPlan(Conversion(source: image(from), target: image(to), options: options))
    }

    static func value(_ fit: CurveFit, _ x: Double) -> Double {
        var y = min(max(fit.offset.addingProduct(Float(x), fit.scale), fit.low), fit.high)
        if fit.isRooted { y.formSquareRoot() }
        let segment = Int(y.bitPattern >> UInt32(fit.shift)) & (fit.form.segments - 1)
        let rest = y.bitPattern & (1 << UInt32(fit.shift) - 1)
        let t = Float(bitPattern: rest | 0x3F80_0000) - fit.origin
        let factors = (0...fit.form.degree).map { fit.factors[$0 * fit.form.segments + segment] }
        var value = factors.reversed().reduce(Float(0)) { $1.addingProduct($0, t) }
        for _ in 0..<fit.form.squares { value *= value }
        return Double(value)
    }

    /// 20,000 values of 0…limit, closer together near 0.
    static func places(to limit: Double) -> [Double] {
        (0...20_000).map { Double(Float(limit * Double($0) / 20_000 * Double($0) / 20_000)) }
    }

    @Test(
        "light for half floats is within an eighth of their unit", arguments: CurveFitTests.curves, [false, true])
    func light(_ transfer: TransferFunction, isAVX2: Bool) throws {
        let plan = try Self.plan((.p010, transfer), (.rgba16f, .linear))
        let fit = try #require(plan.forwardFit(isAVX2 ? CurveFit.Form.stepsOf8 : CurveFit.Form.stepsOf32))
        let peak = max(1, plan.sourceHLG?.peak ?? 1)
        for place in Self.places(to: 1) {
            let exact = plan.forwardScale * transfer.decode(place)
            let unit = max(exact * 0x1p-11, 0x1p-24 / peak)
            #expect(abs(Self.value(fit, place) - exact) <= unit / 8, "at \(place)")
        }
    }

    @Test("PQ's light is precise enough for effects that multiply its errors", arguments: [false, true])
    func lightForEffects(isAVX2: Bool) throws {
        var options = ConversionOptions()
        options.effects = Effects(list: try EffectList(texts: ["cdl:power=1.25/1.1/0.8"], .call))
        let plan = try Self.plan((.p010, .pq), (.rgba16f, .linear), options)
        let fit = try #require(plan.forwardFit(isAVX2 ? CurveFit.Form.stepsOf8 : CurveFit.Form.stepsOf32))
        #expect(plan.effectGain >= 16)
        for place in Self.places(to: 1) {
            let exact = plan.forwardScale * TransferFunction.pq.decode(place)
            let unit = max(exact * 0x1p-11, 0x1p-24 / plan.effectGain)
            #expect(abs(Self.value(fit, place) - exact) <= unit / 8, "at \(place)")
        }
    }

    @Test("codes are within a twentieth", arguments: CurveFitTests.curves)
    func codes(_ transfer: TransferFunction) throws {
        let plan = try Self.plan((.rgba16f, .linear), (.p010, transfer))
        let fit = try #require(plan.inverseFit(CurveFit.Form.octavesOf32))
        for place in Self.places(to: transfer.decode(1) / plan.inverseScale) {
            let exact = transfer.encode(place * plan.inverseScale)
            #expect(abs(Self.value(fit, place) - exact) <= 0.05 / 1023, "at \(place)")
        }
    }

    @Test("HLG's gain is within an eighth of a half float's unit")
    func gain() throws {
        let plan = try Self.plan((.p010, .hlg), (.rgba16f, .linear))
        let (fit, display) = (try #require(plan.gainFit(CurveFit.Form.octavesOf32)), try #require(plan.sourceHLG))
        for place in Self.places(to: 1) where place > 0x1p-31 {
            let exact = display.displayGain(sceneLuminance: place)
            #expect(abs(Self.value(fit, place) - exact) <= exact * 0x1p-14, "at \(place)")
        }
    }

    @Test("a fit that is not precise enough is not used")
    func refusals() throws {
        let forms = CurveFit.Form.stepsOf32
        // Much light that cancels leaves too large errors in codes.
        #expect(try Self.plan((.p010, .pq), (.bgra8, .sRGB)).forwardFit([CurveFit.Form.stepsOf8[2]]) == nil)
        let extended = ConversionOptions(overRange: .extend)
        // Segments near 0 of a range up to 2.25 are too long for E'^2.4; eight octaves have shorter ones.
        let plan = try Self.plan((.p010, .bt1886), (.rgba16f, .linear), extended)
        #expect(plan.forwardFit([forms[1]]) == nil)
        #expect(try #require(plan.forwardFit(forms)).form == forms[0])
        // PQ's square root is fitted instead of PQ.
        let pq = try Self.plan((.p010, .pq), (.rgba16f, .linear))
        #expect(pq.forwardFit([forms[0], forms[1]]) == nil)
        #expect(try #require(pq.forwardFit(forms)).form == forms[2])
        let bright = try Self.plan((.p010, .hlg), (.rgba16f, .linear), extended)
        #expect(bright.gainFit(CurveFit.Form.octavesOf32) == nil)
        // The logarithm of HLG needs two segments in an octave.
        let hlg = try Self.plan((.rgba16f, .linear), (.p010, .hlg))
        #expect(try #require(hlg.inverseFit(CurveFit.Form.octavesOf32)).form == CurveFit.Form.octavesOf32[1])
    }

    @Test("light is bounded where no half float can overflow")
    func bounds() throws {
        #expect(try Self.plan((.p010, .pq), (.rgba16f, .linear)).isLightBounded)
        let bright = ConversionOptions(effects: Effects(exposure: 12))
        #expect(try !Self.plan((.p010, .pq), (.rgba16f, .linear), bright).isLightBounded)
        #expect(
            try !Self.plan((.p010, .bt1886), (.rgba16f, .linear), ConversionOptions(overRange: .extend))
                .isLightBounded)
    }
}
