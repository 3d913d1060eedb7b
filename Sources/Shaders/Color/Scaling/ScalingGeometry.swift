// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.ceil
import func Glibc.floor
internal import HWDModel

/// The part of the source that is scaled, and the part of the target that it fills, in luma samples.
public struct ScalingGeometry: Hashable, Sendable {
    /// A range of one axis.
    struct Extent: Hashable, Sendable {
        /// Where the source's part begins, and its length; between samples for `Trim`.
        var source: (start: Double, length: Double) { (sourceStart, sourceLength) }
        /// Samples of the whole source.
        let sourceCount: Int
        /// The target's samples that it fills.
        let target: Range<Int>
        let isFlipped: Bool
        private let sourceStart: Double
        private let sourceLength: Double

        init(source: (start: Double, length: Double), of count: Int, target: Range<Int>, isFlipped: Bool) {
            (sourceStart, sourceLength, sourceCount) = (source.start, source.length, count)
            (self.target, self.isFlipped) = (target, isFlipped)
        }

        /// Source samples for a target sample.
        var step: Double { sourceLength / Double(target.count) }
    }

    let across: Extent
    let down: Extent

    /// The largest enlargement and reduction of an axis.
    public static let largestFactor = 8.0

    /// Whether a conversion needs scaling: its sizes differ, or only a part of the source is shown, or it is mirrored.
    static func isNeeded(_ conversion: Conversion) -> Bool {
        let (source, target, options) = (conversion.source, conversion.target, conversion.options.scaling)
        let whole = PictureRectangle(x: 0, y: 0, width: UInt32(source.width), height: UInt32(source.height))
        let isPart = options.mode != .normal && options.cleanAperture.map { $0 != whole } ?? false
        return source.width != target.width || source.height != target.height || isPart
            || options.flipsHorizontally || options.flipsVertically
    }

    /// The geometry of a conversion.
    ///
    /// - Throws: `Parameter` for a clean aperture outside of the source and for factors above 8.
    init(_ conversion: Conversion) throws(SessionError) {
        let (source, target, options) = (conversion.source, conversion.target, conversion.options.scaling)
        let part = try Self.part(of: source, options)
        let (width, height) = (Double(part.width), Double(part.height))
        var from = (x: (Double(part.x), width), y: (Double(part.y), height))
        var to = (x: 0..<target.width, y: 0..<target.height)
        switch options.mode {
        case .normal, .cropSourceToCleanAperture: break
        case .letterbox:
            let factor = min(Double(target.width) / width, Double(target.height) / height)
            let unit = target.format.isYCbCr ? 2 : 1
            to = (
                Self.centered(width * factor, in: target.width, unit),
                Self.centered(height * factor, in: target.height, unit)
            )
        case .trim:
            let factor = max(Double(target.width) / width, Double(target.height) / height)
            let (shownWidth, shownHeight) = (Double(target.width) / factor, Double(target.height) / factor)
            from = (
                (Double(part.x) + (width - shownWidth) / 2, shownWidth),
                (Double(part.y) + (height - shownHeight) / 2, shownHeight)
            )
        }
        across = Extent(source: from.x, of: source.width, target: to.x, isFlipped: options.flipsHorizontally)
        down = Extent(source: from.y, of: source.height, target: to.y, isFlipped: options.flipsVertically)
        for extent in [across, down] {
            let factor = max(extent.step, 1 / extent.step)
            guard factor <= Self.largestFactor + 1e-9 else {
                throw SessionError(
                    .parameter,
                    "\(Int(extent.source.length.rounded())) samples cannot become \(extent.target.count): "
                        + "the factor is \(Int(Self.largestFactor)) at most")
            }
        }
    }

    private static func part(
        of source: ImageDescription, _ options: ScalingOptions
    ) throws(SessionError) -> PictureRectangle {
        let whole = PictureRectangle(x: 0, y: 0, width: UInt32(source.width), height: UInt32(source.height))
        guard let aperture = options.cleanAperture else { return whole }
        guard aperture.width > 0, aperture.height > 0,
            UInt64(aperture.x) + UInt64(aperture.width) <= source.width,
            UInt64(aperture.y) + UInt64(aperture.height) <= source.height
        else {
            throw SessionError(
                .parameter,
                "the clean aperture \(aperture.width)x\(aperture.height)+\(aperture.x)+\(aperture.y) is not inside "
                    + "\(source.width)x\(source.height)")
        }
        return options.mode == .normal ? whole : aperture
    }

    /// A length in the middle of `count` samples, both in whole units.
    private static func centered(_ length: Double, in count: Int, _ unit: Int) -> Range<Int> {
        let samples = max(unit, Int((length / Double(unit)).rounded()) * unit)
        guard samples < count else { return 0..<count }
        let start = (count - samples) / 2 / unit * unit
        return start..<start + samples
    }

    /// The target's samples that are filled.
    ///
    /// - Parameter isChroma: whether 4:2:0's chroma samples are counted.
    public func filled(isChroma: Bool) -> (x: Range<Int>, y: Range<Int>) {
        func part(_ range: Range<Int>) -> Range<Int> {
            isChroma ? range.lowerBound / 2..<(range.upperBound + 1) / 2 : range
        }
        return (part(across.target), part(down.target))
    }

    /// The taps of both axes for the filled samples.
    ///
    /// - Parameter sitings: those of source and target, for planes of chroma; nil for others.
    public func axes(
        _ filter: ScalingOptions.Filter, _ sitings: (source: ChromaSiting, target: ChromaSiting)?
    ) -> (across: ScalingAxis, down: ScalingAxis) {
        let (from, to) = (sitings?.source.offset, sitings?.target.offset)
        let filled = filled(isChroma: sitings != nil)
        return (
            Self.axis(filter, across, filled.x, from.flatMap { from in to.map { (from.x, $0.x) } }),
            Self.axis(filter, down, filled.y, from.flatMap { from in to.map { (from.y, $0.y) } })
        )
    }

    /// The taps of an axis.
    ///
    /// Chroma sample i is at luma sample 2i + offset, whose middle is half a sample further.
    private static func axis(
        _ filter: ScalingOptions.Filter, _ extent: Extent, _ filled: Range<Int>,
        _ offsets: (source: Double, target: Double)?
    ) -> ScalingAxis {
        let (start, length) = extent.source
        let unit = offsets == nil ? 1.0 : 2.0
        let count = offsets == nil ? extent.sourceCount : (extent.sourceCount + 1) / 2
        let lower = max(0, Int(floor(start / unit + 1e-9)))
        let upper = min(count, max(lower + 1, Int(ceil((start + length) / unit - 1e-9))))
        return ScalingAxis(filter, count: filled.count, step: extent.step, in: lower..<upper) { index in
            let place = Double(filled.lowerBound + index)
            let position = offsets.map { 2 * place + $0.target + 0.5 } ?? place + 0.5
            let along = (position - Double(extent.target.lowerBound)) * extent.step
            let found = extent.isFlipped ? start + length - along : start + along
            return offsets.map { (found - $0.source - 0.5) / 2 + 0.5 } ?? found
        }
    }
}
