// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

/// A plan in the form that the shaders take: pipeline, uniform buffer and tables (GLSL/core.glsl).
struct ShaderParameters {
    /// The shader and its specialization constants.
    let key: PipelineStore.Key
    /// The uniform buffer `Parameters`.
    private(set) var uniform: [Float]
    /// The texel buffer `table`.
    let tables: [Float]
    private(set) var effects: EffectNumbers

    let shape: DispatchShape
    private let packsByHand: Bool

    init(_ plan: ConversionPlan, _ shape: DispatchShape, packsByHand: Bool) throws(SessionError) {
        self.shape = shape
        self.packsByHand = packsByHand
        effects = try EffectNumbers(plan.effects)
        key = Self.key(plan, shape, packsByHand, effects)
        uniform = Self.uniform(plan, effects)
        tables = Self.tables(plan)
    }

    /// The parameters of a plan that `ConversionPlan.changed` returned; nil where it needs another shader.
    ///
    /// - Throws: `PixelTransferNotSupported` as the initializer.
    func changed(for plan: ConversionPlan) throws(SessionError) -> ShaderParameters? {
        var changed = self
        changed.effects = try EffectNumbers(plan.effects)
        guard Self.key(plan, shape, packsByHand, changed.effects) == key else { return nil }
        changed.uniform = Self.uniform(plan, changed.effects)
        return changed
    }

    private static func number(_ format: PixelFormat) -> UInt32 {
        switch format {
        case .nv12: 0
        case .p010: 1
        case .yu12, .yuva: 2  // VulkanConverter refuses YUVA
        case .i010: 3
        case .rgba16f: 4
        case .bgra8, .rgba8, .bgra10, .rgba10, .bgrx10, .rgbx10: 5
        }
    }

    /// The layout of a word as core.glsl reads it: the lowest bits of R, G, B and alpha, the bits of a color and of alpha, each in
    /// five bits, and whether there is no alpha.
    private static func packing(_ format: PixelFormat) -> UInt32 {
        guard let packing = format.packing else { return 0 }
        let fields = [
            packing.red, packing.green, packing.blue, packing.alpha, packing.bits, packing.alphaBits,
            packing.hasAlpha ? 0 : 1,
        ]
        return fields.reversed().reduce(0) { $0 << 5 | UInt32($1) }
    }

    private static func key(
        _ plan: ConversionPlan, _ shape: DispatchShape, _ packsByHand: Bool, _ effects: EffectNumbers
    ) -> PipelineStore.Key {
        let (source, target) = (plan.conversion.source, plan.conversion.target)
        let flags = [
            plan.keepsValues, plan.clipsSource, plan.clipsTarget, source.signal.transfer == .linear,
            target.signal.transfer == .linear, plan.sourceHLG != nil, plan.targetHLG != nil,
            target.signal.transfer == .pq, plan.toneMapping != nil,
            plan.unpremultiplies, plan.premultiplies, plan.dithers, plan.rescales,
        ]
        let siting = source.signal.siting.offset
        /// The center of a tent filter; −1 for the mean of two.
        func tent(_ taps: [(Int, Double)]) -> UInt32 {
            taps.count == 3 ? UInt32(taps[1].0) : UInt32(bitPattern: -1)
        }
        let taps = ReferenceConverter.taps(plan.conversion)
        var constants = [number(source.format), number(target.format)]
        constants += flags.map { $0 ? 1 : 0 }
        constants += [UInt32(siting.x * 2), UInt32(siting.y * 2), tent(taps.x), tent(taps.y)]
        constants += [UInt32(shape.workgroup.x), UInt32(shape.workgroup.y)]
        constants += [packsByHand ? 1 : 0, plan.mapping != nil ? 1 : 0, UInt32(shape.pixels)]
        constants += [packing(source.format), packing(target.format)]
        if !effects.isEmpty { constants += [effects.kinds, effects.codings] }
        return PipelineStore.Key(
            writesYCbCr: target.format.isYCbCr, hasEffects: !effects.isEmpty, constants: constants)
    }

    private static func uniform(_ plan: ConversionPlan, _ effects: EffectNumbers) -> [Float] {
        func row(_ row: Triple, _ last: Double = 0) -> [Float] {
            [Float(row.x), Float(row.y), Float(row.z), Float(last)]
        }
        func rows(_ map: Affine) -> [Float] {
            let rows = map.matrix.rows
            return row(rows.0, map.offset.x) + row(rows.1, map.offset.y) + row(rows.2, map.offset.z)
        }
        let step = Double(ConversionPlan.forwardEntries - 1) / plan.forwardLimit
        let rescaling = plan.rescaling
        return rows(plan.decode) + rows(plan.light) + rows(plan.encode)
            + row(plan.sourceHLG?.luminance ?? .zero, step) + row(plan.targetHLG?.luminance ?? .zero)
            + row(rescaling.factor) + row(rescaling.offset)
            + (plan.mapping?.table ?? [Float](repeating: 0, count: SignalMapping.tableSize)) + effects.records
    }

    /// The tables of core.glsl; those that this conversion does not read are zeros.
    private static func tables(_ plan: ConversionPlan) -> [Float] {
        let (source, target) = (plan.conversion.source.signal.transfer, plan.conversion.target.signal.transfer)
        let zeros = [Float](repeating: 0, count: LogTable.count)
        let usesCurves = !plan.keepsValues
        let usesForward = usesCurves && source != .linear
        let noForward = [Float](repeating: 0, count: ConversionPlan.forwardEntries)
        var tables = usesForward ? plan.forwardTable : noForward
        tables += usesCurves && target != .linear ? plan.inverseTable : zeros
        tables += plan.sourceHLG.map { hlg in LogTable.values { hlg.displayGain(sceneLuminance: $0) } } ?? zeros
        tables += plan.targetHLG.map { hlg in LogTable.values { hlg.sceneGain(displayLuminance: $0) } } ?? zeros
        tables += plan.toneMapping.map { tone in LogTable.values { tone.gain(largest: $0) } } ?? zeros
        tables += usesForward ? plan.forwardTableNearZero : noForward
        return tables
    }
}

/// The pixels that an invocation writes, and the invocations of a workgroup.
struct DispatchShape {
    /// Pixels of a row that an invocation writes; it always writes two rows.
    let pixels: Int
    /// Invocations of a workgroup.
    let workgroup: (x: Int, y: Int)

    /// The shape for a target.
    ///
    /// On a GPU, neighboring invocations store adjacent words, as many as one store instruction holds: gaps
    /// multiply the time of stores across a bus (docs/performance.md). On a CPU, invocations with more pixels
    /// repeat less work.
    init(_ target: PixelFormat, isSoftware: Bool) {
        workgroup = isSoftware ? (16, 1) : (32, 4)
        pixels =
            switch target {
            case .rgba16f: isSoftware ? 4 : 2
            case .bgra8, .rgba8, .bgra10, .rgba10, .bgrx10, .rgbx10: 4
            case .p010: isSoftware ? 8 : 2
            case .nv12, .i010, .yu12, .yuva: isSoftware ? 8 : 4
            }
    }

    /// The workgroups for an area.
    func groups(width: Int, rows: Int) -> (x: Int, y: Int) {
        let (across, down) = (pixels * workgroup.x, 2 * workgroup.y)
        return ((width + across - 1) / across, (rows + down - 1) / down)
    }
}

/// The push constants `Place`: the position of a slice of the picture in the bindings.
struct Placement {
    /// Bytes from a binding's start to its first row, and from row to row, for each plane.
    var sourceBase: (UInt32, UInt32, UInt32) = (0, 0, 0)
    var sourceStride: (UInt32, UInt32, UInt32) = (0, 0, 0)
    var targetBase: (UInt32, UInt32, UInt32) = (0, 0, 0)
    var targetStride: (UInt32, UInt32, UInt32) = (0, 0, 0)
    /// The picture's size.
    var width: Int32 = 0
    var height: Int32 = 0
    /// The picture rows that are written.
    var firstRow: Int32 = 0
    var endRow: Int32 = 0
    /// The planes' rows that the bindings begin with.
    var sourceLuma: Int32 = 0
    var sourceChroma: Int32 = 0
    var targetLuma: Int32 = 0
    var targetChroma: Int32 = 0
}
