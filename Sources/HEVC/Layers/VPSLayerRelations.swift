// SPDX-License-Identifier: GPL-2.0-or-later

/// `rep_format()` (F.7.3.2.1.2): the size and sample format of a layer's pictures.
public struct RepFormat: Hashable, Sendable {
    /// The part behind `chroma_and_bit_depth_vps_present_flag`.
    public struct ChromaAndBitDepth: Hashable, Sendable {
        /// `chroma_format_vps_idc`, 0…3.
        public var chromaFormatIdc = 1
        /// `separate_colour_plane_vps_flag`, for 4:4:4.
        public var separateColourPlaneFlag = false
        /// `bit_depth_vps_luma_minus8`, 0…8.
        public var bitDepthLumaMinus8 = 0
        /// `bit_depth_vps_chroma_minus8`, 0…8.
        public var bitDepthChromaMinus8 = 0

        /// 8-bit 4:2:0.
        public init() {}
    }

    /// `pic_width_vps_in_luma_samples`: the coded width.
    public var picWidthInLumaSamples = 0
    /// `pic_height_vps_in_luma_samples`: the coded height.
    public var picHeightInLumaSamples = 0
    /// Chroma format and depths; nil when they are those of the format before.
    public var chromaAndBitDepth: ChromaAndBitDepth? = ChromaAndBitDepth()
    /// The conformance window in chroma units; nil when `conformance_window_vps_flag` is 0.
    public var conformanceWindow: WindowOffsets?

    /// An 8-bit 4:2:0 format of size 0.
    public init() {}

    /// The format that an SPS states in full.
    public init(_ sps: SequenceParameterSet) {
        picWidthInLumaSamples = sps.picWidthInLumaSamples
        picHeightInLumaSamples = sps.picHeightInLumaSamples
        conformanceWindow = sps.conformanceWindow
        var format = ChromaAndBitDepth()
        format.chromaFormatIdc = sps.chromaFormatIdc
        format.separateColourPlaneFlag = sps.separateColourPlaneFlag
        format.bitDepthLumaMinus8 = sps.bitDepthLumaMinus8
        format.bitDepthChromaMinus8 = sps.bitDepthChromaMinus8
        chromaAndBitDepth = format
    }
}

/// The decoded picture buffer needs of an output layer set up to one sub-layer (`dpb_size()`, F.7.3.2.1.3).
public struct LayerSetOrdering: Hashable, Sendable {
    /// `max_vps_dec_pic_buffering_minus1` of each necessary layer.
    public var maxDecPicBufferingMinus1: [Int]
    /// `max_vps_num_reorder_pics`.
    public var maxNumReorderPics: Int
    /// `max_vps_latency_increase_plus1`; 0 sets no limit.
    public var maxLatencyIncreasePlus1: Int

    /// The given needs.
    public init(maxDecPicBufferingMinus1: [Int] = [], maxNumReorderPics: Int = 0, maxLatencyIncreasePlus1: Int = 0)
    {
        self.maxDecPicBufferingMinus1 = maxDecPicBufferingMinus1
        self.maxNumReorderPics = maxNumReorderPics
        self.maxLatencyIncreasePlus1 = maxLatencyIncreasePlus1
    }
}

/// A layer set and which of its layers are shown.
public struct OutputLayerSet: Hashable, Sendable {
    /// `output_layer_flag` of each layer of the set, coded when `default_output_layer_idc` is 2; else empty.
    public var outputLayerFlag: [Bool] = []
    /// `profile_tier_level_idx` of each necessary layer; empty when there is one profile only.
    public var profileTierLevelIdx: [Int] = []
    /// `alt_output_layer_flag`.
    public var altOutputLayerFlag = false
    /// `sub_layer_flag_info_present_flag`.
    public var subLayerFlagInfoPresentFlag = false
    /// `dpb_size()` by sub-layer; nil where the sub-layer below has the same needs.
    public var ordering: [LayerSetOrdering?] = []

    /// No layers.
    public init() {}
}

/// All of `vps_extension()` that follows the list of layers, for streams of a base and one more layer.
public struct VPSLayerRelations: Hashable, Sendable {
    /// `view_id_len`, 0…15.
    public var viewIdLen = 0
    /// `view_id_val`, one for each view when `viewIdLen` is not 0.
    public var viewIdVal: [Int] = []
    /// `direct_dependency_flag[1][0]`: the second layer is predicted from the base.
    public var directDependencyFlag = false
    /// `sub_layers_vps_max_minus1` of both layers; nil when `vps_sub_layers_max_minus1_present_flag` is 0.
    public var subLayersMaxMinus1: [Int]?
    /// `max_tid_ref_present_flag`.
    public var maxTidRefPresentFlag = false
    /// `max_tid_il_ref_pics_plus1[0][1]`, coded for a dependent layer.
    public var maxTidIlRefPicsPlus1 = 7
    /// `default_ref_layers_active_flag`.
    public var defaultRefLayersActiveFlag = false
    /// `vps_num_profile_tier_level_minus1`, 1…63.
    public var numProfileTierLevelMinus1 = 1
    /// `profile_tier_level()` from index 2 on; 0 is the VPS's own, 1 the base layer's of the extension.
    public var profileTierLevels: [ProfileTierLevel] = []
    /// `default_output_layer_idc`: 0 every layer is shown, 1 the highest, 2 flags say which.
    public var defaultOutputLayerIdc = 0
    /// The output layer sets from 1 on; the set 0 is the base alone.
    public var outputLayerSets: [OutputLayerSet] = []
    /// `rep_format()`, 1…256.
    public var repFormats: [RepFormat] = []
    /// `vps_rep_format_idx[1]`; nil when `rep_format_idx_present_flag` is 0.
    public var repFormatIdx: Int?
    /// `max_one_active_ref_layer_flag`.
    public var maxOneActiveRefLayerFlag = false
    /// `vps_poc_lsb_aligned_flag`.
    public var pocLsbAlignedFlag = false
    /// `poc_lsb_not_present_flag[1]`: IDR slices of the second layer have no `slice_pic_order_cnt_lsb`.
    ///
    /// Not coded, and false, for a layer that depends on the base.
    public var pocLsbNotPresentFlag = false
    /// `direct_dep_type_len_minus2`, 0…30.
    public var directDepTypeLenMinus2 = 0
    /// `direct_dependency_all_layers_flag`.
    public var directDependencyAllLayersFlag = false
    /// `direct_dependency_all_layers_type` or `direct_dependency_type[1][0]`, where one is coded.
    public var directDependencyType = 0
    /// `vps_non_vui_extension_data_byte`, at most 4096.
    public var nonVuiExtensionData: [UInt8] = []
    /// `vps_vui_present_flag`.
    public var vpsVuiPresentFlag = false
    /// `vps_extension2_flag` where no VUI stands before it.
    public var vpsExtension2Flag = false
    /// `vps_vui()` or the data of `vps_extension2_flag`, uninterpreted.
    public var uninterpreted = RawBits()

    /// Two independent layers, nothing else said.
    public init() {}
}
