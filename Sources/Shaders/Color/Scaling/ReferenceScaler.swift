// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// Scales and converts a picture in Double; the reference for every other converter that scales.
///
/// Pictures between the steps are rounded to their formats, as the other converters do.
public struct ReferenceScaler: Sendable {
    /// The steps.
    public let plan: ScalingPlan

    /// Creates a converter.
    ///
    /// - Throws: the errors of `Conversion.validate`.
    public init(_ conversion: Conversion) throws(SessionError) { plan = try ScalingPlan(conversion) }

    /// Converts and rounds a picture.
    public func convert(_ source: Picture) throws(SessionError) -> Picture {
        let values = try values(source)
        guard let after = plan.after else { return rounded(values) }
        return try ReferenceConverter(after).round(values)
    }

    /// Converts a picture without rounding the last step.
    public func values(_ source: Picture) throws(SessionError) -> ReferenceConverter.Values {
        var picture = source
        if let before = plan.before { picture = try ReferenceConverter(before).convert(picture) }
        let scaled = (0..<plan.scaling.componentCount).map { component(picture, $0) }
        guard let after = plan.after else { return scaled }
        return try ReferenceConverter(after).values(rounded(scaled))
    }

    private func rounded(_ values: ReferenceConverter.Values) -> Picture {
        ReferenceConverter.round(values, plan.scaling.target, dithers: plan.scaling.dithers)
    }

    /// The values of a scaled component; those of 8-bit alpha are 0…1.
    private func component(_ picture: Picture, _ component: Int) -> [Double] {
        let scaling = plan.scaling
        let isChroma = scaling.isChroma(component)
        let (width, height) = (
            isChroma ? (scaling.target.width + 1) / 2 : scaling.target.width,
            isChroma ? (scaling.target.height + 1) / 2 : scaling.target.height
        )
        let unit = component == 3 && scaling.target.format != .rgba16f ? 255.0 : 1
        var values = [Double](repeating: scaling.black(component) / unit, count: width * height)
        guard component < 3 || scaling.source.format.hasAlpha else { return values }
        let (factor, offset) = scaling.rescaling(component)
        let limits = scaling.limits(component)
        let alphas = (scaling.divides || scaling.clipsToAlpha) && component < 3 ? sums(picture, 3) : []
        for (index, var sum) in sums(picture, component).enumerated() {
            if scaling.divides, component < 3 {
                let alpha = min(max(alphas[index].value, 0), 1)
                sum.value = alpha > 0 ? sum.value / alpha : 0
            }
            var value = min(max(sum.value * factor + offset, limits.lowerBound), limits.upperBound)
            if scaling.clipsToAlpha, component < 3 {
                value = min(value, max(alphas[index].value, 0) * scaling.rescaling(3).factor)
                value = min(value, scaling.limits(3).upperBound)
            }
            values[sum.y * width + sum.x] = value / unit
        }
        return values
    }

    /// The filtered values of a component, and their places in the target.
    private func sums(_ picture: Picture, _ component: Int) -> [(x: Int, y: Int, value: Double)] {
        let (across, down) = plan.scaling.axes(component)
        let filled = plan.scaling.geometry.filled(isChroma: plan.scaling.isChroma(component))
        var sums: [(x: Int, y: Int, value: Double)] = []
        for (row, y) in filled.y.enumerated() {
            let lines = (0..<down.taps).map { (Int(down.first[row]) + $0, down.weights[row * down.taps + $0]) }
            for (column, x) in filled.x.enumerated() {
                var sum = 0.0
                for (line, weight) in lines {
                    for tap in 0..<across.taps {
                        let code = picture[component, Int(across.first[column]) + tap, line]
                        let value = picture.format == .rgba16f ? Half.value(UInt16(code)) : Double(code)
                        sum += weight * across.weights[column * across.taps + tap] * value
                    }
                }
                sums.append((x, y, sum))
            }
        }
        return sums
    }
}
