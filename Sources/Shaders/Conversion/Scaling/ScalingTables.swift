// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDModel

/// The numbers of a scaling as the shaders read them, in one buffer: axes (GLSL/scale.glsl), then the numbers of each plane of
/// the target.
struct ScalingTables {
    /// An axis, and where its first positions and weights begin, in numbers.
    struct Axis {
        let axis: ScalingAxis
        let first: Int
        let weights: Int
    }

    /// The axes of luma and of chroma.
    private let axes: [Bool: (across: Axis, down: Axis)]
    /// The numbers of the axes.
    let axisNumbers: [Float]
    /// The block `Components` of each plane of the target: factors, offsets, limits and black by channels.
    let components: [[Float]]

    init(_ scaling: Scaling) {
        var numbers: [Float] = []
        func add(_ axis: ScalingAxis) -> Axis {
            let first = numbers.count
            numbers += axis.first.map { Float($0) }
            let weights = numbers.count
            numbers += axis.weights.map { Float($0) }
            return Axis(axis: axis, first: first, weights: weights)
        }
        var axes: [Bool: (across: Axis, down: Axis)] = [:]
        for component in 0..<2 where axes[scaling.isChroma(component)] == nil {
            let made = scaling.axes(component)
            axes[scaling.isChroma(component)] = (add(made.across), add(made.down))
        }
        (self.axes, axisNumbers) = (axes, numbers)
        components = scaling.target.format.planeComponents.map { channels in
            func row(_ value: (Int) -> Double) -> [Float] {
                (0..<4).map { $0 < channels.count ? Float(value(channels[$0])) : 0 }
            }
            return row { scaling.rescaling($0).factor } + row { scaling.rescaling($0).offset }
                + row { scaling.limits($0).lowerBound } + row { scaling.limits($0).upperBound }
                + row { scaling.black($0) }
        }
    }

    /// The axes of a component.
    func axes(isChroma: Bool) -> (across: Axis, down: Axis)? { axes[isChroma] }
}

/// The push constants of scale_across.comp.
struct AcrossPlacement: BitwiseCopyable {
    var sourceBase: UInt32 = 0
    var sourceStride: UInt32 = 0
    var rows: Int32 = 0
    var columns: Int32 = 0
    var type: Int32 = 0
    var shift: Int32 = 0
    var sourceChannels: Int32 = 0
    var components: Int32 = 0
    var order: Int32 = 0
    var targetChannels: Int32 = 0
    var channel: Int32 = 0
    var taps: Int32 = 0
    var first: Int32 = 0
    var weights: Int32 = 0
    var targetStride: Int32 = 0
}

/// The push constants of scale_down.comp.
struct DownPlacement: BitwiseCopyable {
    var targetBase: UInt32 = 0
    var targetStride: UInt32 = 0
    var firstRow: Int32 = 0
    var endRow: Int32 = 0
    var words: Int32 = 0
    var type: Int32 = 0
    var shift: Int32 = 0
    var channels: Int32 = 0
    var left: Int32 = 0
    var right: Int32 = 0
    var top: Int32 = 0
    var bottom: Int32 = 0
    var written: Int32 = 0
    var taps: Int32 = 0
    var first: Int32 = 0
    var weights: Int32 = 0
    var sourceRow: Int32 = 0
    var sourceStride: Int32 = 0
    var dithers: Int32 = 0
    var divides: Int32 = 0
    var clips: Int32 = 0
}

extension PixelFormat {
    /// The type of samples as scale.glsl numbers them.
    var scaledType: Int32 { self == .rgba16f ? 2 : bytesPerSample == 2 ? 1 : 0 }
}
