// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
internal import HWDPolicy

/// The references that an encoder supports: the driver's claims, restricted by its quirks.
public struct ReferenceLimits: Hashable, Sendable {
    /// Limit of pictures in list 0; 0 for an encoder of intra pictures only.
    public var list0: Int
    /// Limit of pictures in list 1.
    public var list1: Int
    /// Limit of different pictures, including those that the current picture only keeps.
    public var total: Int
    /// Whether a picture may refer to one that is shown later (reordered B pictures).
    public var allowsFuture: Bool
    /// Whether P pictures must be coded as B pictures with two equal lists (low-delay B, GPB).
    public var requiresLowDelayB: Bool

    public init(
        list0: Int, list1: Int = 0, total: Int? = nil, allowsFuture: Bool = true, requiresLowDelayB: Bool = false
    ) {
        self.list0 = list0
        self.list1 = list1
        self.total = total ?? list0 + list1
        self.allowsFuture = allowsFuture
        self.requiresLowDelayB = requiresLowDelayB
    }
}

/// The dependencies between a stream's pictures, fixed when the encoder opens.
///
/// Several temporal levels are either the levels of the pyramid, with one anchor per group, or, without reordering,
/// anchors that refer to lower levels only.
public struct PictureStructure: Hashable, Sendable {
    /// Frames from one anchor (I or P picture) to the next: 1 without reordering; 2, 4 or 8 with a pyramid of B
    /// pictures between anchors; with two temporal levels usually 4, the middle picture being of level 0.
    public var anchorDistance: Int
    /// Limit of anchors that an anchor refers to.
    public var anchorReferences: Int
    /// Maximum frames from a key frame to the next; 1 makes every picture a key frame.
    public var keyFrameInterval: Int
    /// Whether key frames at the interval are CRA pictures with leading pictures that refer across them.
    public var isOpenGOP: Bool
    /// Whether anchors are B pictures with two equal lists.
    public var isLowDelayB: Bool
    /// Limit of pictures submitted to the encoder at the same time.
    public var picturesInFlight: Int
    /// Number of temporal levels; with several, the key frame interval is a multiple of `groupSize`.
    public var temporalLevels: Int

    /// Default of frames from a key frame to the next, as in x265.
    static let defaultKeyFrameInterval = 250
    /// The longest distance between anchors.
    static let maxDistance = 4
    /// The longest distance with temporal levels; a longer one exceeds the smallest picture buffer of any level.
    static let maxLevelledDistance = 8

    /// Values that contradict a key frame interval of 1 are ignored.
    public init(
        anchorDistance: Int = 1, anchorReferences: Int = 1, keyFrameInterval: Int = 250, isOpenGOP: Bool = false,
        isLowDelayB: Bool = false, picturesInFlight: Int = 1, temporalLevels: Int = 1
    ) {
        // Without references there is neither a pyramid nor an open GOP.
        self.anchorDistance = keyFrameInterval > 1 ? anchorDistance : 1
        self.anchorReferences = anchorReferences
        self.keyFrameInterval = keyFrameInterval
        self.isOpenGOP = isOpenGOP && self.anchorDistance > 1
        self.isLowDelayB = isLowDelayB
        self.picturesInFlight = picturesInFlight
        self.temporalLevels = keyFrameInterval > 1 ? temporalLevels : 1
    }

    /// Chooses the best structure for a session's properties within an encoder's limits.
    ///
    /// `MaxFrameDelayCount` bounds the held frames: those before their anchor, and all pictures in flight but one. When
    /// the limits are too low for the session's temporal levels, the structure has one level.
    public init(_ configuration: EncoderConfiguration, limits: ReferenceLimits) {
        let delay = configuration.realTime ? 0 : configuration.maxFrameDelay ?? .max
        picturesInFlight = delay > 0 ? 2 : 1
        keyFrameInterval = configuration.maxKeyFrameInterval ?? Self.defaultKeyFrameInterval
        isLowDelayB = limits.requiresLowDelayB
        let usable = isLowDelayB ? min(limits.list0, limits.list1) : limits.list0
        if usable < 1 || limits.total < 1 { keyFrameInterval = 1 }

        // Five references and the current picture fill the smallest decoded picture buffer of any level (A.4.2).
        let total = max(1, min(limits.total, configuration.referenceCount ?? 5, 5))
        let maxDistance = delay == .max ? .max : delay - (picturesInFlight - 1) + 1
        let maxDepth = configuration.request.maxReorder ?? .max
        func fits(_ distance: Int) -> Bool {
            distance <= maxDistance && Self.references(distance, 1) <= total
                && distance.trailingZeroBitCount <= maxDepth
        }
        let mayReorder =
            configuration.allowFrameReordering && limits.allowsFuture && limits.list1 > 0 && keyFrameInterval > 1
        let levels = configuration.temporalLevels
        anchorDistance = 1
        temporalLevels = 1
        if levels.count > 1, keyFrameInterval > 1 {
            if mayReorder {
                anchorDistance =
                    [levels.anchorDistance, levels.groupSize].first { $0 <= Self.maxLevelledDistance && fits($0) }
                    ?? 1
            }
            if anchorDistance > 1 || Self.chainReferences(levels.groupSize) <= total {
                temporalLevels = levels.count
            }
        } else if mayReorder {
            anchorDistance = [Self.maxDistance, 2, 1].first(where: fits) ?? 1
        }
        let wanted = configuration.referenceCount ?? (anchorDistance > 1 || temporalLevels > 1 ? 2 : 3)
        anchorReferences = max(1, min(usable, wanted))
        while anchorReferences > 1, Self.references(anchorDistance, anchorReferences) > total {
            anchorReferences -= 1
        }
        isOpenGOP = configuration.allowOpenGOP && anchorDistance > 1
    }

    /// Frames from a picture of level 0 to the next.
    public var groupSize: Int { 1 << (temporalLevels - 1) }

    /// Whether there are temporal levels without reordering.
    public var isChain: Bool { temporalLevels > 1 && anchorDistance == 1 }

    /// Maximum number of pictures kept as references at the same time.
    public var maxReferences: Int { Self.references(self, groupSize) }

    /// sps_max_num_reorder_pics: the depth of the pyramid.
    public var reorderDepth: Int { anchorDistance.trailingZeroBitCount }

    /// sps_max_dec_pic_buffering_minus1: the references, and the pictures that wait for output (C.5.2).
    public var maxDecPicBufferingMinus1: Int { subLayers[temporalLevels - 1].maxDecPicBufferingMinus1 }

    /// The picture buffer for each temporal level and those below it.
    public var subLayers: [SubLayerOrdering] {
        (0..<temporalLevels).map { level in
            guard keyFrameInterval > 1 else { return SubLayerOrdering() }
            let group = 1 << level
            // Level 0 has a pyramid of its own where anchors are further apart than its pictures.
            let depth = isChain ? 0 : level + reorderDepth - (temporalLevels - 1)
            let references = Self.references(self, group)
            return SubLayerOrdering(
                maxDecPicBufferingMinus1: max(references, depth > 0 ? depth + 2 : 1), maxNumReorderPics: depth)
        }
    }

    /// Maximum references of a structure that is reduced to a group of this size.
    private static func references(_ structure: PictureStructure, _ group: Int) -> Int {
        if structure.isChain { return max(chainReferences(group), 1) }
        return references(structure.anchorDistance / structure.groupSize * group, structure.anchorReferences)
    }

    /// Maximum pictures that a chain keeps: the references of the current and of later pictures of its group.
    static func chainReferences(_ group: Int) -> Int {
        (1...group).map { chain(at: $0, group).count }.max() ?? 1
    }

    /// The positions in a group that are kept while the picture at `position`, 1…group, is coded.
    static func chain(at position: Int, _ group: Int) -> Set<Int> {
        Set((position...group).map { $0 == group ? 0 : $0 & ($0 - 1) }.filter { $0 < position })
    }

    /// The anchors on both sides of a pyramid, or those that an anchor refers to, and the pyramid's inner nodes.
    private static func references(_ distance: Int, _ anchors: Int) -> Int {
        guard distance > 1 else { return anchors }
        return max(2, anchors) + distance.trailingZeroBitCount - 1
    }
}
