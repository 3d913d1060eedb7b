// SPDX-License-Identifier: MIT

extension VPSLayerRelations {
    /// Codes the table from `view_id_len` on, which follows the layers of `list`.
    mutating func code(
        _ c: inout some SyntaxCoder, _ list: VPSExtension, of vps: VideoParameterSet
    ) throws(BitstreamError) {
        guard list.layers.count == 2, vps.vpsBaseLayerInternalFlag else {
            throw BitstreamError(.unsupported, "the layers are not an internal base layer and one more")
        }
        try codeDependency(&c, list)
        try codeProfiles(&c, vps)
        try codeOutputLayerSets(&c, list, vps)
        try codeFormats(&c)
        try c.flag("max_one_active_ref_layer_flag", &maxOneActiveRefLayerFlag)
        try c.flag("vps_poc_lsb_aligned_flag", &pocLsbAlignedFlag)
        if !directDependencyFlag { try c.flag("poc_lsb_not_present_flag", &pocLsbNotPresentFlag) }
        try codeBuffers(&c, list, vps)
        try c.ue("direct_dep_type_len_minus2", &directDepTypeLenMinus2, 0...30)
        try c.flag("direct_dependency_all_layers_flag", &directDependencyAllLayersFlag)
        if directDependencyAllLayersFlag || directDependencyFlag {
            try c.u("direct_dependency_type", directDepTypeLenMinus2 + 2, &directDependencyType)
        }
        try codeTail(&c)
    }

    private mutating func codeDependency(
        _ c: inout some SyntaxCoder, _ list: VPSExtension
    ) throws(BitstreamError) {
        try c.u("view_id_len", 4, &viewIdLen)
        if viewIdLen > 0 {
            let views = Set(list.layers.indices.map { list.scalabilityId(.view, ofLayer: $0) })
            try c.size("view_id_val", &viewIdVal, views.count, 0)
            for index in viewIdVal.indices { try c.u("view_id_val", viewIdLen, &viewIdVal[index]) }
        }
        try c.flag("direct_dependency_flag", &directDependencyFlag)
        if !directDependencyFlag {
            // NumIndependentLayers is 2.
            var sets = 0
            try c.ue("num_add_layer_sets", &sets)
            try Self.refuse("num_add_layer_sets", sets)
        }
        try c.presence("vps_sub_layers_max_minus1_present_flag", &subLayersMaxMinus1, [])
        if var limits = subLayersMaxMinus1 {
            try c.size("sub_layers_vps_max_minus1", &limits, 2, 0)
            for index in limits.indices { try c.u("sub_layers_vps_max_minus1", 3, &limits[index], 0...6) }
            subLayersMaxMinus1 = limits
        }
        try c.flag("max_tid_ref_present_flag", &maxTidRefPresentFlag)
        if maxTidRefPresentFlag, directDependencyFlag {
            try c.u("max_tid_il_ref_pics_plus1", 3, &maxTidIlRefPicsPlus1)
        }
        try c.flag("default_ref_layers_active_flag", &defaultRefLayersActiveFlag)
    }

    private mutating func codeProfiles(
        _ c: inout some SyntaxCoder, _ vps: VideoParameterSet
    ) throws(BitstreamError) {
        try c.ue("vps_num_profile_tier_level_minus1", &numProfileTierLevelMinus1, 0...63)
        try c.size(
            "profile_tier_level", &profileTierLevels, max(0, numProfileTierLevelMinus1 - 1), ProfileTierLevel())
        for index in profileTierLevels.indices {
            try c.presence("vps_profile_present_flag", &profileTierLevels[index].general, ProfileTier())
            try profileTierLevels[index].code(&c, maxNumSubLayersMinus1: vps.vpsMaxSubLayersMinus1)
        }
    }

    private mutating func codeOutputLayerSets(
        _ c: inout some SyntaxCoder, _ list: VPSExtension, _ vps: VideoParameterSet
    ) throws(BitstreamError) {
        let count = vps.layerIdIncludedFlag.count
        if count > 0 {
            var more = 0
            try c.ue("num_add_olss", &more)
            try Self.refuse("num_add_olss", more)
            try c.u("default_output_layer_idc", 2, &defaultOutputLayerIdc, 0...2)
        }
        try c.size("output layer sets", &outputLayerSets, count, OutputLayerSet())
        for index in outputLayerSets.indices {
            var set = outputLayerSets[index]
            let ids = Self.layerIds(index, vps)
            if defaultOutputLayerIdc == 2 {
                try c.size("output_layer_flag", &set.outputLayerFlag, ids.count, false)
                for layer in ids.indices { try c.flag("output_layer_flag", &set.outputLayerFlag[layer]) }
            }
            let (output, needed) = layers(of: set, ids, list)
            if numProfileTierLevelMinus1 > 0 {
                try c.size("profile_tier_level_idx", &set.profileTierLevelIdx, needed, 0)
                let bits = ceilLog2(numProfileTierLevelMinus1 + 1)
                for layer in 0..<needed {
                    try c.u("profile_tier_level_idx", bits, &set.profileTierLevelIdx[layer])
                }
            }
            if output.count == 1, directDependencyFlag, output[0] == list.layers[1].nuhLayerId {
                try c.flag("alt_output_layer_flag", &set.altOutputLayerFlag)
            }
            outputLayerSets[index] = set
        }
    }

    /// The `nuh_layer_id`s of a layer set.
    private static func layerIds(_ set: Int, _ vps: VideoParameterSet) -> [Int] {
        vps.layerIdIncludedFlag[set].indices.filter { vps.layerIdIncludedFlag[set][$0] }
    }

    /// The output layers of a set, and the number of layers needed to decode them (NecessaryLayerFlag).
    private func layers(
        of set: OutputLayerSet, _ ids: [Int], _ list: VPSExtension
    ) -> (output: [Int], needed: Int) {
        let output: [Int] =
            switch defaultOutputLayerIdc {
            case 0: ids
            case 1: Array(ids.suffix(1))
            default: ids.indices.filter { set.outputLayerFlag[$0] }.map { ids[$0] }
            }
        var needed = Set(output)
        if directDependencyFlag, output.contains(list.layers[1].nuhLayerId), ids.contains(0) { needed.insert(0) }
        return (output, needed.count)
    }

    private mutating func codeFormats(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        var lastIndex = repFormats.count - 1
        try c.ue("vps_num_rep_formats_minus1", &lastIndex, 0...255)
        try c.size("rep_format", &repFormats, lastIndex + 1, RepFormat())
        for index in repFormats.indices { try repFormats[index].code(&c) }
        guard lastIndex > 0 else { return }
        try c.presence("rep_format_idx_present_flag", &repFormatIdx, 0)
        if var index = repFormatIdx {
            try c.u("vps_rep_format_idx", ceilLog2(lastIndex + 1), &index, 0...lastIndex)
            repFormatIdx = index
        }
    }

    /// `dpb_size()` (F.7.3.2.1.3).
    private mutating func codeBuffers(
        _ c: inout some SyntaxCoder, _ list: VPSExtension, _ vps: VideoParameterSet
    ) throws(BitstreamError) {
        let limits = subLayersMaxMinus1 ?? [vps.vpsMaxSubLayersMinus1, vps.vpsMaxSubLayersMinus1]
        for index in outputLayerSets.indices {
            var set = outputLayerSets[index]
            let ids = Self.layerIds(index, vps)
            let needed = layers(of: set, ids, list).needed
            // MaxSubLayersInLayerSetMinus1.
            let last = zip(list.layers, limits).filter { ids.contains($0.0.nuhLayerId) }.map { $0.1 }.max() ?? 0
            try c.flag("sub_layer_flag_info_present_flag", &set.subLayerFlagInfoPresentFlag)
            try c.size("dpb_size", &set.ordering, last + 1, nil)
            for subLayer in 0...last {
                if subLayer == 0 {
                    if c.isReading { set.ordering[0] = LayerSetOrdering() }
                } else if set.subLayerFlagInfoPresentFlag {
                    try c.presence(
                        "sub_layer_dpb_info_present_flag", &set.ordering[subLayer], LayerSetOrdering())
                }
                try set.ordering[subLayer]?.code(&c, layers: needed)
            }
            outputLayerSets[index] = set
        }
    }

    private mutating func codeTail(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        var count = nonVuiExtensionData.count
        try c.ue("vps_non_vui_extension_length", &count, 0...4096)
        try c.require(bits: count * 8)
        try c.size("vps_non_vui_extension_data_byte", &nonVuiExtensionData, count, 0)
        for index in nonVuiExtensionData.indices {
            var byte = Int(nonVuiExtensionData[index])
            try c.u("vps_non_vui_extension_data_byte", 8, &byte)
            nonVuiExtensionData[index] = UInt8(truncatingIfNeeded: byte)
        }
        try c.flag("vps_vui_present_flag", &vpsVuiPresentFlag)
        if !vpsVuiPresentFlag { try c.flag("vps_extension2_flag", &vpsExtension2Flag) }
        if vpsVuiPresentFlag || vpsExtension2Flag { try c.extensionData(&uninterpreted) }
    }

    private static func refuse(_ name: StaticString, _ value: Int) throws(BitstreamError) {
        guard value == 0 else {
            throw BitstreamError(
                .unsupported, "\(name) is \(value); additional sets are not interpreted")
        }
    }
}

extension LayerSetOrdering {
    mutating func code(_ c: inout some SyntaxCoder, layers: Int) throws(BitstreamError) {
        try c.size("max_vps_dec_pic_buffering_minus1", &maxDecPicBufferingMinus1, layers, 0)
        for index in 0..<layers {
            try c.ue("max_vps_dec_pic_buffering_minus1", &maxDecPicBufferingMinus1[index], 0...15)
        }
        try c.ue("max_vps_num_reorder_pics", &maxNumReorderPics, 0...15)
        try c.ue("max_vps_latency_increase_plus1", &maxLatencyIncreasePlus1)
    }
}

extension RepFormat {
    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("pic_width_vps_in_luma_samples", 16, &picWidthInLumaSamples)
        try c.u("pic_height_vps_in_luma_samples", 16, &picHeightInLumaSamples)
        try c.presence("chroma_and_bit_depth_vps_present_flag", &chromaAndBitDepth, ChromaAndBitDepth())
        if var format = chromaAndBitDepth {
            try c.u("chroma_format_vps_idc", 2, &format.chromaFormatIdc)
            if format.chromaFormatIdc == 3 {
                try c.flag("separate_colour_plane_vps_flag", &format.separateColourPlaneFlag)
            }
            try c.u("bit_depth_vps_luma_minus8", 4, &format.bitDepthLumaMinus8)
            try c.u("bit_depth_vps_chroma_minus8", 4, &format.bitDepthChromaMinus8)
            chromaAndBitDepth = format
        }
        try c.presence("conformance_window_vps_flag", &conformanceWindow, WindowOffsets())
        if var window = conformanceWindow {
            try c.ue("conf_win_vps_left_offset", &window.left, 0...maxPictureSide)
            try c.ue("conf_win_vps_right_offset", &window.right, 0...maxPictureSide)
            try c.ue("conf_win_vps_top_offset", &window.top, 0...maxPictureSide)
            try c.ue("conf_win_vps_bottom_offset", &window.bottom, 0...maxPictureSide)
            conformanceWindow = window
        }
    }
}
