// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import Glibc
internal import HWDColor
internal import HWDModel

/// Owner of the tables that a `hwd_plan` points to.
final class CurveTables {
    private var memory: [UnsafeMutablePointer<Float>] = []
    private var mapped: UnsafeMutablePointer<hwd_mapping>?
    private var effects: UnsafeMutablePointer<hwd_effect>?
    /// The numbers of effects, and what they are copies of: an array that is kept has an address of its own.
    private var numbers: [(values: [Float], copy: UnsafeMutablePointer<Float>)] = []
    /// PQ's light by its codes, and the factor on light before PQ.
    private var pq: (scale: Double, curve: hwd_curve)?

    deinit {
        effects?.deallocate()
        for table in numbers { table.copy.deallocate() }
        for table in memory { free(table) }
        mapped?.deallocate()
    }

    /// Samples as pairs of a value and the difference to the next; the last difference is 0.
    private func pairs(_ samples: [Float]) -> UnsafePointer<Float>? {
        var start: UnsafeMutableRawPointer?
        // No pair may cross a cache line.
        guard posix_memalign(&start, 64, samples.count * 8) == 0, let start else { return nil }
        let table = start.bindMemory(to: Float.self, capacity: samples.count * 2)
        for index in samples.indices {
            table[2 * index] = samples[index]
            table[2 * index + 1] = index + 1 < samples.count ? samples[index + 1] - samples[index] : 0
        }
        memory.append(table)
        return UnsafePointer(table)
    }

    /// A plan's effects for loops; a repeated call replaces those before, of which it keeps the same tables.
    func effects(_ steps: [EffectStep], level: Int32) -> UnsafePointer<hwd_effect>? {
        let (before, old) = (effects, numbers)
        (effects, numbers) = (nil, [])
        defer {
            before?.deallocate()
            for table in old where !numbers.contains(where: { $0.copy == table.copy }) { table.copy.deallocate() }
        }
        guard !steps.isEmpty else { return nil }
        let array = UnsafeMutablePointer<hwd_effect>.allocate(capacity: steps.count)
        for (index, step) in steps.enumerated() {
            array[index] = hwd_effect(step, lightOfPQ: { lightOfPQ(scale: $0, level: level) }) { values in
                if let same = numbers.first(where: { Self.address($0.values) == Self.address(values) }) {
                    return UnsafePointer(same.copy)
                }
                let kept = old.first { Self.address($0.values) == Self.address(values) }?.copy
                // Loops read a number beyond the last row of a cube.
                let copy = kept ?? .allocate(capacity: values.count + 1)
                if kept == nil {
                    copy.initialize(from: values, count: values.count)
                    (copy + values.count).initialize(to: 0)
                }
                numbers.append((values, copy))
                return UnsafePointer(copy)
            }
        }
        effects = array
        return UnsafePointer(array)
    }

    private static func address(_ values: [Float]) -> UnsafePointer<Float>? {
        values.withUnsafeBufferPointer { $0.baseAddress }
    }

    /// PQ's light by segments; without segments where there is no fit.
    private func lightOfPQ(scale: Double, level: Int32) -> hwd_curve {
        if let pq, pq.scale == scale { return pq.curve }
        let fit = CurveFit.lightOfPQ(scale: scale, Forms(level: level).steps)
        let curve = fit.map { segments($0, isOdd: true) } ?? hwd_curve()
        pq = (scale, curve)
        return curve
    }

    /// A fit's segments; arguments of an odd curve are magnitudes.
    func segments(_ fit: CurveFit, isOdd: Bool = false) -> hwd_curve {
        var start: UnsafeMutableRawPointer?
        // The loops read all rows of their instruction set.
        let isWide = fit.form.segments == HWD_SEGMENTS_AVX512
        let rows = Int(isWide ? HWD_ROWS_AVX512 : HWD_ROWS_AVX2)
        precondition((isWide || fit.form.segments == HWD_SEGMENTS_AVX2) && fit.form.degree < rows)
        let count = rows * fit.form.segments
        guard posix_memalign(&start, 64, count * 4) == 0, let start else { return hwd_curve() }
        let factors = start.initializeMemory(as: Float.self, repeating: 0, count: count)
        for (index, factor) in fit.factors.enumerated() { factors[index] = factor }
        memory.append(factors)
        var curve = hwd_curve()
        curve.odd = isOdd
        curve.segments = hwd_segments(
            factors: UnsafePointer(factors), scale: fit.scale, offset: fit.offset, low: fit.low, high: fit.high,
            origin: fit.origin, shift: Int32(fit.shift), root: fit.isRooted, rows: Int32(fit.form.degree + 1),
            squares: Int32(fit.form.squares))
        return curve
    }

    /// A mapping for loops; a repeated call replaces the one before.
    func mapping(_ mapping: SignalMapping) -> UnsafePointer<hwd_mapping>? {
        let place =
            mapped ?? UnsafeMutablePointer<hwd_mapping>.allocate(capacity: 1)
        mapped = place
        let numbers = mapping.table + [1 / Float(1 << mapping.bitDepth - 1)]
        precondition(numbers.count * 4 == MemoryLayout<hwd_mapping>.size)
        numbers.withUnsafeBytes { bytes in
            UnsafeMutableRawBufferPointer(start: place, count: bytes.count).copyMemory(from: bytes)
        }
        return UnsafePointer(place)
    }

    /// Samples in equal steps from 0 to `limit`.
    func uniform(_ samples: [Float], limit: Double, isOdd: Bool) -> hwd_curve {
        hwd_curve(
            segments: hwd_segments(), pairs: pairs(samples), count: Int32(samples.count), limit: Float(limit),
            scale: Float(Double(samples.count - 1) / limit), first: 0, tiny: 0, odd: isOdd)
    }

    /// A `LogTable`'s values; arguments above `limit` are clamped to it.
    func octaves(_ samples: [Float], limit: Double = 65536, isOdd: Bool = false) -> hwd_curve {
        let lowest = Float(sign: .plus, exponent: LogTable.lowest, significand: 1)
        return hwd_curve(
            segments: hwd_segments(), pairs: pairs(samples), count: Int32(samples.count),
            limit: Float(min(limit, 65536)), scale: 0,
            first: Int32(lowest.bitPattern >> 17), tiny: 1 / lowest, odd: isOdd)
    }
}

/// The forms of fits whose coefficients an instruction set selects from registers.
private struct Forms {
    /// For arguments from 0 to a limit; the first that is precise enough is used.
    var steps: [CurveFit.Form] = []
    /// For arguments of many magnitudes.
    var octaves: [CurveFit.Form] = []

    init(level: Int32) {
        switch level {
        case 2: (steps, octaves) = (CurveFit.Form.stepsOf32, CurveFit.Form.octavesOf32)
        case 1: steps = CurveFit.Form.stepsOf8
        default: break
        }
    }
}

extension hwd_plan {
    /// A plan in the form that the loops of `CPixels` take.
    init(_ plan: ConversionPlan, _ tables: CurveTables) {
        let (source, target) = (plan.conversion.source, plan.conversion.target)
        self.init()
        level = hwd_level()
        width = Int32(source.width)
        height = Int32(source.height)
        self.source = hwd_layout(source)
        self.target = hwd_layout(target)
        setMapping(plan, tables)
        (up_x, up_y) = (Self.nearer(source.signal.siting.offset.x), Self.nearer(source.signal.siting.offset.y))
        clips_source = plan.clipsSource
        divides = plan.unpremultiplies
        converts = !plan.keepsValues
        clips_target = plan.clipsTarget
        multiplies = plan.premultiplies
        from_rgb = Self.rows(plan.encode)
        let taps = ReferenceConverter.taps(plan.conversion)
        for (place, weight) in taps.x {
            withUnsafeMutableBytes(of: &down_x) {
                $0.storeBytes(of: Float(weight), toByteOffset: 4 * (place + 1), as: Float.self)
            }
        }
        for (place, weight) in taps.y {
            withUnsafeMutableBytes(of: &down_y) {
                $0.storeBytes(of: Float(weight), toByteOffset: 4 * (place + 1), as: Float.self)
            }
        }
        dithers = plan.dithers
        if converts { setLight(plan, tables) }
    }

    /// Sets what depends on the numbers of a plan's mapping alone.
    mutating func setMapping(_ plan: ConversionPlan, _ tables: CurveTables) {
        to_rgb = Self.rows(plan.decode)
        mapping = plan.mapping.flatMap { tables.mapping($0) }
    }

    /// Sets what depends on the parameters of a plan's effects alone.
    mutating func setEffects(_ plan: ConversionPlan, _ tables: CurveTables) {
        is_bounded = plan.isLightBounded
        // −0 changes no sum, not even that of zeros.
        let offset = plan.light.offset == .zero ? Triple(repeating: -0.0) : plan.light.offset
        colors = Self.rows(Affine(plan.light.matrix, offset))
        var steps = plan.effects
        has_vignette = false
        if case .vignette(let first)? = steps.first {
            steps.removeFirst()
            has_vignette = true
            vignette = (Float(first.intensity), Float(first.center.x), Float(first.center.y), Float(first.scale))
        }
        effects = tables.effects(steps, level: level)
        effect_count = Int32(steps.count)
        makes_alpha = plan.conversion.options.effects.list.makesAlpha
    }

    private mutating func setLight(_ plan: ConversionPlan, _ tables: CurveTables) {
        let (source, target) = (plan.conversion.source, plan.conversion.target)
        let forms = Forms(level: level)
        if source.signal.transfer == .linear {
            decode = hwd_curve()
        } else if let fit = plan.forwardFit(forms.steps) {
            decode = tables.segments(fit, isOdd: !plan.clipsSource)
        } else {
            decode = tables.uniform(plan.forwardTableAlone, limit: plan.forwardLimit, isOdd: !plan.clipsSource)
        }
        if let display = plan.sourceHLG {
            gain.weights = Self.floats(display.luminance)
            gain.curve =
                plan.gainFit(forms.octaves).map { tables.segments($0) }
                ?? tables.octaves(LogTable.values { display.displayGain(sceneLuminance: $0) })
        }
        if let mapping = plan.toneMapping {
            // Weights of 0 select the largest component.
            tone.curve = tables.octaves(LogTable.values { mapping.gain(largest: $0) })
        }
        setEffects(plan, tables)
        if let display = plan.targetHLG {
            inverse_gain.weights = Self.floats(display.luminance)
            inverse_gain.curve = tables.octaves(
                // The gain is unbounded at 0, where it is multiplied by 0.
                LogTable.values { $0 > 0 ? display.sceneGain(displayLuminance: $0) : .infinity })
        }
        if target.signal.transfer != .linear {
            // PQ is undefined above its peak, clipped or not.
            let limit = target.signal.transfer == .pq ? 1 / plan.inverseScale : 65536
            if let fit = plan.inverseFit(forms.octaves) {
                encode = tables.segments(fit, isOdd: !plan.clipsTarget)
                return
            }
            encode = tables.octaves(plan.inverseTable, limit: limit, isOdd: !plan.clipsTarget)
        }
    }

    /// The weight of the nearer chroma sample at even and odd positions, for an offset of 0, 1/2 or 1.
    private static func nearer(_ offset: Double) -> (Float, Float) {
        offset == 0 ? (1, 0.5) : offset == 1 ? (0.5, 1) : (0.75, 0.75)
    }

    private static func floats(_ values: Triple) -> (Float, Float, Float) {
        (Float(values.x), Float(values.y), Float(values.z))
    }

    /// A 3x4 matrix by rows.
    static func rows(
        _ map: Affine
    ) -> (Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float, Float) {
        let (rows, offset) = (map.matrix.rows, map.offset)
        return (
            Float(rows.0.x), Float(rows.0.y), Float(rows.0.z), Float(offset.x), Float(rows.1.x), Float(rows.1.y),
            Float(rows.1.z), Float(offset.y), Float(rows.2.x), Float(rows.2.y), Float(rows.2.z), Float(offset.z)
        )
    }
}
