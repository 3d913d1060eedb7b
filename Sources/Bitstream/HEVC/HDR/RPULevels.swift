// SPDX-License-Identifier: MIT

// The fields of the extension blocks' levels. Unless stated otherwise a field has 12 bits.

/// Levels 1 and 3: PQ codes of the picture's max(R, G, B) (SMPTE ST 2094-10), or offsets to them.
public struct RPULight: Hashable, Sendable, RPUFields {
    public var min: Int
    public var max: Int
    public var average: Int

    public init(min: Int = 0, max: Int = 0, average: Int = 0) {
        self.min = min
        self.max = max
        self.average = average
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("min_pq", 12, &min)
        try c.u("max_pq", 12, &max)
        try c.u("avg_pq", 12, &average)
    }
}

/// Level 4: the anchor of a smoothed tone curve.
public struct RPUAnchor: Hashable, Sendable, RPUFields {
    public var anchorPQ: Int
    public var anchorPower: Int

    public init(anchorPQ: Int = 0, anchorPower: Int = 0) {
        self.anchorPQ = anchorPQ
        self.anchorPower = anchorPower
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("anchor_pq", 12, &anchorPQ)
        try c.u("anchor_power", 12, &anchorPower)
    }
}

/// Level 5: what letterboxing leaves out at each edge, in samples of 13 bits.
public struct RPUActiveArea: Hashable, Sendable, RPUFields {
    public var left: Int
    public var right: Int
    public var top: Int
    public var bottom: Int

    public init(left: Int = 0, right: Int = 0, top: Int = 0, bottom: Int = 0) {
        self.left = left
        self.right = right
        self.top = top
        self.bottom = bottom
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("active_area_left_offset", 13, &left)
        try c.u("active_area_right_offset", 13, &right)
        try c.u("active_area_top_offset", 13, &top)
        try c.u("active_area_bottom_offset", 13, &bottom)
    }
}

/// Level 6: the stream's static light levels, 16 bits each.
public struct RPUStaticLight: Hashable, Sendable, RPUFields {
    /// In cd/m².
    public var maxDisplayMasteringLuminance: Int
    /// In 0.0001 cd/m².
    public var minDisplayMasteringLuminance: Int
    /// In cd/m².
    public var maxContentLightLevel: Int
    /// In cd/m².
    public var maxFrameAverageLightLevel: Int

    public init(
        maxLuminance: Int, minLuminance: Int, maxContentLightLevel: Int = 0, maxFrameAverageLightLevel: Int = 0
    ) {
        maxDisplayMasteringLuminance = maxLuminance
        minDisplayMasteringLuminance = minLuminance
        self.maxContentLightLevel = maxContentLightLevel
        self.maxFrameAverageLightLevel = maxFrameAverageLightLevel
    }

    init() { self.init(maxLuminance: 0, minLuminance: 0) }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("max_display_mastering_luminance", 16, &maxDisplayMasteringLuminance)
        try c.u("min_display_mastering_luminance", 16, &minDisplayMasteringLuminance)
        try c.u("max_content_light_level", 16, &maxContentLightLevel)
        try c.u("max_frame_average_light_level", 16, &maxFrameAverageLightLevel)
    }
}

/// Level 11: the kind of content.
public struct RPUContentType: Hashable, Sendable, RPUFields {
    /// 8 bits; 1 cinema, 2 games, 3 sport, 4 user-generated.
    public var contentType: Int
    /// 8 bits; readers differ in how they divide it.
    public var whitePoint: Int
    /// 16 bits.
    public var reserved = 0

    public init(contentType: Int = 0, whitePoint: Int = 0) {
        self.contentType = contentType
        self.whitePoint = whitePoint
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("content_type", 8, &contentType)
        try c.u("intended_white_point", 8, &whitePoint)
        try c.u("reserved", 16, &reserved)
    }
}

/// Level 254: the version of content mapping; 0 and 2 are version 4.0.
public struct RPUVersion: Hashable, Sendable, RPUFields {
    /// 8 bits.
    public var dmMode = 0
    /// 8 bits.
    public var dmVersionIndex = 2

    public init() {}

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("dm_mode", 8, &dmMode)
        try c.u("dm_version_index", 8, &dmVersionIndex)
    }
}
