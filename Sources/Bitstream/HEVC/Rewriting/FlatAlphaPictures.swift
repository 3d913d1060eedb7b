// SPDX-License-Identifier: MIT

/// Writes pictures of an alpha layer whose samples all have one value, with the structure of the base layer's pictures.
///
/// They use the parameter sets of the alpha layer's encoder, so that its pictures may follow them from an IRAP picture without
/// leading pictures on, and may come before them in the same way.
struct FlatAlphaPictures: Sendable {
    /// SliceQpY of pictures without residuals.
    static let skipQP = 26

    private let sets: ParameterSets
    private let ppsId: Int
    private let initialQP: Int
    private let maxPicOrderCntLsb: Int
    private let format: FlatPictureFormat
    /// Slice data by type and value, which all pictures of a kind share.
    private var data: [Key: FlatSliceData] = [:]

    private struct Key: Hashable {
        var type: SliceType
        var value: UInt8?
    }

    /// Nil where the parameter sets enable tools that flat pictures cannot be written with.
    init?(sets: ParameterSets, ppsId: Int) {
        guard let (sps, pps) = try? sets.active(ppsId: ppsId), let format = FlatPictureFormat(sps, pps) else {
            return nil
        }
        self.sets = sets
        self.ppsId = ppsId
        self.format = format
        initialQP = 26 + pps.initQpMinus26
        maxPicOrderCntLsb = sps.maxPicOrderCntLsb
    }

    /// The slice of a picture beside the base layer's picture with this first slice.
    ///
    /// - Parameters:
    ///   - base: the base layer's header.
    ///   - poc: the picture's PicOrderCntVal.
    ///   - value: alpha. Since the last IRAP picture that no leading picture precedes, it must not have changed.
    /// - Throws: `BitstreamError` where the base layer's references cannot be named in the alpha layer's slices.
    mutating func slice(like base: SliceSegmentHeader, poc: Int, value: UInt8) throws(BitstreamError)
        -> SliceSegment
    {
        let isIntra = base.sliceType == .i
        let key = Key(type: base.sliceType, value: isIntra ? value : nil)
        if data[key] == nil, data.count >= Self.maxKinds { data = [:] }
        let contents = data[key] ?? FlatSliceData(format, base.sliceType, intra: key.value)
        data[key] = contents
        var header = SliceSegmentHeader(
            NALUnitHeader(
                base.header.nalUnitType, nuhLayerId: AlphaParameterSets.layerId,
                nuhTemporalIDPlus1: base.header.nuhTemporalIDPlus1))
        header.noOutputOfPriorPicsFlag = base.noOutputOfPriorPicsFlag
        header.slicePicParameterSetId = ppsId
        header.sliceType = base.sliceType
        header.slicePicOrderCntLsb = poc & (maxPicOrderCntLsb - 1)
        header.references = try base.references?.explicit()
        header.numRefIdxActiveOverrideFlag = true
        header.numRefIdxL0ActiveMinus1 = base.numRefIdxL0ActiveMinus1
        header.numRefIdxL1ActiveMinus1 = base.numRefIdxL1ActiveMinus1
        // One merge candidate: without neighbors it is no motion from the first reference of each list (8.5.3.2.5).
        header.fiveMinusMaxNumMergeCand = 4
        header.sliceQpDelta = (isIntra ? format.intraQP : Self.skipQP) - initialQP
        header.entryPointOffsetMinus1 = contents.entryPointOffsetMinus1
        let longest = contents.entryPointOffsetMinus1.max() ?? 0
        header.offsetLenMinus1 = max(0, Int.bitWidth - longest.leadingZeroBitCount - 1)
        return SliceSegment(sliceHeader: header, data: contents.bytes[...])
    }

    /// Bounds the memory for alphas that change often.
    private static let maxKinds = 8
}

extension SliceReferences {
    /// The same short-term references, coded in the slice header.
    func explicit() throws(BitstreamError) -> SliceReferences {
        guard longTermRefPics.isEmpty else {
            throw BitstreamError(.unsupported, "the alpha layer has no long-term references")
        }
        var copy = SliceReferences()
        copy.shortTermRefPicSet = ShortTermRefPicSet(
            negativePics: shortTermRefPicSet.negativePics, positivePics: shortTermRefPicSet.positivePics)
        return copy
    }
}
