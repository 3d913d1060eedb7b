// SPDX-License-Identifier: MIT

/// The temporal sub-layers that a VPS and an SPS describe, lowest first.
public struct TemporalSubLayers: Hashable, Sendable {
    /// `sub_layer_level_idc` of every sub-layer but the highest, which has the stream's level.
    public var levelIdcs: [Int]
    /// The decoded picture buffer that each sub-layer and those below it need; one entry more than `levelIdcs`.
    public var ordering: [SubLayerOrdering]

    public init(levelIdcs: [Int], ordering: [SubLayerOrdering]) {
        self.levelIdcs = levelIdcs
        self.ordering = ordering
    }

    /// Makes a VPS of one sub-layer describe these sub-layers.
    ///
    /// It sets `vps_temporal_id_nesting_flag`: every picture above the lowest sub-layer must be a temporal sub-layer
    /// access or a leading picture (7.4.3.1).
    /// - Throws: `unsupported` when the VPS has several sub-layers already, or HRD parameters, which apply to one.
    public func divide(_ vps: inout VideoParameterSet) throws(BitstreamError) {
        guard vps.vpsMaxSubLayersMinus1 == 0, vps.hrdParameters.isEmpty else { throw Self.cannot("VPS") }
        vps.vpsMaxSubLayersMinus1 = levelIdcs.count
        vps.vpsTemporalIdNestingFlag = true
        vps.profileTierLevel.subLayers = subLayers
        vps.orderingInfo = SubLayerOrderingInfo(subLayers: ordering)
    }

    /// Makes an SPS of one sub-layer describe these sub-layers (7.4.3.2.1); throws as for a VPS.
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
        BitstreamError(.unsupported, "the \(name) already has sub-layers or HRD parameters")
    }
}
