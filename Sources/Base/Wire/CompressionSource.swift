// SPDX-License-Identifier: MIT

extension CreateCompressionSession {
    /// Frames that the session scales to the size of the coded pictures; org.hwdaemon.varlink documents the defaults of
    /// absent members.
    public struct Source: Codable, Hashable, Sendable {
        /// Width of the frames in samples.
        public var width: Int
        /// Height of the frames in samples.
        public var height: Int
        /// The part of the frames that every mode but `Normal` shows, `WxH+X+Y`.
        public var cleanAperture: String?
        /// `lanczos`, `bilinear`.
        public var scalingFilter: String?
        /// `coded`, `linear`: the values that are filtered.
        public var scalingLight: String?
        /// `Normal`, `CropSourceToCleanAperture`, `Letterbox`, `Trim`.
        public var scalingMode: String?

        public init(
            width: Int, height: Int, cleanAperture: String? = nil, scalingFilter: String? = nil,
            scalingLight: String? = nil, scalingMode: String? = nil
        ) {
            self.width = width
            self.height = height
            self.cleanAperture = cleanAperture
            self.scalingFilter = scalingFilter
            self.scalingLight = scalingLight
            self.scalingMode = scalingMode
        }

        enum CodingKeys: String, CodingKey, CaseIterable {
            case width, height
            case cleanAperture = "clean_aperture"
            case scalingFilter = "scaling_filter"
            case scalingLight = "scaling_light"
            case scalingMode = "scaling_mode"
        }
    }
}
