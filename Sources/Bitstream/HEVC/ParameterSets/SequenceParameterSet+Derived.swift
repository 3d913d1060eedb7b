// SPDX-License-Identifier: MIT

extension SequenceParameterSet {
    /// MultiLayerExtSpsFlag: the short form, which takes size and format from the VPS (F.7.4.3.2.1).
    public var isMultiLayerExtension: Bool { header.nuhLayerId != 0 && spsMaxSubLayersMinus1 == 7 }

    /// ChromaArrayType: `chromaFormatIdc`, or 0 with separate planes.
    public var chromaArrayType: Int { separateColourPlaneFlag ? 0 : chromaFormatIdc }

    /// SubWidthC: width of a chroma sample in luma samples (table 6-1).
    public var subWidthC: Int { (1...2).contains(chromaFormatIdc) ? 2 : 1 }

    /// SubHeightC: height of a chroma sample in luma samples (table 6-1).
    public var subHeightC: Int { chromaFormatIdc == 1 ? 2 : 1 }

    /// The conformance window in luma samples; zeros when it is absent.
    public var croppedLumaSamples: WindowOffsets {
        let window = conformanceWindow ?? WindowOffsets()
        return WindowOffsets(
            left: window.left &* subWidthC, right: window.right &* subWidthC,
            top: window.top &* subHeightC, bottom: window.bottom &* subHeightC)
    }

    /// Width of output pictures in luma samples.
    public var width: Int { picWidthInLumaSamples - croppedLumaSamples.left - croppedLumaSamples.right }

    /// Height of output pictures in luma samples.
    public var height: Int { picHeightInLumaSamples - croppedLumaSamples.top - croppedLumaSamples.bottom }

    /// BitDepthY, 8…16.
    public var bitDepthLuma: Int { 8 + bitDepthLumaMinus8 }

    /// BitDepthC, 8…16.
    public var bitDepthChroma: Int { 8 + bitDepthChromaMinus8 }

    public var maxPicOrderCntLsb: Int { 1 << (4 + log2MaxPicOrderCntLsbMinus4) }

    /// MinCbLog2SizeY, 3…6.
    public var minCbLog2SizeY: Int { 3 + log2MinLumaCodingBlockSizeMinus3 }

    /// CtbLog2SizeY, 3…6.
    public var ctbLog2SizeY: Int { minCbLog2SizeY + log2DiffMaxMinLumaCodingBlockSize }

    /// CtbSizeY in luma samples.
    public var ctbSizeY: Int { 1 << ctbLog2SizeY }

    public var picWidthInCtbsY: Int { (picWidthInLumaSamples + ctbSizeY - 1) >> ctbLog2SizeY }

    public var picHeightInCtbsY: Int { (picHeightInLumaSamples + ctbSizeY - 1) >> ctbLog2SizeY }

    public var picSizeInCtbsY: Int { picWidthInCtbsY * picHeightInCtbsY }

    /// The VUI's color description; nil when it is absent.
    public var colourDescription: VUIColorDescription? { vuiParameters?.videoSignalType?.colourDescription }

    /// `video_full_range_flag`, false when absent.
    public var isFullRange: Bool { vuiParameters?.videoSignalType?.videoFullRangeFlag ?? false }
}
