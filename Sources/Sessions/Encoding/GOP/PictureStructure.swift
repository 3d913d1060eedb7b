// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC

/// What an encoder can refer to: a driver's claims, less what its quirks take away.
public struct ReferenceLimits: Hashable, Sendable {
    /// Pictures in list 0, at most; 0 for an encoder of intra pictures only.
    public var list0: Int
    /// Pictures in list 1, at most.
    public var list1: Int
    /// Different pictures in all, at most, whether the picture at hand uses them or only keeps them.
    public var total: Int
    /// Whether a picture may refer to one that is shown later (B pictures in another order).
    public var allowsFuture: Bool
    /// Whether P pictures must be sent as B pictures whose two lists are equal (low-delay B, GPB).
    public var requiresLowDelayB: Bool

    /// The given limits.
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

/// How the pictures of a stream depend on each other, settled when the encoder opens.
///
/// Several temporal levels are either the pyramid itself, with an anchor a group, or, where nothing is reordered,
/// anchors each of which refers to lower levels alone.
public struct PictureStructure: Hashable, Sendable {
    /// Frames from one anchor (I or P picture) to the next: 1 without reordering, else 2, 4 or 8, with a pyramid of B
    /// pictures between the anchors.
    public var anchorDistance: Int
    /// Anchors that an anchor refers to, at most.
    public var anchorReferences: Int
    /// Frames from a key frame to the next, at most; 1 makes every picture one.
    public var keyFrameInterval: Int
    /// Whether key frames that were not forced are CRA pictures with leading pictures that refer across them.
    public var isOpenGOP: Bool
    /// Whether anchors are B pictures with two equal lists.
    public var isLowDelayB: Bool
    /// Pictures the encoder may work on at a time; a picture is waited for when so many were submitted.
    public var picturesInFlight: Int
    /// Temporal levels; the interval between key frames is then a multiple of `groupSize`.
    public var temporalLevels: Int

    /// Frames from a key frame to the next when nobody says otherwise; x265's default too.
    static let defaultKeyFrameInterval = 250
    /// The longest distance between anchors that is chosen.
    static let longestDistance = 4
    /// The same where temporal levels want it; more would not fit into the smallest buffer a level has.
    static let longestLevelledDistance = 8

    /// A structure by its parts; what contradicts an interval of 1 is dropped.
    public init(
        anchorDistance: Int = 1, anchorReferences: Int = 1, keyFrameInterval: Int = 250, isOpenGOP: Bool = false,
        isLowDelayB: Bool = false, picturesInFlight: Int = 1, temporalLevels: Int = 1
    ) {
        // Without references there is nothing to go across, and nothing to go back and forth between.
        self.anchorDistance = keyFrameInterval > 1 ? anchorDistance : 1
        self.anchorReferences = anchorReferences
        self.keyFrameInterval = keyFrameInterval
        self.isOpenGOP = isOpenGOP && self.anchorDistance > 1
        self.isLowDelayB = isLowDelayB
        self.picturesInFlight = picturesInFlight
        self.temporalLevels = keyFrameInterval > 1 ? temporalLevels : 1
    }

    /// The best structure that a session's properties and an encoder's limits allow.
    ///
    /// `MaxFrameDelayCount` bounds what is held: the frames that wait for their anchor, and the pictures in flight
    /// but one. Where the limits are too narrow for the session's temporal levels, there is one.
    public init(_ configuration: EncoderConfiguration, limits: ReferenceLimits) {
        let delay = configuration.realTime ? 0 : configuration.maxFrameDelay ?? .max
        picturesInFlight = delay > 0 ? 2 : 1
        keyFrameInterval = configuration.maxKeyFrameInterval ?? Self.defaultKeyFrameInterval
        isLowDelayB = limits.requiresLowDelayB
        let usable = isLowDelayB ? min(limits.list0, limits.list1) : limits.list0
        if usable < 1 || limits.total < 1 { keyFrameInterval = 1 }

        // Five references and the picture at hand fill the smallest decoded picture buffer a level has (A.4.2).
        let total = max(1, min(limits.total, 5))
        let longest = delay == .max ? .max : delay - (picturesInFlight - 1) + 1
        func fits(_ distance: Int) -> Bool { distance <= longest && Self.references(distance, 1) <= total }
        let mayReorder =
            configuration.allowFrameReordering && limits.allowsFuture && limits.list1 > 0 && keyFrameInterval > 1
        let group = configuration.temporalLevels.groupSize
        anchorDistance = 1
        temporalLevels = 1
        if group > 1, keyFrameInterval > 1 {
            if mayReorder, group <= Self.longestLevelledDistance, fits(group) { anchorDistance = group }
            if anchorDistance > 1 || Self.chainReferences(group) <= total {
                temporalLevels = configuration.temporalLevels.count
            }
        } else if mayReorder {
            anchorDistance = [Self.longestDistance, 2, 1].first(where: fits) ?? 1
        }
        anchorReferences = max(1, min(usable, anchorDistance > 1 || temporalLevels > 1 ? 2 : 3))
        while anchorReferences > 1, Self.references(anchorDistance, anchorReferences) > total {
            anchorReferences -= 1
        }
        isOpenGOP = configuration.allowOpenGOP && anchorDistance > 1
    }

    /// Frames from a picture of level 0 to the next.
    public var groupSize: Int { 1 << (temporalLevels - 1) }

    /// Whether there are temporal levels without reordering.
    public var isChain: Bool { temporalLevels > 1 && anchorDistance == 1 }

    /// Pictures that are kept as references at the same time, at most.
    public var maxReferences: Int { Self.references(self, groupSize) }

    /// sps_max_num_reorder_pics: the depth of the pyramid.
    public var reorderDepth: Int { anchorDistance.trailingZeroBitCount }

    /// sps_max_dec_pic_buffering_minus1: the references, and what waits to be shown (C.5.2).
    public var maxDecPicBufferingMinus1: Int { subLayers[temporalLevels - 1].maxDecPicBufferingMinus1 }

    /// What each temporal level needs together with those below it: what a structure of so many levels needs.
    public var subLayers: [SubLayerOrdering] {
        (0..<temporalLevels).map { level in
            guard keyFrameInterval > 1 else { return SubLayerOrdering() }
            let group = 1 << level
            let depth = isChain ? 0 : temporalLevels > 1 ? level : reorderDepth
            let references = Self.references(self, group)
            return SubLayerOrdering(
                maxDecPicBufferingMinus1: max(references, depth > 0 ? depth + 2 : 1), maxNumReorderPics: depth)
        }
    }

    /// References of a structure's part with such a group.
    private static func references(_ structure: PictureStructure, _ group: Int) -> Int {
        if structure.isChain { return max(chainReferences(group), 1) }
        let distance = structure.temporalLevels > 1 ? group : structure.anchorDistance
        return references(distance, structure.anchorReferences)
    }

    /// Pictures that a chain keeps at once: while a picture is coded, the one it refers to and those that later
    /// pictures of its group will.
    static func chainReferences(_ group: Int) -> Int {
        (1...group).map { chain(at: $0, group).count }.max() ?? 1
    }

    /// The places in a group that are kept while the picture at `place`, 1…group, is coded.
    static func chain(at place: Int, _ group: Int) -> Set<Int> {
        Set((place...group).map { $0 == group ? 0 : $0 & ($0 - 1) }.filter { $0 < place })
    }

    /// The anchors on both sides of a pyramid, or those an anchor refers to, and the pyramid's inner nodes.
    private static func references(_ distance: Int, _ anchors: Int) -> Int {
        guard distance > 1 else { return anchors }
        return max(2, anchors) + distance.trailingZeroBitCount - 1
    }
}
