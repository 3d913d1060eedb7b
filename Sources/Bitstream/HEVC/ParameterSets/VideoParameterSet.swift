// SPDX-License-Identifier: MIT

/// One `hrd_parameters()` of a VPS and the layer set it applies to.
public struct VPSHRDParameters: Hashable, Sendable {
    /// 0…1023.
    public var hrdLayerSetIdx = 0
    /// False when the common fields are those of the entry before.
    public var cprmsPresentFlag = true
    public var hrdParameters = HRDParameters()

    public init() {}
}

/// `video_parameter_set_rbsp()` (7.3.2.1).
public struct VideoParameterSet: Hashable, Sendable, CodedSyntax {
    public var header = NALUnitHeader(.vps)
    /// 0…15.
    public var vpsVideoParameterSetId = 0
    /// False when the base layer comes from outside the stream (F.7.4.3.1).
    public var vpsBaseLayerInternalFlag = true
    public var vpsBaseLayerAvailableFlag = true
    /// 0…62.
    public var vpsMaxLayersMinus1 = 0
    /// 0…6.
    public var vpsMaxSubLayersMinus1 = 0
    /// True when every picture is a point to switch up to higher sub-layers (7.4.3.1).
    public var vpsTemporalIdNestingFlag = true
    /// `profile_tier_level(1, vps_max_sub_layers_minus1)`.
    public var profileTierLevel = ProfileTierLevel()
    /// `vps_max_dec_pic_buffering_minus1`, `vps_max_num_reorder_pics` and `vps_max_latency_increase_plus1`.
    public var orderingInfo = SubLayerOrderingInfo()
    /// 0…62.
    public var vpsMaxLayerId = 0
    /// `layer_id_included_flag[i][j]` of layer sets 1 and up; layer set 0 is the base layer alone and not coded.
    public var layerIdIncludedFlag: [[Bool]] = []
    /// Nil when `vps_timing_info_present_flag` is 0.
    public var timingInfo: TimingInfo?
    public var hrdParameters: [VPSHRDParameters] = []
    /// The bits from `vps_extension_alignment_bit_equal_to_one` to the stop bit; nil when `vps_extension_flag` is 0.
    ///
    /// `multilayerExtension()` interprets it.
    public var vpsExtension: RawBits?

    /// A VPS of one layer and one sub-layer.
    public init() {}

    /// Parses a whole NAL unit, header included; throws when it is not a well-formed VPS.
    public init(nal: ArraySlice<UInt8>) throws(BitstreamError) {
        var reader = try BitReader(nal: nal, expecting: .vps, header: &header)
        try code(&reader)
    }

    /// Parses a whole NAL unit, header included; throws when it is not a well-formed VPS.
    public init(nal: [UInt8]) throws(BitstreamError) {
        try self.init(nal: nal[...])
    }

    /// The whole NAL unit; throws when a value does not fit its syntax element.
    public func nalUnit() throws(BitstreamError) -> [UInt8] {
        try header.nalUnit(rbsp: try coded())
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try codeUpToExtension(&c)
        if var raw = vpsExtension {
            try c.extensionData(&raw)
            vpsExtension = raw
        }
        try c.rbspTrailingBits()
    }

    /// Codes the table up to and including `vps_extension_flag`.
    mutating func codeUpToExtension(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("vps_video_parameter_set_id", 4, &vpsVideoParameterSetId)
        try c.flag("vps_base_layer_internal_flag", &vpsBaseLayerInternalFlag)
        try c.flag("vps_base_layer_available_flag", &vpsBaseLayerAvailableFlag)
        try c.u("vps_max_layers_minus1", 6, &vpsMaxLayersMinus1)
        try c.u("vps_max_sub_layers_minus1", 3, &vpsMaxSubLayersMinus1, 0...6)
        try c.flag("vps_temporal_id_nesting_flag", &vpsTemporalIdNestingFlag)
        try c.constant("vps_reserved_0xffff_16bits", 16, 0xFFFF)
        try profileTierLevel.code(&c, maxNumSubLayersMinus1: vpsMaxSubLayersMinus1)
        try orderingInfo.code(&c, maxSubLayersMinus1: vpsMaxSubLayersMinus1)
        try c.u("vps_max_layer_id", 6, &vpsMaxLayerId)
        var layerSets = layerIdIncludedFlag.count
        try c.ue("vps_num_layer_sets_minus1", &layerSets, 0...1023)
        try c.size("layer_id_included_flag", &layerIdIncludedFlag, layerSets, [])
        for set in layerIdIncludedFlag.indices {
            try c.size("layer_id_included_flag", &layerIdIncludedFlag[set], vpsMaxLayerId + 1, false)
            for layer in layerIdIncludedFlag[set].indices {
                try c.flag("layer_id_included_flag", &layerIdIncludedFlag[set][layer])
            }
        }
        try codeTiming(&c)
        try c.presence("vps_extension_flag", &vpsExtension, RawBits())
    }

    private mutating func codeTiming(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.presence("vps_timing_info_present_flag", &timingInfo, TimingInfo())
        guard var timing = timingInfo else { return }
        try c.u("vps_num_units_in_tick", 32, &timing.numUnitsInTick)
        try c.u("vps_time_scale", 32, &timing.timeScale)
        try c.presence("vps_poc_proportional_to_timing_flag", &timing.numTicksPocDiffOneMinus1, 0)
        if var ticks = timing.numTicksPocDiffOneMinus1 {
            try c.ue("vps_num_ticks_poc_diff_one_minus1", &ticks)
            timing.numTicksPocDiffOneMinus1 = ticks
        }
        timingInfo = timing
        var count = hrdParameters.count
        try c.ue("vps_num_hrd_parameters", &count, 0...(layerIdIncludedFlag.count + 1))
        try c.size("vps_hrd_parameters", &hrdParameters, count, VPSHRDParameters())
        for index in hrdParameters.indices {
            var entry = hrdParameters[index]
            try c.ue("hrd_layer_set_idx", &entry.hrdLayerSetIdx, 0...layerIdIncludedFlag.count)
            if index > 0 {
                try c.flag("cprms_present_flag", &entry.cprmsPresentFlag)
                if c.isReading, !entry.cprmsPresentFlag {
                    entry.hrdParameters = hrdParameters[index - 1].hrdParameters
                }
            }
            try entry.hrdParameters.code(
                &c, commonInfPresent: entry.cprmsPresentFlag, maxNumSubLayersMinus1: vpsMaxSubLayersMinus1)
            hrdParameters[index] = entry
        }
    }
}

extension BitReader {
    /// Starts to read the RBSP of a NAL unit, which must have the given type, and stores its header.
    init(
        nal: ArraySlice<UInt8>, expecting type: NALUnitType, header: inout NALUnitHeader
    ) throws(BitstreamError) {
        header = try NALUnitHeader(nal: nal)
        guard header.nalUnitType == type else {
            throw BitstreamError(.malformed, "a NAL unit of type \(header.nalUnitType) is not a \(type)")
        }
        self.init(EmulationPrevention.remove(from: nal.dropFirst(2)))
    }
}
