// SPDX-License-Identifier: MIT

/// Assigns the pictures of a stream of one sub-layer to temporal sub-layers that its encoder does not know.
///
/// The encoder must have coded so that no picture refers to one of a higher sub-layer, or to one of its own sub-layer
/// above the lowest. Then only headers change: temporal ids and types of NAL units, and reference picture sets, which
/// may not list pictures of a higher sub-layer (7.4.8). Slice data are kept. Everything is verified: losing a picture that a slice refers to, or changing a picture
/// order count, is an error.
public struct TemporalRelabeller: Sendable {
    private var sets: ParameterSets
    /// Picture order counts with the original and with the new temporal ids.
    private var before = PictureOrderCount()
    private var after = PictureOrderCount()
    /// TemporalId of the pictures in the decoded picture buffer, by PicOrderCntVal.
    private var kept: [Int: Int] = [:]
    private let refersOnlyToNearest: Bool

    /// The current picture.
    private struct Picture {
        var type: NALUnitType
        var poc: Int
        var references: ShortTermRefPicSet?
        /// Whether the set differs from the encoder's.
        var isChanged = false
    }

    /// - Parameters:
    ///   - parameterSets: the stream's parameter sets, as NAL units.
    ///   - refersOnlyToNearest: whether pictures refer only to the nearest picture in each direction, so that older ones
    ///     can be removed early.
    public init(parameterSets: [[UInt8]], refersOnlyToNearest: Bool = true) throws(BitstreamError) {
        self.refersOnlyToNearest = refersOnlyToNearest
        sets = try ParameterSets(nalUnits: parameterSets)
    }

    /// Appends an access unit to `output` with a new temporal id; both have 4-byte lengths.
    ///
    /// - Returns: the new NAL unit type of its slices.
    /// - Throws: `malformed` when the picture cannot be in that sub-layer; what parsing it throws.
    public mutating func relabel(
        _ sample: ArraySlice<UInt8>, temporalID: Int, into output: inout [UInt8]
    ) throws(BitstreamError) -> NALUnitType {
        output.reserveCapacity(output.count + sample.count + 64)
        var units = try LengthPrefixedNALUnits(sample)
        var picture: Picture?
        while let nal = try units.next() {
            var header = try NALUnitHeader(nal: nal)
            switch header.nalUnitType {
            case .vps, .sps:
                throw BitstreamError(
                    .unsupported, "a parameter set inside the stream cannot be divided into sub-layers")
            case .pps:
                // Keeps TemporalId 0, so that it applies to every sub-layer.
                try sets.add(nal: nal)
                try LengthPrefixedNALUnits.append(nal, to: &output)
            case let type where type.isSlice:
                try LengthPrefixedNALUnits.append(try relabelled(nal, temporalID, &picture), to: &output)
            default:
                // Delimiters, SEI messages and metadata get their picture's temporal id.
                header.nuhTemporalIDPlus1 = temporalID + 1
                try LengthPrefixedNALUnits.append(try header.bytes() + nal.dropFirst(2), to: &output)
            }
        }
        guard let picture else { throw BitstreamError(.malformed, "an access unit has no slice") }
        let set = picture.references ?? ShortTermRefPicSet()
        let named = Set((set.negativePics + set.positivePics).map { picture.poc + $0.deltaPoc })
        kept = kept.filter { named.contains($0.key) }
        kept[picture.poc] = temporalID
        return picture.type
    }

    /// Rewrites a slice segment; the first segment of a picture determines `picture`, which applies to all.
    private mutating func relabelled(
        _ nal: ArraySlice<UInt8>, _ temporalID: Int, _ picture: inout Picture?
    ) throws(BitstreamError) -> [UInt8] {
        var slice = try SliceSegment(nal: nal, parameterSets: sets)
        let known: Picture
        if let picture { known = picture } else { known = try classify(slice.sliceHeader, temporalID) }
        picture = known
        slice.sliceHeader.header = NALUnitHeader(known.type, nuhTemporalIDPlus1: temporalID + 1)
        guard known.isChanged, slice.sliceHeader.references != nil, let set = known.references else {
            return try slice.nalUnit(parameterSets: sets)
        }
        try checkLists(of: slice.sliceHeader, with: set)
        slice.sliceHeader.references?.shortTermRefPicSetIdx = nil
        slice.sliceHeader.references?.shortTermRefPicSet = set
        return try slice.nalUnit(parameterSets: sets)
    }

    private mutating func classify(
        _ header: SliceSegmentHeader, _ temporalID: Int
    ) throws(BitstreamError) -> Picture {
        let type = try Self.type(header.header.nalUnitType, in: temporalID)
        let sps = try sets.active(ppsId: header.slicePicParameterSetId).sps
        let poc = before.next(header, sps: sps)
        var relabelled = header
        relabelled.header = NALUnitHeader(type, nuhTemporalIDPlus1: temporalID + 1)
        guard after.next(relabelled, sps: sps) == poc else {
            throw BitstreamError(
                .malformed, "picture order count \(poc) cannot be derived from the pictures of the lowest sub-layer"
            )
        }
        guard let references = header.references else { return Picture(type: type, poc: poc) }
        guard references.longTermRefPics.isEmpty, header.listEntryL0 == nil, header.listEntryL1 == nil else {
            throw BitstreamError(
                .unsupported, "long-term references and modified lists cannot be divided into sub-layers")
        }
        let set = pruned(references.shortTermRefPicSet, of: header, poc, temporalID)
        let isChanged = set.numDeltaPocs != references.shortTermRefPicSet.numDeltaPocs
        return Picture(type: type, poc: poc, references: set, isChanged: isChanged)
    }

    /// The set without pictures that the sub-layer may not list, that were removed, or that no later picture refers to.
    ///
    /// Removing the last kind keeps a subset of the sub-layers within its share of the decoded picture buffer. An
    /// encoder that refers only to the nearest picture in each direction never again refers to pictures older than the one a P
    /// picture refers to, or older than the one that an intra picture's leading pictures refer to.
    private func pruned(
        _ set: ShortTermRefPicSet, of header: SliceSegmentHeader, _ poc: Int, _ temporalID: Int
    ) -> ShortTermRefPicSet {
        func stays(_ reference: ShortTermRefPic) -> Bool {
            guard let level = kept[poc + reference.deltaPoc] else { return false }
            return level < max(1, temporalID)
        }
        let negative = set.negativePics.filter(stays)
        guard header.sliceType != .b, refersOnlyToNearest else {
            return ShortTermRefPicSet(negativePics: negative, positivePics: set.positivePics.filter(stays))
        }
        let active = header.sliceType == .p ? header.numRefIdxL0ActiveMinus1 + 1 : 1
        return ShortTermRefPicSet(negativePics: Array(negative.prefix(active)), positivePics: [])
    }

    /// Throws unless the slice's reference picture lists are the same with the new set.
    private func checkLists(
        of header: SliceSegmentHeader, with set: ShortTermRefPicSet
    ) throws(BitstreamError) {
        guard let old = header.references?.shortTermRefPicSet, header.sliceType != .i else { return }
        for (isSecond, active) in [
            (false, header.numRefIdxL0ActiveMinus1 + 1),
            (true, header.sliceType == .b ? header.numRefIdxL1ActiveMinus1 + 1 : 0),
        ] where old.list(isSecond, active) != set.list(isSecond, active) {
            throw BitstreamError(.malformed, "a slice refers to a picture of a sub-layer that it may not refer to")
        }
    }

    /// The equivalent type of table 7-1 for a picture in another sub-layer.
    private static func type(_ type: NALUnitType, in temporalID: Int) throws(BitstreamError) -> NALUnitType {
        if temporalID == 0 { return type }
        switch type {
        case .trailN: return .tsaN
        case .trailR: return .tsaR
        case .radlN, .radlR, .raslN, .raslR: return type
        default: throw BitstreamError(.malformed, "a picture of type \(type) cannot have TemporalId \(temporalID)")
        }
    }
}

extension ShortTermRefPicSet {
    /// The POC differences in an unmodified reference picture list of `count` entries (8-8, 8-10).
    fileprivate func list(_ isSecond: Bool, _ count: Int) -> [Int] {
        let before = negativePics.filter(\.usedByCurrPic).map(\.deltaPoc)
        let after = positivePics.filter(\.usedByCurrPic).map(\.deltaPoc)
        let all = isSecond ? after + before : before + after
        return all.isEmpty ? [] : (0..<count).map { all[$0 % all.count] }
    }
}
