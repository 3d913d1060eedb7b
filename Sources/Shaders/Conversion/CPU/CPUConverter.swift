// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import Glibc
public import HWDColor
public import HWDModel

/// Converts on the CPU with the loops of `CPixels` and the numbers of a `ConversionPlan`; threads share the rows.
public final class CPUConverter: PixelConverter {
    /// For example "CPU, AVX-512, 4 threads".
    public let device: String
    private var plan: ConversionPlan
    let threads: Int32
    private var tables: CurveTables
    private var loops: hwd_plan
    /// What the curves are precise enough for, as `ConversionPlan.effectGain`.
    private var fittedGain: Double

    /// Fits the curves, or computes their tables, which takes one to two milliseconds.
    ///
    /// - Parameter threads: at most; nil is one per processor.
    /// - Throws: the errors of `Conversion.validate`.
    public init(_ conversion: Conversion, threads: Int? = nil) throws(SessionError) {
        plan = try ConversionPlan(conversion)
        let count = Self.threads(threads)
        self.threads = Int32(clamping: count)
        let tables = CurveTables()
        self.tables = tables
        loops = hwd_plan(plan, tables)
        fittedGain = plan.effectGain
        device = Self.label(threads: count)
    }

    public var isCPU: Bool { true }

    /// The number of threads for a limit; nil is one per processor.
    static func threads(_ limit: Int?) -> Int { max(1, limit ?? Int(hwd_processors())) }

    static func label(threads count: Int) -> String {
        "CPU, \(String(cString: hwd_instructions())), \(count == 1 ? "1 thread" : "\(count) threads")"
    }

    /// Converts one picture.
    ///
    /// - Throws: `Parameter` for planes that are too few or too narrow, `AllocationFailed` where memory for rows ran out.
    public func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
        let (from, to) = (plan.conversion.source, plan.conversion.target)
        try Self.check(source.map(\.stride), from, "source")
        try Self.check(target.map(\.stride), to, "target")
        if plan.rescales { return rescale(source, target) }
        let sources = source.map {
            hwd_plane(base: $0.base.assumingMemoryBound(to: UInt8.self), stride: $0.stride)
        }
        let targets = target.map {
            hwd_mutable_plane(base: $0.base.assumingMemoryBound(to: UInt8.self), stride: $0.stride)
        }
        guard hwd_convert(&loops, sources, targets, threads) else {
            throw SessionError(.allocationFailed, "no memory for the rows of a conversion")
        }
        withExtendedLifetime(tables) {}
    }

    public func change(to conversion: Conversion) throws(SessionError) -> Bool {
        guard let changed = try plan.changed(for: conversion) else { return false }
        plan = changed
        guard plan.effectGain <= fittedGain else {
            tables = CurveTables()
            loops = hwd_plan(plan, tables)
            fittedGain = plan.effectGain
            return true
        }
        loops.setMapping(plan, tables)
        if loops.converts { loops.setEffects(plan, tables) }
        return true
    }

    static func check(_ strides: [Int], _ image: ImageDescription, _ side: String) throws(SessionError) {
        guard strides.count == image.format.planeCount else {
            throw SessionError(
                .parameter,
                "the \(side) has \(strides.count) planes; \(image.format.rawValue) has \(image.format.planeCount)")
        }
        for (plane, stride) in strides.enumerated()
        where stride < image.format.rowBytes(plane: plane, width: image.width) {
            throw SessionError(.parameter, "plane \(plane) of the \(side) is too narrow for a row")
        }
    }

    /// Converts each component separately, where only depth, range or layout change.
    private func rescale(_ source: [PlaneView], _ target: [MutablePlaneView]) {
        let (from, to) = (plan.conversion.source, plan.conversion.target)
        let (factor, offset) = plan.rescaling
        for component in 0..<from.format.componentCount {
            let isChroma = component == 1 || component == 2
            let isAlpha = component == 3
            let (reads, writes) = (from.format.place(component), to.format.place(component))
            guard to.format.componentCount > component else { continue }
            var scaling = hwd_rescaling(
                source: hwd_layout(from, alphaOnly: isAlpha), target: hwd_layout(to, alphaOnly: isAlpha),
                factor: isAlpha ? 1 : Float(factor[component]), offset: isAlpha ? 0 : Float(offset[component]),
                width: Int32(isChroma ? (from.width + 1) / 2 : from.width),
                height: Int32(isChroma ? (from.height + 1) / 2 : from.height), source_step: reads.step,
                target_step: writes.step, dithers: plan.dithers && !isAlpha)
            let (input, output) = (source[reads.plane], target[writes.plane])
            hwd_rescale(
                &scaling,
                hwd_plane(
                    base: (input.base + reads.offset).assumingMemoryBound(to: UInt8.self), stride: input.stride),
                hwd_mutable_plane(
                    base: (output.base + writes.offset).assumingMemoryBound(to: UInt8.self), stride: output.stride))
        }
        // A source without alpha is opaque.
        if to.format.componentCount == 4, from.format.componentCount == 3 {
            let plane = target[to.format.place(3).plane]
            for row in 0..<to.height { memset(plane.base + row * plane.stride, 255, to.width) }
        }
    }
}

extension PixelFormat {
    /// The number of components of a Y'CbCr format, alpha included.
    fileprivate var componentCount: Int { hasAlpha ? 4 : 3 }

    /// A Y'CbCr component's plane, the byte offset of its first sample, and the bytes from one sample to the next.
    fileprivate func place(_ component: Int) -> (plane: Int, offset: Int, step: Int) {
        let size = bytesPerSample
        switch component {
        case 0: return (0, 0, size)
        case 3: return (planeCount - 1, 0, 1)
        default: return isSemiPlanar ? (1, (component - 1) * size, 2 * size) : (component, 0, size)
        }
    }
}

extension hwd_layout {
    /// The layout of a picture, or of its alpha plane.
    init(_ image: ImageDescription, alphaOnly: Bool = false) {
        let format = image.format
        let depth = alphaOnly ? 8 : format.bitDepth
        let isWide = format.isYCbCr && depth == 10
        let packing = format.packing
        func shift(_ component: Int) -> Int32 { Int32(packing?.field(component).shift ?? 0) }
        self.init(
            form: format.isYCbCr ? HWD_YCBCR : format == .rgba16f ? HWD_HALVES : HWD_PACKED, words: isWide,
            shift: isWide && format.isSemiPlanar ? 6 : 0, interleaved: format.isSemiPlanar,
            alpha: format.isYCbCr && format.hasAlpha, shifts: (shift(0), shift(1), shift(2), shift(3)),
            opaque: packing?.hasAlpha == false, top: Float(1 << min(depth, 10)) - 1,
            alpha_top: Float(format.alphaTop))
    }
}
