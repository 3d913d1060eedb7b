// SPDX-License-Identifier: MIT

/// HDR10+: `user_data_registered_itu_t_t35()` with SMPTE ST 2094-40's metadata, application 4, version 1.
///
/// Light is in units of 0.1 cd/m² unless stated otherwise.
public struct HDR10PlusMetadata: Hashable, Sendable, CodedSyntax {
    /// `application_version`, 8 bits.
    public var applicationVersion = 1
    /// The areas of windows 2 and 3, up to two; window 1 is the whole picture.
    public var windows: [Window] = []
    /// `targeted_system_display_maximum_luminance`, 27 bits, in cd/m².
    public var targetMaxLuminance = 0
    /// Rows of `targeted_system_display_actual_peak_luminance`, 2…25 by 2…25 of 4 bits; nil without.
    public var targetPeaks: [[Int]]?
    /// The light of each window; one more than `windows`.
    public var light = [Light()]
    /// Rows of `mastering_display_actual_peak_luminance`, as `targetPeaks`.
    public var masteringPeaks: [[Int]]?
    /// The tone curve of each window; one more than `windows`.
    public var tones = [Tone()]
    /// Bytes after the syntax, not interpreted.
    public var remainder: [UInt8] = []

    /// The bytes that such a payload starts with: United States, its provider codes, application 4.
    public static let identifier: [UInt8] = [0xB5, 0x00, 0x3C, 0x00, 0x01, 0x04]

    public init() {}

    /// A window that is smaller than the picture.
    public struct Window: Hashable, Sendable {
        /// Left, top, right and bottom in samples, 16 bits each.
        public var corners = [0, 0, 0, 0]
        /// x and y of the ellipse's center in samples, 16 bits each.
        public var center = [0, 0]
        /// In degrees, 8 bits.
        public var rotationAngle = 0
        /// Semi-major axes of the inner and outer ellipse, semi-minor axis of the outer, in samples, 16 bits each.
        public var axes = [0, 0, 0]
        public var overlapProcessOption = false
        public init() {}
    }

    /// The light of a window.
    public struct Light: Hashable, Sendable {
        /// `maxscl`: the greatest R, G and B, 17 bits each.
        public var maxSCL = [0, 0, 0]
        /// `average_maxrgb`, 17 bits.
        public var averageMaxRGB = 0
        /// Percentages (7 bits) and values of max(R, G, B) (17 bits), up to 15.
        public var distribution: [Percentile] = []
        /// `fraction_bright_pixels`, 10 bits.
        public var fractionBrightPixels = 0
        public init() {}
    }

    /// A point of a distribution.
    public struct Percentile: Hashable, Sendable {
        public var percentage = 0
        public var value = 0
        public init() {}
    }

    /// The tone curve of a window.
    public struct Tone: Hashable, Sendable {
        /// Nil when `tone_mapping_flag` is 0.
        public var curve: Curve?
        /// 6 bits; nil when `color_saturation_mapping_flag` is 0.
        public var saturationWeight: Int?
        public init() {}
    }

    /// A Bézier curve above a knee.
    public struct Curve: Hashable, Sendable {
        /// x and y, 12 bits each.
        public var kneePoint = [0, 0]
        /// `bezier_curve_anchors`, up to 15 of 10 bits.
        public var anchors: [Int] = []
        public init() {}
    }
}

extension HDR10PlusMetadata {
    /// Parses the payload of SEI type 4, from its country code on.
    public init(payload: [UInt8]) throws(BitstreamError) {
        guard payload.starts(with: Self.identifier) else {
            throw BitstreamError(.malformed, "the registered user data are not HDR10+")
        }
        guard payload.count <= DolbyVisionRPU.maxSize else {
            throw BitstreamError(.outOfRange, "HDR10+ metadata of \(payload.count) bytes exceed the limit")
        }
        var reader = BitReader(Array(payload.dropFirst(Self.identifier.count)))
        try code(&reader)
        remainder = try reader.readRaw(reader.bitsLeft).bytes
    }

    /// The payload of SEI type 4; throws when a value does not fit.
    public func payload() throws(BitstreamError) -> [UInt8] {
        try Self.identifier + coded() + remainder
    }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("application_version", 8, &applicationVersion)
        var count = windows.count + 1
        try c.u("num_windows", 2, &count, 1...3)
        try c.size("windows", &windows, count - 1, Window())
        for index in windows.indices { try windows[index].code(&c) }
        try c.u("targeted_system_display_maximum_luminance", 27, &targetMaxLuminance)
        try Self.codePeaks(&c, &targetPeaks)
        try c.size("maxscl", &light, count, Light())
        for index in light.indices { try light[index].code(&c) }
        try Self.codePeaks(&c, &masteringPeaks)
        try c.size("tone_mapping", &tones, count, Tone())
        for index in tones.indices { try tones[index].code(&c) }
        try c.zerosToByteBoundary("alignment_zero_bit")
    }

    private static func codePeaks(_ c: inout some SyntaxCoder, _ peaks: inout [[Int]]?) throws(BitstreamError) {
        try c.presence("actual_peak_luminance_flag", &peaks, [])
        guard var rows = peaks else { return }
        var (height, width) = (rows.count, rows.first?.count ?? 0)
        try c.u("num_rows_actual_peak_luminance", 5, &height, 2...25)
        try c.u("num_cols_actual_peak_luminance", 5, &width, 2...25)
        try c.size("actual_peak_luminance", &rows, height, [])
        for row in rows.indices {
            try c.size("actual_peak_luminance", &rows[row], width, 0)
            for column in 0..<width { try c.u("actual_peak_luminance", 4, &rows[row][column]) }
        }
        peaks = rows
    }
}

extension HDR10PlusMetadata {
    /// The metadata of a picture that was scaled by these factors: windows 2 and 3 are in samples, all else is light.
    public func scaled(horizontal: Double, vertical: Double) -> HDR10PlusMetadata {
        var copy = self
        // The angle of an ellipse whose axes are scaled by two factors would change; real factors differ by rounding alone.
        let mean = (horizontal * vertical).squareRoot()
        for index in copy.windows.indices {
            copy.windows[index].corners = Self.scaled(windows[index].corners, [horizontal, vertical])
            copy.windows[index].center = Self.scaled(windows[index].center, [horizontal, vertical])
            copy.windows[index].axes = Self.scaled(windows[index].axes, [mean])
        }
        return copy
    }

    /// Values of 16 bits, multiplied by the factors in turn.
    private static func scaled(_ values: [Int], _ factors: [Double]) -> [Int] {
        values.enumerated().map { index, value in
            let result = Double(value) * factors[index % factors.count]
            return result.isFinite ? Int(min(65_535, max(0, result.rounded()))) : 0
        }
    }
}

extension HDR10PlusMetadata.Window {
    fileprivate mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.size("window corners", &corners, 4, 0)
        for index in 0..<4 { try c.u("window_corner", 16, &corners[index]) }
        try c.size("center_of_ellipse", &center, 2, 0)
        for index in 0..<2 { try c.u("center_of_ellipse", 16, &center[index]) }
        try c.u("rotation_angle", 8, &rotationAngle)
        try c.size("semi axes", &axes, 3, 0)
        for index in 0..<3 { try c.u("semi_axis_ellipse", 16, &axes[index]) }
        try c.flag("overlap_process_option", &overlapProcessOption)
    }
}

extension HDR10PlusMetadata.Light {
    fileprivate mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.size("maxscl", &maxSCL, 3, 0)
        for index in 0..<3 { try c.u("maxscl", 17, &maxSCL[index]) }
        try c.u("average_maxrgb", 17, &averageMaxRGB)
        var count = distribution.count
        try c.u("num_distribution_maxrgb_percentiles", 4, &count)
        try c.size("distribution_maxrgb", &distribution, count, HDR10PlusMetadata.Percentile())
        for index in distribution.indices {
            try c.u("distribution_maxrgb_percentages", 7, &distribution[index].percentage)
            try c.u("distribution_maxrgb_percentiles", 17, &distribution[index].value)
        }
        try c.u("fraction_bright_pixels", 10, &fractionBrightPixels)
    }
}

extension HDR10PlusMetadata.Tone {
    fileprivate mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.presence("tone_mapping_flag", &curve, HDR10PlusMetadata.Curve())
        if var value = curve {
            try c.size("knee_point", &value.kneePoint, 2, 0)
            for index in 0..<2 { try c.u("knee_point", 12, &value.kneePoint[index]) }
            var count = value.anchors.count
            try c.u("num_bezier_curve_anchors", 4, &count)
            try c.size("bezier_curve_anchors", &value.anchors, count, 0)
            for index in value.anchors.indices { try c.u("bezier_curve_anchors", 10, &value.anchors[index]) }
            curve = value
        }
        try c.presence("color_saturation_mapping_flag", &saturationWeight, 0)
        if var weight = saturationWeight {
            try c.u("color_saturation_weight", 6, &weight)
            saturationWeight = weight
        }
    }
}
