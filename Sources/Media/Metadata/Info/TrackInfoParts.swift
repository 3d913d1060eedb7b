// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
internal import HWDHEVC
internal import HWDModel

/// A clean aperture in samples.
public struct CleanApertureInfo: Hashable, Sendable, Encodable {
    /// Width in samples.
    public var width: Double
    /// Height in rows.
    public var height: Double
    /// Distance of its center from the picture's; positive is to the right.
    public var horizontalOffset: Double
    /// Distance of its center from the picture's; positive is down.
    public var verticalOffset: Double

    enum CodingKeys: String, CodingKey {
        case width, height
        case horizontalOffset = "horizontal_offset"
        case verticalOffset = "vertical_offset"
    }

    package init(_ aperture: CleanAperture) {
        width = aperture.width.value
        height = aperture.height.value
        horizontalOffset = aperture.horizontalOffset.value
        verticalOffset = aperture.verticalOffset.value
    }
}

/// Color with libavutil's names of H.273's code points.
public struct ColorInfo: Hashable, Sendable, Encodable {
    /// A code point and its name.
    public struct CodePoint: Hashable, Sendable, Encodable {
        /// The code point in H.273.
        public var code: Int
        /// libavutil's name; `unknown` for 2.
        public var name: String

        /// A code point with its name.
        package init(code: Int, name: String) { (self.code, self.name) = (code, name) }
    }

    /// `colour_primaries`.
    public var primaries: CodePoint
    /// `transfer_characteristics`.
    public var transfer: CodePoint
    /// `matrix_coefficients`.
    public var matrix: CodePoint
    /// `video` or `full`.
    public var range: String
    /// `chroma_sample_loc_type`; nil when not known.
    public var chromaLocation: Int?

    enum CodingKeys: String, CodingKey {
        case primaries, transfer, matrix, range
        case chromaLocation = "chroma_location"
    }

    /// A color with the names of its code points.
    package init(
        primaries: CodePoint, transfer: CodePoint, matrix: CodePoint, range: String, chromaLocation: Int?
    ) {
        (self.primaries, self.transfer, self.matrix) = (primaries, transfer, matrix)
        (self.range, self.chromaLocation) = (range, chromaLocation)
    }
}

/// Mastering display color volume (H.265 D.3.28): CIE 1931 coordinates and cd/m².
public struct MasteringDisplayInfo: Hashable, Sendable, Encodable {
    /// x and y of red.
    public var red: [Double]
    /// x and y of green.
    public var green: [Double]
    /// x and y of blue.
    public var blue: [Double]
    /// x and y of white.
    public var white: [Double]
    /// Maximum luminance in cd/m².
    public var maxLuminance: Double
    /// Minimum luminance in cd/m².
    public var minLuminance: Double

    enum CodingKeys: String, CodingKey {
        case red, green, blue, white
        case maxLuminance = "max_luminance"
        case minLuminance = "min_luminance"
    }

    /// Parses the 24 bytes of `mdcv`; nil for other lengths.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == VideoTrackBoxes.masteringDisplaySize,
            case .masteringDisplayColourVolume(let volume)? = try? SEIMessage(
                payloadType: SEIPayloadType.masteringDisplay, payload: bytes
            )
            .interpreted()
        else { return nil }
        func point(_ point: Chromaticity) -> [Double] { [Double(point.x) / 50_000, Double(point.y) / 50_000] }
        (green, blue, red) = (
            point(volume.displayPrimaries[0]), point(volume.displayPrimaries[1]), point(volume.displayPrimaries[2])
        )
        white = point(volume.whitePoint)
        maxLuminance = Double(volume.maxDisplayMasteringLuminance) / 10_000
        minLuminance = Double(volume.minDisplayMasteringLuminance) / 10_000
    }
}

/// Content light levels (H.265 D.3.35) in cd/m².
public struct ContentLightInfo: Hashable, Sendable, Encodable {
    /// `max_content_light_level` (MaxCLL).
    public var maxContent: Int
    /// `max_pic_average_light_level` (MaxFALL).
    public var maxFrameAverage: Int

    enum CodingKeys: String, CodingKey {
        case maxContent = "max_content"
        case maxFrameAverage = "max_frame_average"
    }

    /// Parses the 4 bytes of `clli`; nil for other lengths.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == VideoTrackBoxes.contentLightSize,
            case .contentLightLevelInfo(let level)? = try? SEIMessage(
                payloadType: SEIPayloadType.contentLight, payload: bytes
            )
            .interpreted()
        else { return nil }
        maxContent = level.maxContentLightLevel
        maxFrameAverage = level.maxPicAverageLightLevel
    }
}
