// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A conversion from one picture description to another; a converter is created for one of these.
public struct Conversion: Hashable, Sendable {
    /// The picture that is read.
    public var source: ImageDescription
    /// The picture that is written.
    public var target: ImageDescription
    /// Options of the conversion.
    public var options: ConversionOptions

    /// Creates a conversion without checking it; see `validate`.
    public init(source: ImageDescription, target: ImageDescription, options: ConversionOptions = .init()) {
        self.source = source
        self.target = target
        self.options = options
    }

    /// Whether pictures are scaled, cropped or mirrored; see `ScalingPlan`.
    public var isScaled: Bool { ScalingGeometry.isNeeded(self) }

    /// Checks that the conversion is possible; converters rely on this.
    ///
    /// - Throws: `Parameter` for invalid numbers, `PixelTransferNotSupported` for conversions that are not implemented.
    public func validate() throws(SessionError) {
        for image in [source, target] {
            guard (1...16384).contains(image.width), (1...16384).contains(image.height) else {
                throw SessionError(
                    .parameter, "a picture of \(image.width)x\(image.height) is not possible (16384 at most)")
            }
        }
        if isScaled {
            _ = try ScalingGeometry(self)
            guard options.mapping == nil else {
                throw SessionError(.pixelTransferNotSupported, "a conversion with a mapping does not scale")
            }
        }
        for image in [source, target] where image.isLight && image.signal.transfer != .linear {
            throw SessionError(
                .pixelTransferNotSupported,
                "half floats are extended linear here, not \(image.signal.transfer.rawValue)")
        }
        try check(options.referenceWhite, 1...10000, "the reference white", "cd/m²")
        try check(options.hlgPeak, 100...10000, "the HLG peak", "cd/m²")
        if let headroom = options.targetHeadroom {
            try check(headroom, 1...1000, "the target headroom", "times reference white")
        }
        if let peak = options.masteringPeak { try check(peak, 1...10000, "the mastering peak", "cd/m²") }
        try checkMapping()
        try checkEffects(options.effects)
    }

    private func checkEffects(_ effects: Effects) throws(SessionError) {
        try check(effects.exposure, -16...16, "the exposure", "stops")
        try check(effects.saturation, 0...16, "the saturation", "(1 leaves it)")
        try check(effects.sepia, 0...1, "sepia", "(0 leaves it)")
        guard effects.list.isEmpty || !effects.hasMembers else {
            throw SessionError(
                .parameter, "exposure, saturation and sepia belong in the list of effects, if there is one")
        }
        guard target.format.hasAlpha || !effects.list.leavesAlpha else {
            throw SessionError(.parameter, "the effect key needs a target with alpha, or background after it")
        }
    }

    private func checkMapping() throws(SessionError) {
        guard let mapping = options.mapping else { return }
        guard source.signal.transfer == .pq, source.signal.primaries == .bt2020 else {
            throw SessionError(.parameter, "a conversion with a mapping needs a source described as PQ of BT.2020")
        }
        try mapping.check(source.format)
    }

    private func check(
        _ value: Double, _ range: ClosedRange<Double>, _ what: String, _ unit: String
    ) throws(SessionError) {
        guard range.contains(value) else {
            throw SessionError(
                .parameter, "\(what) is \(value), not \(range.lowerBound) to \(range.upperBound) \(unit)")
        }
    }
}
