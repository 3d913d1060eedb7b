// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC

/// A picture to code, with its references.
public struct PlannedPicture: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        /// An IDR picture: no later picture refers across it.
        case idr
        /// A CRA picture: leading pictures may refer across it.
        case cra
        /// A picture that refers to anchors shown before it.
        case anchor
        /// A picture between two anchors.
        case bidirectional
    }

    /// The frame's index in input order, from 0.
    public var frame: Int
    public var kind: Kind
    /// PicOrderCntVal.
    public var poc: Int
    /// TemporalId.
    public var temporalID = 0
    /// Its level in the pyramid: 0 for anchors, 1 for the B picture in their middle, and so on.
    public var level: Int
    /// `nal_unit_type`.
    public var nalUnitType: NALUnitType
    /// Whether a later picture refers to it.
    public var isReference: Bool
    /// PicOrderCntVal of list 0, in list order.
    public var list0: [Int]
    /// PicOrderCntVal of list 1, in list order.
    public var list1: [Int]
    /// PicOrderCntVal of every picture kept while this one is coded, including its references.
    public var kept: [Int]

    /// Whether decoding can start at this picture.
    public var isKeyFrame: Bool { kind == .idr || kind == .cra }

    public var isIntra: Bool { isKeyFrame }

    /// `slice_type`.
    public var sliceType: SliceType { isIntra ? .i : list1.isEmpty ? .p : .b }

    /// The reference picture set of its slices (H.265 7.4.8), coded explicitly.
    public var referencePictureSet: ShortTermRefPicSet {
        let used = Set(list0).union(list1)
        func pictures(_ pocs: [Int]) -> [ShortTermRefPic] {
            pocs.map { ShortTermRefPic(deltaPoc: $0 - poc, usedByCurrPic: used.contains($0)) }
        }
        return ShortTermRefPicSet(
            negativePics: pictures(kept.filter { $0 < poc }.sorted(by: >)),
            positivePics: pictures(kept.filter { $0 > poc }.sorted()))
    }
}
