// SPDX-License-Identifier: GPL-2.0-or-later

/// The temporal sub-layers of a stream as its VPS and SPS tell them, the lowest first.
public struct TemporalSubLayers: Hashable, Sendable {
    /// `sub_layer_level_idc` of every sub-layer but the highest, whose level is the stream's.
    public var levelIdcs: [Int]
    /// What each sub-layer, with those below it, needs of the decoded picture buffer: one entry more.
    public var ordering: [SubLayerOrdering]

    /// The given sub-layers.
    public init(levelIdcs: [Int], ordering: [SubLayerOrdering]) {
        self.levelIdcs = levelIdcs
        self.ordering = ordering
    }

    /// Makes a VPS of one sub-layer tell these; every picture above the lowest is a temporal sub-layer access or a
    /// leading picture (`vps_temporal_id_nesting_flag`, 7.4.3.1).
    ///
    /// - Throws: `unsupported` where it has HRD parameters, which are for one sub-layer.
    public func divide(_ vps: inout VideoParameterSet) throws(BitstreamError) {
        guard vps.vpsMaxSubLayersMinus1 == 0, vps.hrdParameters.isEmpty else { throw Self.cannot("VPS") }
        vps.vpsMaxSubLayersMinus1 = levelIdcs.count
        vps.vpsTemporalIdNestingFlag = true
        vps.profileTierLevel.subLayers = subLayers
        vps.orderingInfo = SubLayerOrderingInfo(subLayers: ordering)
    }

    /// Makes an SPS of one sub-layer tell these (7.4.3.2.1).
    ///
    /// - Throws: as above.
    public func divide(_ sps: inout SequenceParameterSet) throws(BitstreamError) {
        guard sps.spsMaxSubLayersMinus1 == 0, sps.vuiParameters?.hrdParameters == nil else {
            throw Self.cannot("SPS")
        }
        sps.spsMaxSubLayersMinus1 = levelIdcs.count
        sps.spsTemporalIdNestingFlag = true
        sps.profileTierLevel.subLayers = subLayers
        sps.orderingInfo = SubLayerOrderingInfo(subLayers: ordering)
    }

    private var subLayers: [SubLayerProfileTierLevel] { levelIdcs.map { SubLayerProfileTierLevel(levelIdc: $0) } }

    private static func cannot(_ name: String) -> BitstreamError {
        BitstreamError(.unsupported, "The \(name) has sub-layers or HRD parameters already.")
    }
}
