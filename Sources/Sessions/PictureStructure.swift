// SPDX-License-Identifier: GPL-2.0-or-later

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

    /// Frames from a key frame to the next when nobody says otherwise; x265's default too.
    static let defaultKeyFrameInterval = 250
    /// The longest distance between anchors that is chosen.
    static let longestDistance = 4

    /// A structure by its parts; what contradicts an interval of 1 is dropped.
    public init(
        anchorDistance: Int = 1, anchorReferences: Int = 1, keyFrameInterval: Int = 250, isOpenGOP: Bool = false,
        isLowDelayB: Bool = false, picturesInFlight: Int = 1
    ) {
        // Without references there is nothing to go across, and nothing to go back and forth between.
        self.anchorDistance = keyFrameInterval > 1 ? anchorDistance : 1
        self.anchorReferences = anchorReferences
        self.keyFrameInterval = keyFrameInterval
        self.isOpenGOP = isOpenGOP && self.anchorDistance > 1
        self.isLowDelayB = isLowDelayB
        self.picturesInFlight = picturesInFlight
    }

    /// The best structure that a session's properties and an encoder's limits allow.
    ///
    /// `MaxFrameDelayCount` bounds what is held: the frames that wait for their anchor, and the pictures in flight
    /// but one.
    public init(_ configuration: EncoderConfiguration, limits: ReferenceLimits) {
        let delay = configuration.realTime ? 0 : configuration.maxFrameDelay ?? .max
        picturesInFlight = delay > 0 ? 2 : 1
        keyFrameInterval = configuration.maxKeyFrameInterval ?? Self.defaultKeyFrameInterval
        isLowDelayB = limits.requiresLowDelayB
        let usable = isLowDelayB ? min(limits.list0, limits.list1) : limits.list0
        if usable < 1 || limits.total < 1 { keyFrameInterval = 1 }

        // Five references and the picture at hand fill the smallest decoded picture buffer a level has (A.4.2).
        let total = max(1, min(limits.total, 5))
        anchorDistance = 1
        if configuration.allowFrameReordering, limits.allowsFuture, limits.list1 > 0, keyFrameInterval > 1 {
            var distance = Self.longestDistance
            while distance > 1,
                distance - 1 > delay - (picturesInFlight - 1) || Self.references(distance, 1) > total
            {
                distance /= 2
            }
            anchorDistance = distance
        }
        anchorReferences = max(1, min(usable, anchorDistance > 1 ? 2 : 3))
        while anchorReferences > 1, Self.references(anchorDistance, anchorReferences) > total {
            anchorReferences -= 1
        }
        isOpenGOP = configuration.allowOpenGOP && anchorDistance > 1
    }

    /// Pictures that are kept as references at the same time, at most.
    public var maxReferences: Int { Self.references(anchorDistance, anchorReferences) }

    /// sps_max_num_reorder_pics: the depth of the pyramid.
    public var reorderDepth: Int { anchorDistance.trailingZeroBitCount }

    /// sps_max_dec_pic_buffering_minus1: the references, and what waits to be shown (C.5.2).
    public var maxDecPicBufferingMinus1: Int {
        keyFrameInterval == 1 ? 0 : max(maxReferences, anchorDistance > 1 ? reorderDepth + 2 : 1)
    }

    /// The anchors on both sides of a pyramid, or those an anchor refers to, and the pyramid's inner nodes.
    private static func references(_ distance: Int, _ anchors: Int) -> Int {
        guard distance > 1 else { return anchors }
        return max(2, anchors) + distance.trailingZeroBitCount - 1
    }
}
