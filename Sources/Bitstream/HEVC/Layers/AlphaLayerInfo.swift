// SPDX-License-Identifier: MIT

/// A stream's alpha layer as its parameter sets and SEI messages describe it.
public struct AlphaLayerInfo: Hashable, Sendable {
    /// `nuh_layer_id` of the layer.
    public let layerId: Int
    /// The alpha_channel_info message (F.14.2.8); nil without one.
    public let info: AlphaChannelInfo?
    /// How the stream deviates from the interoperability profile of HEVC with alpha, a clause each.
    ///
    /// Empty when its parameter sets and messages conform; pictures are not checked.
    public let deviations: [String]

    /// Reads the NAL units of a format description; nil when no VPS declares an alpha layer.
    public init?(nalUnits: [[UInt8]]) {
        let sets = nalUnits.compactMap { try? VideoParameterSet(nal: $0) }
        guard let vps = sets.first(where: { $0.alphaLayerId != nil }), let id = vps.alphaLayerId else { return nil }
        layerId = id
        var info: AlphaChannelInfo?
        for message in nalUnits.compactMap({ try? SEI(nal: $0) }).flatMap(\.messages)
        where message.payloadType == 165 {
            if case .alphaChannelInfo(let found)? = try? message.interpreted() { info = found }
        }
        self.info = info
        deviations =
            Self.deviations(of: vps, count: Set(sets).count)
            + Self.deviations(of: nalUnits, alpha: id) + Self.deviations(of: info)
    }

    private static func deviations(of vps: VideoParameterSet, count: Int) -> [String] {
        var found: [String] = []
        if count > 1 { found.append("there are \(count) VPSs") }
        guard let layers = try? vps.multilayerExtension() else { return found }
        if layers.layers.count != 2 { found.append("there are \(layers.layers.count) layers") }
        let dimensions = layers.scalabilityMaskFlag.indices.filter { layers.scalabilityMaskFlag[$0] }
        if dimensions != [ScalabilityType.auxiliary.rawValue] {
            found.append("the VPS has the scalability dimensions \(dimensions), not AuxId alone")
        }
        guard let relations = layers.relations else {
            return found + ["the VPS extension does not follow the standard after its layers"]
        }
        if relations.directDependencyFlag { found.append("the alpha layer is predicted from the base layer") }
        if relations.numProfileTierLevelMinus1 != 1 {
            found.append("the VPS has \(relations.numProfileTierLevelMinus1 + 1) profiles, not 2")
        }
        if !relations.directDependencyFlag, !relations.pocLsbNotPresentFlag {
            found.append("IDR slices of the alpha layer carry slice_pic_order_cnt_lsb")
        }
        return found
    }

    private static func deviations(of nalUnits: [[UInt8]], alpha: Int) -> [String] {
        let sequences = nalUnits.compactMap { try? SequenceParameterSet(nal: $0) }
        guard let base = sequences.first(where: { $0.header.nuhLayerId == 0 }),
            let mine = sequences.first(where: { $0.header.nuhLayerId == alpha })
        else { return ["a layer has no SPS"] }
        var found: [String] = []
        if alpha != 1 { found.append("the alpha layer has nuh_layer_id \(alpha)") }
        if mine.isMultiLayerExtension { found.append("the alpha layer's SPS is in the short form") }
        if base.spsSeqParameterSetId == mine.spsSeqParameterSetId {
            found.append("both layers' SPSs have the same id")
        }
        let pictures = nalUnits.compactMap { try? PictureParameterSet(nal: $0) }
        let ids = pictures.filter { $0.header.nuhLayerId == alpha }.map(\.ppsPicParameterSetId)
        if ids.isEmpty { found.append("the alpha layer has no PPS") }
        if pictures.contains(where: { $0.header.nuhLayerId == 0 && ids.contains($0.ppsPicParameterSetId) }) {
            found.append("both layers' PPSs have the same id")
        }
        for (name, sps) in [("base", base), ("alpha", mine)] where !sps.isMultiLayerExtension {
            let profile = sps.profileTierLevel.general?.profileIdc ?? 0
            if profile != 1 { found.append("the \(name) layer's profile is \(profile), not Main") }
            if sps.chromaFormatIdc != 1 || sps.bitDepthLuma != 8 || sps.bitDepthChroma != 8 {
                found.append("the \(name) layer is not 8-bit 4:2:0")
            }
        }
        if !mine.isMultiLayerExtension, base.spsMaxSubLayersMinus1 != mine.spsMaxSubLayersMinus1 {
            found.append(
                "the base layer has \(base.spsMaxSubLayersMinus1 + 1) temporal sub-layers, the alpha layer "
                    + "\(mine.spsMaxSubLayersMinus1 + 1)")
        }
        if base.isFullRange { found.append("the base layer is full range") }
        if !mine.isFullRange { found.append("the alpha layer's SPS does not signal full range") }
        if !mine.isMultiLayerExtension, RepFormat(base) != RepFormat(mine) {
            found.append("the layers differ in size")
        }
        return found
    }

    private static func deviations(of info: AlphaChannelInfo?) -> [String] {
        guard let info else { return ["there is no alpha_channel_info message, so the mode is unknown"] }
        var found: [String] = []
        if info.alphaChannelUseIdc > 1 { found.append("alpha_channel_info leaves the mode unspecified") }
        let plain = AlphaChannelInfo(alphaChannelUseIdc: info.alphaChannelUseIdc)
        if info != plain { found.append("alpha_channel_info does not map alpha to the values 0 to 255") }
        return found
    }
}
