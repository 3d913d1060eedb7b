// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The scaling of a picture's samples, component by component, without conversion of color.
///
/// Source and target are both Y'CbCr of one color, bytes of RGB in any order, or half floats; bytes of RGB also become half
/// floats of 0…1, and these bytes. Colors are premultiplied where there is alpha, in the target unless `divides`.
public struct Scaling: Hashable, Sendable {
    /// The picture that is read.
    public let source: ImageDescription
    /// The picture that is written.
    public let target: ImageDescription
    /// The filter.
    public let filter: ScalingOptions.Filter
    /// The parts of both.
    public let geometry: ScalingGeometry
    /// Whether 8-bit codes are dithered.
    public let dithers: Bool
    /// Whether colors are divided by alpha after the filter, and are 0 where alpha is 0.
    public let divides: Bool
    /// Whether premultiplied colors are at most alpha, beyond which filters with negative weights ring.
    public let clipsToAlpha: Bool

    /// The target's components: three, or four with alpha.
    public var componentCount: Int { target.format.hasAlpha ? 4 : 3 }

    /// Whether a component has half of the samples in each direction.
    public func isChroma(_ component: Int) -> Bool {
        target.format.isYCbCr && (component == 1 || component == 2)
    }

    /// The taps of a component.
    public func axes(_ component: Int) -> (across: ScalingAxis, down: ScalingAxis) {
        geometry.axes(
            filter, isChroma(component) ? (source.signal.siting, target.signal.siting) : nil)
    }

    /// A component's values in the target are `factor · value + offset` of those in the source.
    public func rescaling(_ component: Int) -> (factor: Double, offset: Double) {
        guard target.format.isYCbCr else {
            let (isFromHalves, isToHalves) = (source.format == .rgba16f, target.format == .rgba16f)
            return (isFromHalves == isToHalves ? 1 : isToHalves ? 1.0 / 255 : 255, 0)
        }
        guard component < 3 else { return (1, 0) }
        let from = SampleRange(bitDepth: source.format.bitDepth, isFullRange: source.signal.isFullRange)
        let to = SampleRange(bitDepth: target.format.bitDepth, isFullRange: target.signal.isFullRange)
        let factor = to.span[component] / from.span[component]
        return (factor, to.zero[component] - from.zero[component] * factor)
    }

    /// The values of a component that can be stored.
    public func limits(_ component: Int) -> ClosedRange<Double> {
        guard target.format != .rgba16f else { return component == 3 ? 0...1 : -Half.limit...Half.limit }
        return 0...(component == 3 ? 255 : Double(1 << target.format.bitDepth) - 1)
    }

    /// The value of opaque black, with which the rest of the target is filled.
    public func black(_ component: Int) -> Double {
        if component == 3 { return limits(3).upperBound }
        guard target.format.isYCbCr else { return 0 }
        return SampleRange(bitDepth: target.format.bitDepth, isFullRange: target.signal.isFullRange).zero[component]
    }
}
