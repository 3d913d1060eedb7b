// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.sin
public import HWDModel

/// How pictures are scaled, cropped and mirrored where source and target differ in size or part.
public struct ScalingOptions: Hashable, Sendable {
    /// The filter, widened by the factor of a reduction.
    public enum Filter: String, CaseIterable, Hashable, Sendable {
        /// The windowed sinc of three lobes.
        case lanczos
        /// A tent.
        case bilinear
    }

    /// The values that are filtered.
    public enum Light: String, CaseIterable, Hashable, Sendable {
        /// Codes, each plane on its own.
        case coded
        /// Light, after conversion to RGB at the source's size.
        case linear
    }

    /// Which part of the source becomes which part of the target, by the names of `kVTScalingMode`.
    public enum Mode: String, CaseIterable, Hashable, Sendable {
        /// The whole source becomes the whole target.
        case normal = "Normal"
        /// The source's clean aperture becomes the whole target.
        case cropSourceToCleanAperture = "CropSourceToCleanAperture"
        /// The clean aperture, in its proportions, fits into the target; the rest is black.
        case letterbox = "Letterbox"
        /// The clean aperture, in its proportions, fills the target; what exceeds it is cut off.
        case trim = "Trim"
    }

    /// The filter.
    public var filter: Filter
    /// The values that are filtered.
    public var light: Light
    /// The parts of source and target.
    public var mode: Mode
    /// The source's clean aperture in luma samples; nil is the whole picture.
    public var cleanAperture: PictureRectangle?
    /// Whether the target's columns are in reverse order.
    public var flipsHorizontally: Bool
    /// Whether the target's rows are in reverse order.
    public var flipsVertically: Bool

    /// Creates options; omitted ones have their defaults.
    public init(
        filter: Filter = .lanczos, light: Light = .coded, mode: Mode = .normal,
        cleanAperture: PictureRectangle? = nil, flipsHorizontally: Bool = false, flipsVertically: Bool = false
    ) {
        self.filter = filter
        self.light = light
        self.mode = mode
        self.cleanAperture = cleanAperture
        self.flipsHorizontally = flipsHorizontally
        self.flipsVertically = flipsVertically
    }
}

extension ScalingOptions {
    /// Options by their names in a Create call; absent ones have their defaults.
    ///
    /// - Parameter object: the call's member that has the names.
    /// - Throws: `Parameter`, with the member and the known names.
    public init(
        filter: String?, light: String?, mode: String?, cleanAperture: PictureRectangle?, of object: String
    ) throws(SessionError) {
        self.init(cleanAperture: cleanAperture)
        self.filter = try Filter(named: filter, "\(object).scaling_filter", else: self.filter)
        self.light = try Light(named: light, "\(object).scaling_light", else: self.light)
        self.mode = try Mode(named: mode, "\(object).scaling_mode", else: self.mode)
    }
}

extension ScalingOptions.Filter {
    /// Half the filter's width, in samples of the coarser picture.
    var support: Double { self == .lanczos ? 3 : 1 }

    /// The weight at a distance, not normalized.
    func weight(_ x: Double) -> Double {
        switch self {
        case .bilinear: return max(0, 1 - abs(x))
        case .lanczos:
            guard abs(x) < 3 else { return 0 }
            guard abs(x) > 1e-9 else { return 1 }
            let angle = Double.pi * x
            return 3 * sin(angle) * sin(angle / 3) / (angle * angle)
        }
    }
}
