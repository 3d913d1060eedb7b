// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDPixels
internal import Glibc
internal import HWDColor
internal import HWDModel

/// Scales pictures on the CPU with the loops of `CPixels`; threads share the rows.
final class CPUScaler: PixelConverter {
    let device: String
    var isCPU: Bool { true }

    private let scaling: Scaling
    private let isLast: Bool
    private let threads: Int32
    private let parts: [(part: ScaledPart, across: AxisTable, down: AxisTable)]

    /// Computes the taps.
    ///
    /// - Parameters:
    ///   - isLast: whether no conversion follows, in which a code's difference may become a larger one.
    ///   - threads: at most; nil is one per processor.
    init(_ scaling: Scaling, isLast: Bool, threads: Int? = nil) {
        (self.scaling, self.isLast) = (scaling, isLast)
        let count = CPUConverter.threads(threads)
        self.threads = Int32(clamping: count)
        device = CPUConverter.label(threads: count)
        var known: [Bool: (across: AxisTable, down: AxisTable)] = [:]
        parts = ScaledPart.parts(of: scaling).map { part in
            let isChroma = scaling.isChroma(part.components[0])
            let tables: (across: AxisTable, down: AxisTable)
            if let made = known[isChroma] {
                tables = made
            } else {
                let axes = scaling.axes(part.components[0])
                tables = (AxisTable(axes.across), AxisTable(axes.down))
                known[isChroma] = tables
            }
            return (part, tables.across, tables.down)
        }
    }

    func convert(_ source: [PlaneView], into target: [MutablePlaneView]) throws(SessionError) {
        try CPUConverter.check(source.map(\.stride), scaling.source, "source")
        try CPUConverter.check(target.map(\.stride), scaling.target, "target")
        if scaling.needsFill { fill(target) }
        for (part, across, down) in parts {
            var plan = hwd_scaling(scaling, part)
            plan.exact = !isLast
            let size = scaling.target.format.bytesPerSample
            let (from, to) = (source[part.sourcePlane], target[part.targetPlane])
            let offset = Int(plan.y) * to.stride + Int(plan.x) * part.targetChannels * size
            let isDone = across.withAxis { across in
                down.withAxis { down in
                    (plan.across, plan.down) = (across, down)
                    return hwd_scale(
                        &plan,
                        hwd_plane(base: from.base.assumingMemoryBound(to: UInt8.self), stride: from.stride),
                        hwd_mutable_plane(
                            base: (to.base + offset).assumingMemoryBound(to: UInt8.self), stride: to.stride),
                        threads)
                }
            }
            guard isDone else { throw SessionError(.allocationFailed, "no memory for the rows of a scaling") }
        }
    }

    /// Fills the target with opaque black.
    private func fill(_ target: [MutablePlaneView]) {
        let image = scaling.target
        for (index, plane) in target.enumerated() {
            let pixel = scaling.blackPixel(plane: index)
            let rowBytes = image.format.rowBytes(plane: index, width: image.width)
            let row = (0..<rowBytes).map { pixel[$0 % pixel.count] }
            for line in 0..<image.format.rows(plane: index, height: image.height) {
                memcpy(plane.base + line * plane.stride, row, rowBytes)
            }
        }
    }
}

/// An axis in fp32.
private final class AxisTable {
    private let first: [Int32]
    private let weights: [Float]
    private let taps: Int32

    init(_ axis: ScalingAxis) {
        (first, taps) = (axis.first, Int32(axis.taps))
        weights = axis.weights.map { Float($0) }
    }

    func withAxis<Result>(_ body: (hwd_axis) -> Result) -> Result {
        first.withUnsafeBufferPointer { first in
            weights.withUnsafeBufferPointer { weights in
                body(
                    hwd_axis(
                        count: Int32(first.count), taps: taps, first: first.baseAddress,
                        weights: weights.baseAddress, begin: 0, end: 0, step: 0, bits: 0))
            }
        }
    }
}

extension hwd_sample_layout {
    fileprivate init(_ format: PixelFormat, channels: Int, component: Int) {
        let isWide = format.bytesPerSample == 2
        self.init(
            type: format == .rgba16f ? HWD_HALF_SAMPLES : isWide ? HWD_WORD_SAMPLES : HWD_BYTE_SAMPLES,
            shift: Int32(format.sampleShift), channels: Int32(channels))
    }
}

extension hwd_scaling {
    /// The numbers of a part, without its axes.
    fileprivate init(_ scaling: Scaling, _ part: ScaledPart) {
        self.init()
        let isChroma = scaling.isChroma(part.components[0])
        source = hwd_sample_layout(
            scaling.source.format, channels: part.sourceChannels, component: part.components[0])
        target = hwd_sample_layout(
            scaling.target.format, channels: part.targetChannels, component: part.components[0])
        width = Int32(isChroma ? (scaling.source.width + 1) / 2 : scaling.source.width)
        components = Int32(part.components.count)
        channel = Int32(part.channel)
        dithers = scaling.dithers && !part.components.contains(3)
        divides = scaling.divides
        clips = scaling.clipsToAlpha
        let filled = scaling.geometry.filled(isChroma: isChroma)
        (x, y) = (Int32(filled.x.lowerBound), Int32(filled.y.lowerBound))
        for (index, component) in part.components.enumerated() {
            let (scale, constant) = scaling.rescaling(component)
            let limits = scaling.limits(component)
            Self.set(&order, index, Int32(part.order[index]))
            Self.set(&factor, index, Float(scale))
            Self.set(&offset, index, Float(constant))
            Self.set(&low, index, Float(limits.lowerBound))
            Self.set(&high, index, Float(limits.upperBound))
        }
    }

    /// Sets an element of a C array.
    private static func set<Number>(
        _ numbers: inout (Number, Number, Number, Number), _ index: Int, _ value: Number
    ) {
        switch index {
        case 0: numbers.0 = value
        case 1: numbers.1 = value
        case 2: numbers.2 = value
        default: numbers.3 = value
        }
    }
}
