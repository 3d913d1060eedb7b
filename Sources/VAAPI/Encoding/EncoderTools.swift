// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDModel

/// Typed access to the quirks' adjustments.
struct Adjustments {
    let values: [String: PropertyValue]

    func number(_ name: String) -> Int? {
        guard case .int(let value)? = values[name], 0...65535 ~= value else { return nil }
        return Int(value)
    }

    func isSet(_ name: String) -> Bool? {
        guard case .bool(let value)? = values[name] else { return nil }
        return value
    }

    func names(_ name: String) -> [String]? {
        guard case .array(let list)? = values[name] else { return nil }
        return list.compactMap { if case .string(let text) = $0 { text } else { nil } }
    }

    func numbers(_ name: String) -> [Int]? {
        guard case .array(let list)? = values[name] else { return nil }
        return list.compactMap { $0.number.map { Int($0) } }
    }
}

extension ReferenceLimits {
    /// The driver's limits, lowered by quirks; one reference where the driver does not report them.
    init(_ attributes: EncodingAttributes, _ adjustments: Adjustments) {
        let list0 = min(attributes.list0 ?? 1, adjustments.number("max_references_l0") ?? 15)
        let list1 = min(attributes.list1 ?? 0, adjustments.number("max_references_l1") ?? 15)
        let requiresBoth =
            attributes.requiresBothLists || (adjustments.isSet("low_delay_b") ?? false && list1 > 0)
        self.init(
            list0: list0, list1: list1,
            total: min(
                requiresBoth ? max(list0, list1) : list0 + list1, adjustments.number("max_references") ?? 15),
            allowsFuture: attributes.allowsFuture ?? (list1 > 0), requiresLowDelayB: requiresBoth)
    }
}

extension CodingTools {
    /// The tools that the driver supports or requires; where it does not report them, those that Intel's first HEVC
    /// encoders used and every later driver still accepts.
    ///
    /// - Parameter isHeaderless: the driver writes all slice headers. Only Mesa's does, for AMD's blocks of 64.
    init(
        _ attributes: EncodingAttributes, _ adjustments: Adjustments, usesCUQPDelta wantsDelta: Bool,
        isHeaderless: Bool
    ) {
        self.init()
        log2CTBSize = isHeaderless ? 6 : 5
        if let sizes = attributes.blockSizes { log2CTBSize = min(max(sizes.log2CTBSizes.upperBound, 4), 6) }
        if let size = adjustments.number("ctb_size"), [16, 32, 64].contains(size) {
            log2CTBSize = size.trailingZeroBitCount
        }
        log2MaxTBSize = min(log2CTBSize, 5)
        if let sizes = attributes.blockSizes {
            log2MinCBSize = min(sizes.log2MinCBSize, log2CTBSize)
            log2MaxTBSize = min(sizes.log2TBSizes.upperBound, log2MaxTBSize)
            log2MinTBSize = min(sizes.log2TBSizes.lowerBound, log2MinCBSize - 1, log2MaxTBSize)
            transformDepthInter = min(sizes.depthsInter.upperBound, log2CTBSize - log2MinTBSize)
            transformDepthIntra = min(sizes.depthsIntra.upperBound, log2CTBSize - log2MinTBSize)
        }
        guard let features = attributes.features else {
            usesAMP = adjustments.isSet("amp") ?? true
            usesSAO = true
            usesCUQPDelta = wantsDelta || adjustments.isSet("cu_qp_delta") ?? false
            return
        }
        usesAMP = features.amp != .none || adjustments.isSet("amp") ?? false
        usesSAO = features.sao != .none
        usesTemporalMVP = features.temporalMVP != .none
        usesStrongIntraSmoothing = features.strongIntraSmoothing != .none
        usesSignDataHiding = features.signDataHiding != .none
        usesTransformSkip = features.transformSkip == .required
        usesConstrainedIntra = features.constrainedIntra == .required
        usesCUQPDelta =
            features.cuQPDelta == .required || (features.cuQPDelta == .optional && wantsDelta)
            || adjustments.isSet("cu_qp_delta") ?? false
    }
}

extension EncoderSettings {
    /// The quirk `frame_qp` lists the rate control modes in which drivers honor a single picture's QP.
    static func frameQPNotice(_ rate: RateSettings, _ adjustments: Adjustments) -> String? {
        guard let modes = adjustments.names("frame_qp"),
            ConfigAttributes.rateControls(modes) & UInt32(rate.mode) == 0
        else { return nil }
        let mode = ConfigAttributes.rateControlNames(UInt32(rate.mode)).first ?? "this mode"
        return "BaseFrameQP: the driver ignores the QP of single pictures in \(mode)"
    }

    /// The quirk `rate_bounds` says that the driver uses bounds of the QP and a decoder's buffer of its own.
    static func boundNotes(
        _ configuration: EncoderConfiguration, _ rate: RateSettings, _ adjustments: Adjustments
    ) -> [String] {
        guard adjustments.isSet("rate_bounds") == false, !rate.isConstantQP else { return [] }
        var names: [String] = []
        if configuration.minQP != nil { names.append(PropertyKey.minAllowedFrameQP.rawValue) }
        if configuration.maxQP != nil { names.append(PropertyKey.maxAllowedFrameQP.rawValue) }
        // A limited quality is expressed by the lower bound.
        if case .quality = configuration.rateControl { names.append(PropertyKey.quality.rawValue) }
        var notes: [String] = []
        if !names.isEmpty { notes.append("\(names.joined(separator: ", ")): the driver ignores bounds of the QP") }
        if rate.bufferBits > 0 {
            let limited = configuration.dataRateLimit.map { _ in "DataRateLimits: " } ?? ""
            notes.append(
                "\(limited)the driver ignores the decoder's buffer of \(rate.bufferBits) bits and uses its own")
        }
        return notes
    }

    /// The fastest level where speed is prioritized, the best where compression is, else the one that GStreamer sends (`target-usage` 4).
    ///
    /// Drivers' own defaults are fast ones: Mesa's is its speed preset.
    static func qualityLevel(
        _ configuration: EncoderConfiguration, _ attributes: EncodingAttributes, _ adjustments: Adjustments
    ) -> Int? {
        guard let levels = attributes.qualityLevels, levels > 1 else { return nil }
        let own = adjustments.numbers("quality_levels")?.filter { $0 <= levels } ?? []
        if configuration.prioritizesSpeed { return own.max() ?? levels }
        if configuration.prioritizesCompression { return own.min() ?? 1 }
        return own.filter { $0 <= defaultQualityLevel }.max() ?? min(defaultQualityLevel, levels)
    }

    private static let defaultQualityLevel = 4
}
