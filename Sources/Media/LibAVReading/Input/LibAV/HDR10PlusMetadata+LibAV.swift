// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC

extension HDR10PlusMetadata {
    /// The metadata as libavcodec parsed them (hdr_dynamic_metadata.h); each value is a code over a constant.
    init(_ parsed: AVDynamicHDRPlus) {
        self.init()
        let windowCount = min(max(Int(parsed.num_windows), 1), 3)
        let parameters = Self.list(parsed.params, of: AVHDRPlusColorTransformParams.self).prefix(windowCount)
        applicationVersion = Int(parsed.application_version)
        targetMaxLuminance = Self.code(parsed.targeted_system_display_maximum_luminance, 1)
        windows = parameters.dropFirst().map(Window.init)
        light = parameters.map(Light.init)
        tones = parameters.map(Tone.init)
        if parsed.targeted_system_display_actual_peak_luminance_flag != 0 {
            targetPeaks = Self.rows(
                parsed.targeted_system_display_actual_peak_luminance,
                Int(parsed.num_rows_targeted_system_display_actual_peak_luminance),
                Int(parsed.num_cols_targeted_system_display_actual_peak_luminance))
        }
        if parsed.mastering_display_actual_peak_luminance_flag != 0 {
            masteringPeaks = Self.rows(
                parsed.mastering_display_actual_peak_luminance,
                Int(parsed.num_rows_mastering_display_actual_peak_luminance),
                Int(parsed.num_cols_mastering_display_actual_peak_luminance))
        }
    }

    /// The elements of a C array, which Swift imports as a tuple.
    fileprivate static func list<Tuple: BitwiseCopyable, Element: BitwiseCopyable>(
        _ array: Tuple, of _: Element.Type
    ) -> [Element] {
        withUnsafeBytes(of: array) { Array($0.bindMemory(to: Element.self)) }
    }

    /// The code of a value in units of 1 / `scale`; −1, which no field holds, where it is not a number.
    fileprivate static func code(_ value: AVRational, _ scale: Double) -> Int {
        let number = Double(value.num) / Double(value.den) * scale
        return number.isFinite && abs(number) < 1e9 ? Int(number.rounded()) : -1
    }

    private static func rows(_ array: some BitwiseCopyable, _ height: Int, _ width: Int) -> [[Int]] {
        let values = list(array, of: AVRational.self)
        guard height <= 25, width <= 25, values.count == 25 * 25 else { return [] }
        return (0..<height).map { row in (0..<width).map { code(values[25 * row + $0], 15) } }
    }
}

extension HDR10PlusMetadata.Window {
    fileprivate init(_ parsed: AVHDRPlusColorTransformParams) {
        self.init()
        corners = [
            parsed.window_upper_left_corner_x, parsed.window_upper_left_corner_y,
            parsed.window_lower_right_corner_x, parsed.window_lower_right_corner_y,
        ].map { HDR10PlusMetadata.code($0, 1) }
        center = [Int(parsed.center_of_ellipse_x), Int(parsed.center_of_ellipse_y)]
        rotationAngle = Int(parsed.rotation_angle)
        axes = [
            Int(parsed.semimajor_axis_internal_ellipse), Int(parsed.semimajor_axis_external_ellipse),
            Int(parsed.semiminor_axis_external_ellipse),
        ]
        overlapProcessOption = parsed.overlap_process_option == AV_HDR_PLUS_OVERLAP_PROCESS_LAYERING
    }
}

extension HDR10PlusMetadata.Light {
    fileprivate init(_ parsed: AVHDRPlusColorTransformParams) {
        self.init()
        maxSCL = HDR10PlusMetadata.list(parsed.maxscl, of: AVRational.self).map {
            HDR10PlusMetadata.code($0, 100_000)
        }
        averageMaxRGB = HDR10PlusMetadata.code(parsed.average_maxrgb, 100_000)
        let points = HDR10PlusMetadata.list(parsed.distribution_maxrgb, of: AVHDRPlusPercentile.self)
        distribution = points.prefix(Int(parsed.num_distribution_maxrgb_percentiles)).map { point in
            var percentile = HDR10PlusMetadata.Percentile()
            percentile.percentage = Int(point.percentage)
            percentile.value = HDR10PlusMetadata.code(point.percentile, 100_000)
            return percentile
        }
        fractionBrightPixels = HDR10PlusMetadata.code(parsed.fraction_bright_pixels, 1000)
    }
}

extension HDR10PlusMetadata.Tone {
    fileprivate init(_ parsed: AVHDRPlusColorTransformParams) {
        self.init()
        if parsed.tone_mapping_flag != 0 {
            var value = HDR10PlusMetadata.Curve()
            value.kneePoint = [parsed.knee_point_x, parsed.knee_point_y].map { HDR10PlusMetadata.code($0, 4095) }
            value.anchors = HDR10PlusMetadata.list(parsed.bezier_curve_anchors, of: AVRational.self)
                .prefix(Int(parsed.num_bezier_curve_anchors)).map { HDR10PlusMetadata.code($0, 1023) }
            curve = value
        }
        if parsed.color_saturation_mapping_flag != 0 {
            saturationWeight = HDR10PlusMetadata.code(parsed.color_saturation_weight, 8)
        }
    }
}
