// SPDX-License-Identifier: GPL-2.0-or-later

/// The parameter sets seen so far, by id.
///
/// The ids of all layers share one space, so a set of another layer with the same id replaces the first,
/// as it does in decoders.
public struct ParameterSets: Hashable, Sendable {
    /// VPSs by `vps_video_parameter_set_id`.
    public private(set) var videoParameterSets: [Int: VideoParameterSet] = [:]
    /// SPSs by `sps_seq_parameter_set_id`.
    public private(set) var sequenceParameterSets: [Int: SequenceParameterSet] = [:]
    /// PPSs by `pps_pic_parameter_set_id`.
    public private(set) var pictureParameterSets: [Int: PictureParameterSet] = [:]
    /// The layers above the base whose IDR slices carry `slice_pic_order_cnt_lsb`.
    ///
    /// These are the ones with `poc_lsb_not_present_flag` 0 in the VPS extension (F.7.3.6.1). An alpha layer is
    /// none.
    public var layersWithIdrPocLsb: Set<Int> = []

    /// Nothing seen.
    public init() {}

    /// The parameter sets among `nalUnits`; throws what parsing them throws.
    public init(nalUnits: [[UInt8]]) throws(BitstreamError) {
        for nal in nalUnits { try add(nal: nal[...]) }
    }

    /// Takes a NAL unit in when it is a parameter set; false when it is anything else; throws when it is malformed.
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

    /// Takes a VPS in, and what its extension says about the IDR slices of the layer above the base.
    public mutating func add(_ vps: VideoParameterSet) {
        videoParameterSets[vps.vpsVideoParameterSetId] = vps
        guard vps.vpsExtension != nil, let layers = try? vps.multilayerExtension(), let relations = layers.relations
        else { return }
        let id = layers.layers[1].nuhLayerId
        if relations.pocLsbNotPresentFlag { layersWithIdrPocLsb.remove(id) } else { layersWithIdrPocLsb.insert(id) }
    }

    /// Takes an SPS in.
    public mutating func add(_ sps: SequenceParameterSet) {
        sequenceParameterSets[sps.spsSeqParameterSetId] = sps
    }

    /// Takes a PPS in.
    public mutating func add(_ pps: PictureParameterSet) {
        pictureParameterSets[pps.ppsPicParameterSetId] = pps
    }

    /// The PPS with an id and the SPS it refers to; throws `missingParameterSet`.
    public func active(ppsId: Int) throws(BitstreamError) -> (sps: SequenceParameterSet, pps: PictureParameterSet) {
        guard let pps = pictureParameterSets[ppsId] else {
            throw BitstreamError(.missingParameterSet, "A slice refers to PPS \(ppsId), which has not been seen.")
        }
        guard let sps = sequenceParameterSets[pps.ppsSeqParameterSetId] else {
            throw BitstreamError(
                .missingParameterSet,
                "PPS \(ppsId) refers to SPS \(pps.ppsSeqParameterSetId), which has not been seen.")
        }
        return (sps, pps)
    }
}
