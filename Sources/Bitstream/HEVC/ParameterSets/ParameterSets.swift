// SPDX-License-Identifier: MIT

/// The parameter sets seen so far, by id.
///
/// All layers share one id space: a set of another layer with the same id replaces the first, as in decoders.
public struct ParameterSets: Hashable, Sendable {
    /// By `vps_video_parameter_set_id`.
    public private(set) var videoParameterSets: [Int: VideoParameterSet] = [:]
    /// By `sps_seq_parameter_set_id`.
    public private(set) var sequenceParameterSets: [Int: SequenceParameterSet] = [:]
    /// By `pps_pic_parameter_set_id`.
    public private(set) var pictureParameterSets: [Int: PictureParameterSet] = [:]
    /// The layers above the base whose IDR slices carry `slice_pic_order_cnt_lsb`.
    ///
    /// Their `poc_lsb_not_present_flag` in the VPS extension is 0 (F.7.3.6.1). Alpha layers usually have it at 1.
    public var layersWithIdrPocLsb: Set<Int> = []

    public init() {}

    /// Adds the parameter sets among `nalUnits`; throws what parsing them throws.
    public init(nalUnits: [[UInt8]]) throws(BitstreamError) {
        for nal in nalUnits { try add(nal: nal[...]) }
    }

    /// Adds a NAL unit that is a parameter set; false when it is not one; throws when it is malformed.
    @discardableResult
    public mutating func add(nal: ArraySlice<UInt8>) throws(BitstreamError) -> Bool {
        switch try NALUnitHeader(nal: nal).nalUnitType {
        case .vps: add(try VideoParameterSet(nal: nal))
        case .sps: add(try SequenceParameterSet(nal: nal))
        case .pps: add(try PictureParameterSet(nal: nal))
        default: return false
        }
        return true
    }

    /// Adds a VPS, and updates `layersWithIdrPocLsb` from its extension.
    public mutating func add(_ vps: VideoParameterSet) {
        videoParameterSets[vps.vpsVideoParameterSetId] = vps
        guard vps.vpsExtension != nil, let layers = try? vps.multilayerExtension(), let relations = layers.relations
        else { return }
        let id = layers.layers[1].nuhLayerId
        if relations.pocLsbNotPresentFlag { layersWithIdrPocLsb.remove(id) } else { layersWithIdrPocLsb.insert(id) }
    }

    public mutating func add(_ sps: SequenceParameterSet) {
        sequenceParameterSets[sps.spsSeqParameterSetId] = sps
    }

    public mutating func add(_ pps: PictureParameterSet) {
        pictureParameterSets[pps.ppsPicParameterSetId] = pps
    }

    /// The PPS with this id and the SPS it refers to; throws `missingParameterSet`.
    public func active(ppsId: Int) throws(BitstreamError) -> (sps: SequenceParameterSet, pps: PictureParameterSet) {
        guard let pps = pictureParameterSets[ppsId] else {
            throw BitstreamError(.missingParameterSet, "a slice refers to PPS \(ppsId), which has not been seen")
        }
        guard let sps = sequenceParameterSets[pps.ppsSeqParameterSetId] else {
            throw BitstreamError(
                .missingParameterSet,
                "PPS \(ppsId) refers to SPS \(pps.ppsSeqParameterSetId), which has not been seen")
        }
        return (sps, pps)
    }
}
