// SPDX-License-Identifier: MIT

/// Merges the streams of two encoders, one for color and one for alpha, into a stream of two layers.
///
/// Both must have coded the same pictures with the same structure: every access unit carries both layers, and a
/// decoder derives the alpha layer's references in the same way as the base layer's. Every picture is checked.
public struct AlphaLayerMuxer: Sendable {
    /// The `hvcC` record of the merged stream: VPS, both SPSs, both PPSs, and the SEI messages.
    public let record: DecoderConfigurationRecord

    /// The parameter sets of each encoder, for reading its slices.
    private let baseSets: ParameterSets
    private let alphaSets: ParameterSets
    /// The parameter sets of the merged stream, for writing slices of the alpha layer.
    private let writtenSets: ParameterSets
    private let writtenPPSId: Int
    private var basePOC = PictureOrderCount()
    private var alphaPOC = PictureOrderCount()
    /// The base layer's PicOrderCntVal less the alpha encoder's, which begins at 0 where that encoder does.
    private var alphaOffset = 0
    /// Nil where the alpha layer's parameter sets are unsuitable for flat pictures.
    private var flat: FlatAlphaPictures?

    /// Whether `merge(base:flat:into:)` may be called.
    public var canWriteFlatAlpha: Bool { flat != nil }

    /// Takes the out-of-band NAL units (parameter sets and SEI) of both encoders.
    ///
    /// Messages of the alpha encoder are dropped; `info` is inserted before the messages of the base encoder.
    /// - Throws: `BitstreamError` when the two cannot be layers of one stream, or do not parse.
    public init(base: [[UInt8]], alpha: [[UInt8]], info: AlphaChannelInfo) throws(BitstreamError) {
        baseSets = try ParameterSets(nalUnits: base)
        alphaSets = try ParameterSets(nalUnits: alpha)
        let sets = try AlphaParameterSets(base: baseSets, alpha: alphaSets)
        var written = ParameterSets()
        written.add(sets.vps)
        written.add(sets.sps)
        written.add(sets.pps)
        writtenSets = written
        writtenPPSId = sets.pps.ppsPicParameterSetId
        flat = FlatAlphaPictures(sets: written, ppsId: writtenPPSId)

        var units = [try sets.vps.nalUnit()]
        units += try Self.units(.sps, of: base) + [try sets.sps.nalUnit()]
        units += try Self.units(.pps, of: base) + [try sets.pps.nalUnit()]
        units.append(try SEI(messages: [SEIMessage(.alphaChannelInfo(info))]).nalUnit())
        units += try Self.units(.prefixSEI, of: base)
        record = try DecoderConfigurationRecord(nalUnits: units)
    }

    /// Appends an access unit to `sample`: the base layer's slices, then the alpha layer's, with 4-byte lengths.
    ///
    /// Other NAL units are dropped: parameter sets and messages are in the record, and samples need no delimiters.
    /// Alpha slices come last because some decoders fail when they come first. Where an alpha encoder begins beside a CRA
    /// picture of the base layer, which must have no leading pictures, its IDR picture becomes a CRA picture.
    /// - Parameters:
    ///   - base: the base encoder's access unit, with 4-byte lengths.
    ///   - alpha: the alpha encoder's access unit of the same picture, with 4-byte lengths.
    /// - Throws: `BitstreamError` when a slice does not parse, or the pictures differ in structure.
    public mutating func merge(
        base: ArraySlice<UInt8>, alpha: ArraySlice<UInt8>, into sample: inout [UInt8]
    ) throws(BitstreamError) {
        sample.reserveCapacity(sample.count + base.count + alpha.count + 64)
        let mine = try append(base: base, to: &sample)
        var theirs: Picture?
        var units = try LengthPrefixedNALUnits(alpha)
        while let nal = try units.next() {
            guard try NALUnitHeader(nal: nal).nalUnitType.isVCL else { continue }
            var slice = try SliceSegment(nal: nal, parameterSets: alphaSets)
            if slice.sliceHeader.firstSliceSegmentInPicFlag {
                try Self.start(&theirs, slice.sliceHeader, alphaSets, &alphaPOC)
                if let poc = theirs?.poc, slice.sliceHeader.header.nalUnitType.isIDR {
                    alphaOffset = mine.poc - poc
                }
                theirs?.poc += alphaOffset
            }
            try adapt(&slice.sliceHeader, to: mine, poc: theirs?.poc ?? 0)
            if slice.sliceHeader.firstSliceSegmentInPicFlag { theirs?.header = slice.sliceHeader }
            // The header ends in a non-zero byte, so the escaped bytes after it stay valid.
            try LengthPrefixedNALUnits.append(try slice.nalUnit(parameterSets: writtenSets), to: &sample)
        }
        guard let theirs else {
            throw BitstreamError(.malformed, "an access unit lacks the slices of the alpha layer")
        }
        if let difference = mine.difference(from: theirs) {
            throw BitstreamError(.malformed, "the layers' pictures with POC \(mine.poc) differ in \(difference)")
        }
    }

    /// Appends an access unit whose alpha has one value everywhere, without an encoder of the alpha layer.
    ///
    /// - Parameters:
    ///   - base: the base encoder's access unit, with 4-byte lengths.
    ///   - value: the alpha of all samples, unchanged since an IRAP picture without leading pictures.
    /// - Throws: `BitstreamError` when a slice does not parse, or has references that alpha cannot have.
    public mutating func merge(
        base: ArraySlice<UInt8>, flat value: UInt8, into sample: inout [UInt8]
    ) throws(BitstreamError) {
        let picture = try append(base: base, to: &sample)
        guard let slice = try flat?.slice(like: picture.header, poc: picture.poc, value: value) else {
            throw BitstreamError(.unsupported, "the alpha layer's parameter sets are unsuitable for flat pictures")
        }
        try LengthPrefixedNALUnits.append(try slice.nalUnit(parameterSets: writtenSets), to: &sample)
    }

    /// Appends the base layer's slices.
    private mutating func append(
        base: ArraySlice<UInt8>, to sample: inout [UInt8]
    ) throws(BitstreamError) -> Picture {
        var picture: Picture?
        var units = try LengthPrefixedNALUnits(base)
        while let nal = try units.next() {
            guard try NALUnitHeader(nal: nal).nalUnitType.isVCL else { continue }
            let header = try SliceSegment(nal: nal, parameterSets: baseSets).sliceHeader
            if header.firstSliceSegmentInPicFlag { try Self.start(&picture, header, baseSets, &basePOC) }
            try LengthPrefixedNALUnits.append(nal, to: &sample)
        }
        guard let picture else {
            throw BitstreamError(.malformed, "an access unit lacks the slices of the base layer")
        }
        return picture
    }

    /// Makes a slice of the alpha encoder one of the alpha layer.
    private func adapt(
        _ header: inout SliceSegmentHeader, to base: Picture, poc: Int
    ) throws(BitstreamError) {
        header.header.nuhLayerId = AlphaParameterSets.layerId
        header.slicePicParameterSetId = writtenPPSId
        if header.header.nalUnitType.isIDR, base.header.header.nalUnitType == .craNUT {
            header.header.nalUnitType = .craNUT
            header.references = try base.header.references?.explicit()
        }
        if !header.header.nalUnitType.isIDR {
            let sps = try writtenSets.active(ppsId: writtenPPSId).sps
            header.slicePicOrderCntLsb = poc & (sps.maxPicOrderCntLsb - 1)
        }
    }

    private static func units(_ type: NALUnitType, of nalUnits: [[UInt8]]) throws(BitstreamError) -> [[UInt8]] {
        var found: [[UInt8]] = []
        for nal in nalUnits {
            if try NALUnitHeader(nal: nal).nalUnitType == type { found.append(nal) }
        }
        return found
    }

    private static func start(
        _ picture: inout Picture?, _ header: SliceSegmentHeader, _ sets: ParameterSets,
        _ counter: inout PictureOrderCount
    ) throws(BitstreamError) {
        guard picture == nil else {
            throw BitstreamError(.malformed, "an access unit has two pictures of one layer")
        }
        let sps = try sets.active(ppsId: header.slicePicParameterSetId).sps
        picture = Picture(header: header, poc: counter.next(header, sps: sps))
    }
}

/// The properties that both layers' pictures of an access unit must share.
private struct Picture {
    var header: SliceSegmentHeader
    var poc: Int

    /// Names the first difference; nil when both have the same structure.
    func difference(from other: Picture) -> String? {
        let (mine, theirs) = (header, other.header)
        if mine.header.nalUnitType != theirs.header.nalUnitType {
            return "NAL unit type (\(mine.header.nalUnitType), \(theirs.header.nalUnitType))"
        }
        if mine.header.temporalID != theirs.header.temporalID { return "TemporalId" }
        if mine.sliceType != theirs.sliceType { return "slice type (\(mine.sliceType), \(theirs.sliceType))" }
        if poc != other.poc { return "picture order count (\(poc), \(other.poc))" }
        let (sets, otherSets) = (mine.references?.shortTermRefPicSet, theirs.references?.shortTermRefPicSet)
        if sets?.negativePics != otherSets?.negativePics || sets?.positivePics != otherSets?.positivePics
            || mine.references?.longTermRefPics != theirs.references?.longTermRefPics
        {
            return "reference picture sets"
        }
        if mine.numRefIdxL0ActiveMinus1 != theirs.numRefIdxL0ActiveMinus1
            || mine.numRefIdxL1ActiveMinus1 != theirs.numRefIdxL1ActiveMinus1
        {
            return "number of active references"
        }
        return nil
    }
}
