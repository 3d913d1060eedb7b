// SPDX-License-Identifier: GPL-2.0-or-later
@testable import HWDHEVC

/// A stream with syntax that no available encoder writes; its slice data are noise.
enum SyntheticStream {
    static func bytes() throws -> [UInt8] {
        let sets = try parameterSets()
        var stream: [UInt8] = []
        for vps in sets.videoParameterSets.values { AnnexB.append(try vps.nalUnit(), to: &stream) }
        for sps in sets.sequenceParameterSets.values { AnnexB.append(try sps.nalUnit(), to: &stream) }
        for pps in sets.pictureParameterSets.values { AnnexB.append(try pps.nalUnit(), to: &stream) }
        let data: [UInt8] = [0x5A, 0, 0, 3, 1, 0xC3, 0x80]
        for header in try sliceHeaders() {
            let segment = SliceSegment(sliceHeader: header, data: data[...])
            AnnexB.append(try segment.nalUnit(parameterSets: sets), to: &stream)
        }
        return stream
    }

    static func parameterSets() throws -> ParameterSets {
        var sets = ParameterSets()
        sets.add(vps())
        sets.add(try sps())
        sets.add(pps())
        return sets
    }

    static func hrd() -> HRDParameters {
        var hrd = HRDParameters()
        hrd.nalHrdParametersPresentFlag = true
        hrd.vclHrdParametersPresentFlag = true
        hrd.subPicHrdParams = SubPicHRDParams()
        hrd.subPicHrdParams?.tickDivisorMinus2 = 77
        hrd.bitRateScale = 3
        hrd.cpbSizeScale = 5
        hrd.cpbSizeDuScale = 2
        hrd.subLayers = (0..<3).map { index in
            var layer = HRDSubLayer()
            layer.fixedPicRateGeneralFlag = index == 0
            layer.fixedPicRateWithinCvsFlag = index < 2
            layer.elementalDurationInTcMinus1 = index < 2 ? 7 : 0
            layer.lowDelayHrdFlag = false
            layer.cpbCntMinus1 = index
            var buffer = HRDBuffer()
            buffer.bitRateValueMinus1 = 0xFFFF_FFFE
            buffer.cpbSizeValueMinus1 = 12345
            buffer.cpbSizeDuValueMinus1 = 17
            buffer.bitRateDuValueMinus1 = 19
            buffer.cbrFlag = true
            layer.nalBuffers = Array(repeating: buffer, count: index + 1)
            layer.vclBuffers = Array(repeating: buffer, count: index + 1)
            return layer
        }
        return hrd
    }

    static func profileTierLevel() -> ProfileTierLevel {
        var general = ProfileTier()
        general.profileIdc = 4
        general.profileCompatibilityFlags = 0x0800_0000
        general.frameOnlyConstraintFlag = true
        var ptl = ProfileTierLevel()
        ptl.general = general
        ptl.generalLevelIdc = 123
        ptl.subLayers = [.init(profile: nil, levelIdc: 90), .init(profile: nil, levelIdc: 93)]
        return ptl
    }

    static func vps() -> VideoParameterSet {
        var vps = VideoParameterSet()
        vps.vpsMaxSubLayersMinus1 = 2
        vps.vpsTemporalIdNestingFlag = false
        vps.profileTierLevel = profileTierLevel()
        vps.orderingInfo.subLayers = [
            SubLayerOrdering(maxDecPicBufferingMinus1: 2, maxNumReorderPics: 1),
            SubLayerOrdering(maxDecPicBufferingMinus1: 4, maxNumReorderPics: 2, maxLatencyIncreasePlus1: 3),
            SubLayerOrdering(maxDecPicBufferingMinus1: 6, maxNumReorderPics: 2, maxLatencyIncreasePlus1: 9),
        ]
        vps.vpsMaxLayerId = 1
        vps.layerIdIncludedFlag = [[true, true], [false, true]]
        var timing = TimingInfo(numUnitsInTick: 1001, timeScale: 60000)
        timing.numTicksPocDiffOneMinus1 = 4
        vps.timingInfo = timing
        var (first, second) = (VPSHRDParameters(), VPSHRDParameters())
        first.hrdParameters = hrd()
        second.hrdLayerSetIdx = 1
        second.hrdParameters = hrd()
        vps.hrdParameters = [first, second]
        return vps
    }

    static func sps() throws -> SequenceParameterSet {
        var sps = SequenceParameterSet()
        sps.spsMaxSubLayersMinus1 = 2
        sps.spsTemporalIdNestingFlag = false
        sps.profileTierLevel = profileTierLevel()
        sps.spsSeqParameterSetId = 3
        (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples) = (416, 240)
        sps.conformanceWindow = WindowOffsets(left: 1, right: 2, top: 3, bottom: 4)
        (sps.bitDepthLumaMinus8, sps.bitDepthChromaMinus8) = (2, 2)
        sps.orderingInfo = SubLayerOrderingInfo(
            presentFlag: false,
            subLayers: [SubLayerOrdering(maxDecPicBufferingMinus1: 6, maxNumReorderPics: 2)])
        sps.log2DiffMaxMinLumaCodingBlockSize = 2
        sps.scalingListEnabledFlag = true
        sps.scalingListData = scalingLists()
        sps.ampEnabledFlag = true
        sps.sampleAdaptiveOffsetEnabledFlag = true
        sps.pcm = PCMParameters()
        sps.shortTermRefPicSets = try referenceSets()
        sps.longTermRefPics = (0..<3).map { index in
            var pic = LongTermRefPicSPS()
            pic.ltRefPicPocLsbSps = index
            pic.usedByCurrPicLtSpsFlag = index == 1
            return pic
        }
        sps.spsTemporalMvpEnabledFlag = true
        sps.vuiParameters = vui()
        sps.extensions = SPSExtensions()
        sps.extensions?.rangeExtension = SPSRangeExtension()
        sps.extensions?.rangeExtension?.highPrecisionOffsetsEnabledFlag = true
        sps.extensions?.rangeExtension?.persistentRiceAdaptationEnabledFlag = true
        return sps
    }

    static func vui() -> VUIParameters {
        var vui = VUIParameters()
        vui.aspectRatioIdc = 255
        vui.sampleAspectRatio = SampleAspectRatio(width: 40, height: 33)
        vui.overscanAppropriateFlag = true
        var signal = VideoSignalType()
        signal.videoFullRangeFlag = true
        signal.colourDescription = VUIColorDescription(
            colourPrimaries: 9, transferCharacteristics: 18, matrixCoeffs: 9)
        vui.videoSignalType = signal
        vui.chromaSampleLocation = ChromaSampleLocation(topField: 2, bottomField: 3)
        vui.defaultDisplayWindow = WindowOffsets(left: 1, right: 2, top: 3, bottom: 4)
        vui.timingInfo = TimingInfo(numUnitsInTick: 1001, timeScale: 60000)
        vui.hrdParameters = hrd()
        vui.bitstreamRestriction = BitstreamRestriction()
        vui.bitstreamRestriction?.minSpatialSegmentationIdc = 8
        return vui
    }

    static func scalingLists() -> ScalingListData {
        var data = ScalingListData()
        data.lists[0][1].predMatrixIdDelta = 1
        data.lists[1][2].predMatrixIdDelta = nil
        data.lists[1][2].deltaCoef = (0..<64).map { $0 % 7 - 3 }
        data.lists[2][5].predMatrixIdDelta = nil
        data.lists[2][5].dcCoefMinus8 = -3
        data.lists[2][5].deltaCoef = (0..<64).map { $0 % 5 - 2 }
        data.lists[3][1].predMatrixIdDelta = 1
        return data
    }

    /// An explicit set and one predicted from it, made by parsing, which is the only way to make a predicted set.
    static func referenceSets() throws -> [ShortTermRefPicSet] {
        let explicit = ShortTermRefPicSet(
            negativePics: [
                ShortTermRefPic(deltaPoc: -1), ShortTermRefPic(deltaPoc: -3, usedByCurrPic: false),
                ShortTermRefPic(deltaPoc: -8),
            ], positivePics: [ShortTermRefPic(deltaPoc: 2)])
        return [explicit, try predicted(from: [explicit], inSlice: false)]
    }

    /// A set predicted from the last of `sets`: moved by −2, one picture dropped.
    static func predicted(from sets: [ShortTermRefPicSet], inSlice: Bool) throws -> ShortTermRefPicSet {
        var writer = BitWriter()
        try writer.writeFlag(true)
        if inSlice { try writer.writeUE(0) }
        try writer.writeFlag(true)
        try writer.writeUE(1)
        for index in 0...(sets.last?.numDeltaPocs ?? 0) {
            try writer.writeFlag(index != 1 && index != 2)
            if index == 1 || index == 2 { try writer.writeFlag(index == 1) }
        }
        var reader = BitReader(writer.bytes)
        var set = ShortTermRefPicSet()
        try set.code(&reader, index: sets.count, sets: sets, inSlice: inSlice)
        return set
    }

    static func pps() -> PictureParameterSet {
        var pps = PictureParameterSet()
        pps.ppsPicParameterSetId = 5
        pps.ppsSeqParameterSetId = 3
        pps.dependentSliceSegmentsEnabledFlag = true
        pps.outputFlagPresentFlag = true
        pps.numExtraSliceHeaderBits = 2
        pps.cabacInitPresentFlag = true
        pps.numRefIdxL0DefaultActiveMinus1 = 2
        pps.numRefIdxL1DefaultActiveMinus1 = 1
        pps.initQpMinus26 = -4
        pps.transformSkipEnabledFlag = true
        pps.diffCuQpDeltaDepth = 1
        (pps.ppsCbQpOffset, pps.ppsCrQpOffset) = (-6, 6)
        pps.ppsSliceChromaQpOffsetsPresentFlag = true
        pps.weightedPredFlag = true
        pps.weightedBipredFlag = true
        var tiles = TileParameters()
        (tiles.numTileColumnsMinus1, tiles.numTileRowsMinus1) = (2, 1)
        tiles.uniformSpacingFlag = false
        tiles.columnWidthMinus1 = [3, 2]
        tiles.rowHeightMinus1 = [2]
        pps.tiles = tiles
        pps.ppsLoopFilterAcrossSlicesEnabledFlag = true
        var deblocking = DeblockingControl()
        deblocking.deblockingFilterOverrideEnabledFlag = true
        deblocking.offsets = DeblockingOffsets(betaOffsetDiv2: -2, tcOffsetDiv2: 3)
        pps.deblockingControl = deblocking
        pps.scalingListData = scalingLists()
        pps.listsModificationPresentFlag = true
        pps.log2ParallelMergeLevelMinus2 = 1
        pps.sliceSegmentHeaderExtensionPresentFlag = true
        pps.extensions = PPSExtensions()
        var range = PPSRangeExtension()
        range.log2MaxTransformSkipBlockSizeMinus2 = 1
        range.chromaQpOffsetList = ChromaQpOffsetList()
        range.chromaQpOffsetList?.cbQpOffsetList = [1, -2]
        range.chromaQpOffsetList?.crQpOffsetList = [-3, 4]
        range.log2SaoOffsetScaleLuma = 0
        pps.extensions?.rangeExtension = range
        return pps
    }

    /// The first, intra slice; the others are derived from it.
    static func idr() -> SliceSegmentHeader {
        var header = SliceSegmentHeader(NALUnitHeader(.idrWRADL))
        header.slicePicParameterSetId = 5
        header.sliceReservedFlag = [false, true]
        header.sliceSaoLumaFlag = true
        header.sliceDeblockingOffsets = DeblockingOffsets(betaOffsetDiv2: -2, tcOffsetDiv2: 3)
        header.sliceSegmentHeaderExtension = [0, 0, 1]
        return header
    }

    static func sliceHeaders() throws -> [SliceSegmentHeader] {
        let predictive = try predictive()
        var dependent = SliceSegmentHeader(NALUnitHeader(.trailR))
        dependent.firstSliceSegmentInPicFlag = false
        dependent.slicePicParameterSetId = 5
        dependent.dependentSliceSegmentFlag = true
        dependent.sliceSegmentAddress = 40
        return [idr(), predictive, try bipredictive(predictive), dependent]
    }

    private static func predictive() throws -> SliceSegmentHeader {
        var predictive = idr()
        predictive.header = NALUnitHeader(.trailR)
        predictive.sliceType = .p
        predictive.slicePicOrderCntLsb = 9
        var references = SliceReferences()
        references.shortTermRefPicSetIdx = 1
        references.shortTermRefPicSet = try referenceSets()[1]
        var (listed, coded) = (LongTermRefPic(), LongTermRefPic())
        listed.ltIdxSps = 1
        (listed.pocLsbLt, listed.usedByCurrPicLt) = (1, true)
        listed.deltaPocMsbCycleLt = 2
        coded.pocLsbLt = 5
        coded.usedByCurrPicLt = true
        references.longTermRefPics = [listed, coded]
        predictive.references = references
        predictive.numRefIdxL0ActiveMinus1 = 2
        predictive.listEntryL0 = [2, 0, 1]
        predictive.sliceTemporalMvpEnabledFlag = true
        predictive.collocatedRefIdx = 2
        predictive.predWeightTable = weights(l0: 3, l1: 0)
        predictive.sliceQpDelta = -5
        predictive.sliceCbQpOffset = 1
        predictive.cuChromaQpOffsetEnabledFlag = true
        predictive.deblockingFilterOverrideFlag = true
        predictive.sliceDeblockingOffsets = DeblockingOffsets(betaOffsetDiv2: 6, tcOffsetDiv2: -6)
        predictive.offsetLenMinus1 = 12
        predictive.entryPointOffsetMinus1 = [0, 8000, 3]
        return predictive
    }

    private static func bipredictive(_ predictive: SliceSegmentHeader) throws -> SliceSegmentHeader {
        var bipredictive = predictive
        bipredictive.sliceType = .b
        bipredictive.slicePicOrderCntLsb = 12
        bipredictive.references?.shortTermRefPicSetIdx = nil
        bipredictive.references?.shortTermRefPicSet = try predicted(from: try referenceSets(), inSlice: true)
        bipredictive.numRefIdxActiveOverrideFlag = true
        bipredictive.numRefIdxL0ActiveMinus1 = 1
        bipredictive.numRefIdxL1ActiveMinus1 = 3
        bipredictive.listEntryL0 = nil
        bipredictive.listEntryL1 = [0, 3, 1, 2]
        bipredictive.mvdL1ZeroFlag = true
        bipredictive.collocatedFromL0Flag = false
        bipredictive.predWeightTable = weights(l0: 2, l1: 4)
        bipredictive.fiveMinusMaxNumMergeCand = 4
        bipredictive.sliceDeblockingFilterDisabledFlag = true
        bipredictive.sliceDeblockingOffsets = idr().sliceDeblockingOffsets
        return bipredictive
    }

    private static func weights(l0: Int, l1: Int) -> PredWeightTable {
        var table = PredWeightTable()
        table.lumaLog2WeightDenom = 6
        table.deltaChromaLog2WeightDenom = -1
        func list(_ count: Int) -> [RefPicWeights] {
            (0..<count).map { index in
                var weights = RefPicWeights()
                if index != 1 { weights.luma = PredWeight(deltaWeight: -128, offset: 511) }
                if index != 0 {
                    weights.chroma = [PredWeight(deltaWeight: 127, offset: -2048), PredWeight(offset: 2047)]
                }
                return weights
            }
        }
        (table.l0, table.l1) = (list(l0), list(l1))
        return table
    }
}
