// SPDX-License-Identifier: MIT

/// `rep_format()` (F.7.3.2.1.2): the size and sample format of a layer's pictures.
public struct RepFormat: Hashable, Sendable {
    /// The part with `chroma_and_bit_depth_vps_present_flag` 1.
    public struct ChromaAndBitDepth: Hashable, Sendable {
        /// 0 4:0:0, 1 4:2:0, 2 4:2:2, 3 4:4:4.
        public var chromaFormatIdc = 1
        /// For 4:4:4: the planes are coded as three monochrome pictures.
        public var separateColourPlaneFlag = false
        /// 0…8.
        public var bitDepthLumaMinus8 = 0
        /// 0…8.
        public var bitDepthChromaMinus8 = 0

        /// 8-bit 4:2:0.
        public init() {}
    }

    /// Coded width.
    public var picWidthInLumaSamples = 0
    /// Coded height.
    public var picHeightInLumaSamples = 0
    /// Nil when they equal those of the previous `rep_format()`.
    public var chromaAndBitDepth: ChromaAndBitDepth? = ChromaAndBitDepth()
    /// The conformance window in chroma units; nil when `conformance_window_vps_flag` is 0.
    public var conformanceWindow: WindowOffsets?

    /// An 8-bit 4:2:0 format of size 0.
    public init() {}

    /// The format of an SPS that is not in the short form.
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

/// The decoded picture buffer that an output layer set needs up to a sub-layer (`dpb_size()`, F.7.3.2.1.3).
public struct LayerSetOrdering: Hashable, Sendable {
    /// `max_vps_dec_pic_buffering_minus1` of each necessary layer, 0…15.
    public var maxDecPicBufferingMinus1: [Int]
    /// 0…15.
    public var maxNumReorderPics: Int
    /// 0 sets no limit.
    public var maxLatencyIncreasePlus1: Int

    public init(maxDecPicBufferingMinus1: [Int] = [], maxNumReorderPics: Int = 0, maxLatencyIncreasePlus1: Int = 0)
    {
        self.maxDecPicBufferingMinus1 = maxDecPicBufferingMinus1
        self.maxNumReorderPics = maxNumReorderPics
        self.maxLatencyIncreasePlus1 = maxLatencyIncreasePlus1
    }
}

/// An output layer set: a layer set and which of its layers are output.
public struct OutputLayerSet: Hashable, Sendable {
    /// One for each layer of the set when `default_output_layer_idc` is 2, otherwise empty.
    public var outputLayerFlag: [Bool] = []
    /// One for each necessary layer; empty with a single profile.
    public var profileTierLevelIdx: [Int] = []
    public var altOutputLayerFlag = false
    public var subLayerFlagInfoPresentFlag = false
    /// `dpb_size()` by sub-layer; nil when equal to that of the sub-layer below.
    public var ordering: [LayerSetOrdering?] = []

    public init() {}
}

/// The part of `vps_extension()` after the list of layers, for streams of a base and one more layer.
public struct VPSLayerRelations: Hashable, Sendable {
    /// Width of a view id in bits, 0…15.
    public var viewIdLen = 0
    /// One for each view when `viewIdLen` is not 0.
    public var viewIdVal: [Int] = []
    /// `direct_dependency_flag[1][0]`: the second layer is predicted from the base.
    public var directDependencyFlag = false
    /// `sub_layers_vps_max_minus1` of both layers; nil when `vps_sub_layers_max_minus1_present_flag` is 0.
    public var subLayersMaxMinus1: [Int]?
    public var maxTidRefPresentFlag = false
    /// `max_tid_il_ref_pics_plus1[0][1]`, coded for a dependent layer.
    public var maxTidIlRefPicsPlus1 = 7
    public var defaultRefLayersActiveFlag = false
    /// 0…63; with a base layer and one more, usually 1.
    public var numProfileTierLevelMinus1 = 1
    /// `profile_tier_level()` from index 2 on; 0 is that of the VPS, 1 is `VPSExtension.baseProfileTierLevel`.
    public var profileTierLevels: [ProfileTierLevel] = []
    /// 0: all layers are output; 1: the highest; 2: as `OutputLayerSet.outputLayerFlag`.
    public var defaultOutputLayerIdc = 0
    /// The output layer sets from 1 on; set 0 is the base layer alone.
    public var outputLayerSets: [OutputLayerSet] = []
    /// 1…256 of them.
    public var repFormats: [RepFormat] = []
    /// `vps_rep_format_idx[1]`; nil when `rep_format_idx_present_flag` is 0.
    public var repFormatIdx: Int?
    public var maxOneActiveRefLayerFlag = false
    public var pocLsbAlignedFlag = false
    /// `poc_lsb_not_present_flag[1]`: IDR slices of the second layer have no `slice_pic_order_cnt_lsb`.
    ///
    /// Not coded, and false, for a layer that depends on the base layer.
    public var pocLsbNotPresentFlag = false
    /// Width of `directDependencyType` − 2 in bits, 0…30.
    public var directDepTypeLenMinus2 = 0
    public var directDependencyAllLayersFlag = false
    /// `direct_dependency_all_layers_type` or `direct_dependency_type[1][0]`, where one is coded.
    public var directDependencyType = 0
    /// `vps_non_vui_extension_data_byte`, at most 4096 of them.
    public var nonVuiExtensionData: [UInt8] = []
    public var vpsVuiPresentFlag = false
    /// `vps_extension2_flag`; false with a `vps_vui()`, which is not interpreted.
    public var vpsExtension2Flag = false
    /// `vps_vui()` or the data of `vps_extension2_flag`.
    public var uninterpreted = RawBits()

    public init() {}
}
