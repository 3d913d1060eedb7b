// SPDX-License-Identifier: MIT

extension SliceSegmentHeader {
    mutating func code(_ c: inout some SyntaxCoder, _ sets: ParameterSets) throws(BitstreamError) {
        let type = header.nalUnitType
        try c.flag("first_slice_segment_in_pic_flag", &firstSliceSegmentInPicFlag)
        if type.isIRAP { try c.flag("no_output_of_prior_pics_flag", &noOutputOfPriorPicsFlag) }
        try c.ue("slice_pic_parameter_set_id", &slicePicParameterSetId, 0...63)
        let (sps, pps) = try sets.active(ppsId: slicePicParameterSetId)
        guard sps.extensions?.spsSccExtensionFlag != true, pps.extensions?.ppsSccExtensionFlag != true else {
            throw BitstreamError(.unsupported, "slice headers of screen content coding are not interpreted")
        }
        guard !sps.isMultiLayerExtension else {
            throw BitstreamError(.unsupported, "the slice's SPS takes its format from the VPS")
        }
        if !firstSliceSegmentInPicFlag {
            if pps.dependentSliceSegmentsEnabledFlag {
                try c.flag("dependent_slice_segment_flag", &dependentSliceSegmentFlag)
            }
            try c.u("slice_segment_address", ceilLog2(sps.picSizeInCtbsY), &sliceSegmentAddress)
            try check("slice_segment_address", sliceSegmentAddress, 1...max(1, sps.picSizeInCtbsY - 1))
        }
        if !dependentSliceSegmentFlag {
            let idrHasPoc = sets.layersWithIdrPocLsb.contains(header.nuhLayerId)
            try codePicture(&c, sps, pps, idrHasPocLsb: idrHasPoc)
            if sliceType != .i { try codeInter(&c, sps, pps) }
            try codeFilters(&c, pps)
        }
        if pps.tiles != nil || pps.entropyCodingSyncEnabledFlag { try codeEntryPoints(&c, sps, pps) }
        if pps.sliceSegmentHeaderExtensionPresentFlag {
            var length = sliceSegmentHeaderExtension.count
            try c.ue("slice_segment_header_extension_length", &length, 0...256)
            try c.size("slice_segment_header_extension_data_byte", &sliceSegmentHeaderExtension, length, 0)
            for index in sliceSegmentHeaderExtension.indices {
                var byte = Int(sliceSegmentHeaderExtension[index])
                try c.u("slice_segment_header_extension_data_byte", 8, &byte)
                sliceSegmentHeaderExtension[index] = UInt8(truncatingIfNeeded: byte)
            }
        }
        try c.byteAlignment()
    }

    /// From slice_reserved_flag to slice_sao_chroma_flag.
    private mutating func codePicture(
        _ c: inout some SyntaxCoder, _ sps: SequenceParameterSet, _ pps: PictureParameterSet, idrHasPocLsb: Bool
    ) throws(BitstreamError) {
        try c.size("slice_reserved_flag", &sliceReservedFlag, pps.numExtraSliceHeaderBits, false)
        for index in sliceReservedFlag.indices { try c.flag("slice_reserved_flag", &sliceReservedFlag[index]) }
        var typeValue = sliceType.rawValue
        try c.ue("slice_type", &typeValue, 0...2)
        sliceType = SliceType(rawValue: typeValue) ?? .i
        guard sliceType == .i || !header.nalUnitType.isIRAP else {
            throw BitstreamError(.malformed, "a slice of an IRAP picture refers to other pictures")
        }
        if pps.outputFlagPresentFlag { try c.flag("pic_output_flag", &picOutputFlag) }
        if sps.separateColourPlaneFlag { try c.u("colour_plane_id", 2, &colourPlaneId, 0...2) }
        let isIDR = header.nalUnitType.isIDR
        if !isIDR || (header.nuhLayerId > 0 && idrHasPocLsb) {
            try c.u("slice_pic_order_cnt_lsb", 4 + sps.log2MaxPicOrderCntLsbMinus4, &slicePicOrderCntLsb)
        }
        if isIDR {
            references = nil
        } else {
            var named = references ?? SliceReferences()
            try named.code(&c, sps)
            references = named
            if sps.spsTemporalMvpEnabledFlag {
                try c.flag("slice_temporal_mvp_enabled_flag", &sliceTemporalMvpEnabledFlag)
            }
        }
        if sps.sampleAdaptiveOffsetEnabledFlag {
            try c.flag("slice_sao_luma_flag", &sliceSaoLumaFlag)
            if sps.chromaArrayType != 0 { try c.flag("slice_sao_chroma_flag", &sliceSaoChromaFlag) }
        }
    }

    /// From num_ref_idx_active_override_flag to five_minus_max_num_merge_cand: P and B slices only.
    private mutating func codeInter(
        _ c: inout some SyntaxCoder, _ sps: SequenceParameterSet, _ pps: PictureParameterSet
    ) throws(BitstreamError) {
        let isB = sliceType == .b
        try c.flag("num_ref_idx_active_override_flag", &numRefIdxActiveOverrideFlag)
        if numRefIdxActiveOverrideFlag {
            try c.ue("num_ref_idx_l0_active_minus1", &numRefIdxL0ActiveMinus1, 0...14)
            if isB { try c.ue("num_ref_idx_l1_active_minus1", &numRefIdxL1ActiveMinus1, 0...14) }
        } else {
            numRefIdxL0ActiveMinus1 = pps.numRefIdxL0DefaultActiveMinus1
            if isB { numRefIdxL1ActiveMinus1 = pps.numRefIdxL1DefaultActiveMinus1 }
        }
        let numPicTotalCurr = references?.numPicTotalCurr ?? 0
        if pps.listsModificationPresentFlag, numPicTotalCurr > 1 {
            try c.listEntries(
                "ref_pic_list_modification_flag_l0", &listEntryL0, numRefIdxL0ActiveMinus1 + 1, numPicTotalCurr)
            if isB {
                try c.listEntries(
                    "ref_pic_list_modification_flag_l1", &listEntryL1, numRefIdxL1ActiveMinus1 + 1, numPicTotalCurr)
            }
        }
        if isB { try c.flag("mvd_l1_zero_flag", &mvdL1ZeroFlag) }
        if pps.cabacInitPresentFlag { try c.flag("cabac_init_flag", &cabacInitFlag) }
        if sliceTemporalMvpEnabledFlag {
            if isB { try c.flag("collocated_from_l0_flag", &collocatedFromL0Flag) }
            let last = collocatedFromL0Flag ? numRefIdxL0ActiveMinus1 : numRefIdxL1ActiveMinus1
            if last > 0 { try c.ue("collocated_ref_idx", &collocatedRefIdx, 0...last) }
        }
        if isB ? pps.weightedBipredFlag : pps.weightedPredFlag {
            var table = predWeightTable ?? PredWeightTable()
            let counts = (l0: numRefIdxL0ActiveMinus1 + 1, l1: isB ? numRefIdxL1ActiveMinus1 + 1 : 0)
            try table.code(&c, counts: counts, sps: sps)
            predWeightTable = table
        }
        try c.ue("five_minus_max_num_merge_cand", &fiveMinusMaxNumMergeCand, 0...4)
    }

    /// From slice_qp_delta to slice_loop_filter_across_slices_enabled_flag.
    private mutating func codeFilters(
        _ c: inout some SyntaxCoder, _ pps: PictureParameterSet
    ) throws(BitstreamError) {
        try c.se("slice_qp_delta", &sliceQpDelta, -99...125)
        if pps.ppsSliceChromaQpOffsetsPresentFlag {
            try c.se("slice_cb_qp_offset", &sliceCbQpOffset, -12...12)
            try c.se("slice_cr_qp_offset", &sliceCrQpOffset, -12...12)
        }
        if pps.extensions?.rangeExtension?.chromaQpOffsetList != nil {
            try c.flag("cu_chroma_qp_offset_enabled_flag", &cuChromaQpOffsetEnabledFlag)
        }
        let control = pps.deblockingControl ?? DeblockingControl()
        if control.deblockingFilterOverrideEnabledFlag {
            try c.flag("deblocking_filter_override_flag", &deblockingFilterOverrideFlag)
        }
        if c.isReading || !deblockingFilterOverrideFlag {
            sliceDeblockingFilterDisabledFlag = control.offsets == nil
            sliceDeblockingOffsets = control.offsets ?? DeblockingOffsets()
        }
        if deblockingFilterOverrideFlag {
            try c.flag("slice_deblocking_filter_disabled_flag", &sliceDeblockingFilterDisabledFlag)
            if !sliceDeblockingFilterDisabledFlag { try sliceDeblockingOffsets.code(&c) }
        }
        if pps.ppsLoopFilterAcrossSlicesEnabledFlag,
            sliceSaoLumaFlag || sliceSaoChromaFlag || !sliceDeblockingFilterDisabledFlag
        {
            try c.flag(
                "slice_loop_filter_across_slices_enabled_flag", &sliceLoopFilterAcrossSlicesEnabledFlag)
        } else {
            sliceLoopFilterAcrossSlicesEnabledFlag = pps.ppsLoopFilterAcrossSlicesEnabledFlag
        }
    }

    private mutating func codeEntryPoints(
        _ c: inout some SyntaxCoder, _ sps: SequenceParameterSet, _ pps: PictureParameterSet
    ) throws(BitstreamError) {
        // 7.4.7.1: a substream for each row of blocks (wavefronts), for each tile, or for each row of each tile
        // column.
        let columns = 1 + (pps.tiles?.numTileColumnsMinus1 ?? 0)
        let rows = pps.entropyCodingSyncEnabledFlag ? sps.picHeightInCtbsY : 1 + (pps.tiles?.numTileRowsMinus1 ?? 0)
        var count = entryPointOffsetMinus1.count
        try c.ue("num_entry_point_offsets", &count, 0...(columns * rows - 1))
        if count > 0 { try c.ue("offset_len_minus1", &offsetLenMinus1, 0...31) }
        try c.require(bits: count * (offsetLenMinus1 + 1))
        try c.size("entry_point_offset_minus1", &entryPointOffsetMinus1, count, 0)
        for index in 0..<count {
            try c.u("entry_point_offset_minus1", offsetLenMinus1 + 1, &entryPointOffsetMinus1[index])
        }
    }
}

extension SliceReferences {
    mutating func code(_ c: inout some SyntaxCoder, _ sps: SequenceParameterSet) throws(BitstreamError) {
        let sets = sps.shortTermRefPicSets
        try c.presence("short_term_ref_pic_set_sps_flag", &shortTermRefPicSetIdx, 0)
        if var index = shortTermRefPicSetIdx {
            if sets.count > 1 { try c.u("short_term_ref_pic_set_idx", ceilLog2(sets.count), &index) }
            guard sets.indices.contains(index) else {
                throw BitstreamError(
                    .outOfRange, "short_term_ref_pic_set_idx \(index) exceeds the SPS's \(sets.count) sets")
            }
            shortTermRefPicSetIdx = index
            shortTermRefPicSet = sets[index]
        } else {
            try shortTermRefPicSet.code(&c, index: sets.count, sets: sets, inSlice: true)
        }
        if let candidates = sps.longTermRefPics {
            try codeLongTerm(&c, candidates, lsbBits: 4 + sps.log2MaxPicOrderCntLsbMinus4)
        } else if !longTermRefPics.isEmpty {
            throw BitstreamError(.malformed, "the SPS allows no long-term reference pictures")
        }
    }

    private mutating func codeLongTerm(
        _ c: inout some SyntaxCoder, _ candidates: [LongTermRefPicSPS], lsbBits: Int
    ) throws(BitstreamError) {
        var fromSps = longTermRefPics.prefix { $0.ltIdxSps != nil }.count
        var total = longTermRefPics.count - fromSps
        let room = 16 - shortTermRefPicSet.numDeltaPocs
        try check("NumDeltaPocs", shortTermRefPicSet.numDeltaPocs, 0...16)
        if !candidates.isEmpty { try c.ue("num_long_term_sps", &fromSps, 0...room) }
        try c.ue("num_long_term_pics", &total, 0...(room - min(room, fromSps)))
        total += fromSps
        try c.size("long-term reference pictures", &longTermRefPics, total, LongTermRefPic())
        for index in longTermRefPics.indices {
            var pic = longTermRefPics[index]
            if index < fromSps {
                var place = pic.ltIdxSps ?? 0
                if candidates.count > 1 { try c.u("lt_idx_sps", ceilLog2(candidates.count), &place) }
                guard candidates.indices.contains(place) else {
                    throw BitstreamError(
                        .outOfRange, "lt_idx_sps \(place) exceeds the SPS's \(candidates.count) candidates")
                }
                pic.ltIdxSps = place
                pic.pocLsbLt = candidates[place].ltRefPicPocLsbSps
                pic.usedByCurrPicLt = candidates[place].usedByCurrPicLtSpsFlag
            } else {
                try c.u("poc_lsb_lt", lsbBits, &pic.pocLsbLt)
                try c.flag("used_by_curr_pic_lt_flag", &pic.usedByCurrPicLt)
            }
            try c.presence("delta_poc_msb_present_flag", &pic.deltaPocMsbCycleLt, 0)
            if var cycle = pic.deltaPocMsbCycleLt {
                try c.ue("delta_poc_msb_cycle_lt", &cycle)
                pic.deltaPocMsbCycleLt = cycle
            }
            longTermRefPics[index] = pic
        }
    }
}

extension SyntaxCoder {
    /// One list of ref_pic_lists_modification() (7.3.6.2).
    fileprivate mutating func listEntries(
        _ name: StaticString, _ entries: inout [Int]?, _ count: Int, _ numPicTotalCurr: Int
    ) throws(BitstreamError) {
        try presence(name, &entries, [])
        guard var list = entries else { return }
        try size("list_entry", &list, count, 0)
        for index in list.indices {
            try u("list_entry", ceilLog2(numPicTotalCurr), &list[index], 0...(numPicTotalCurr - 1))
        }
        entries = list
    }
}
