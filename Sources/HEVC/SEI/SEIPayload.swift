// SPDX-License-Identifier: GPL-2.0-or-later

/// A point of the CIE 1931 diagram, in units of 0.00002.
public struct Chromaticity: Hashable, Sendable {
    /// x × 50,000.
    public var x: Int
    /// y × 50,000.
    public var y: Int

    /// A point.
    public init(x: Int = 0, y: Int = 0) {
        self.x = x
        self.y = y
    }
}

/// `mastering_display_colour_volume()`, payload type 137 (D.2.28).
public struct MasteringDisplayColourVolume: Hashable, Sendable {
    /// `display_primaries`, three; by the semantics' advice green, blue, red.
    public var displayPrimaries = [Chromaticity](repeating: Chromaticity(), count: 3)
    /// `white_point`.
    public var whitePoint = Chromaticity()
    /// `max_display_mastering_luminance`, in units of 0.0001 cd/m².
    public var maxDisplayMasteringLuminance = 0
    /// `min_display_mastering_luminance`, in units of 0.0001 cd/m².
    public var minDisplayMasteringLuminance = 0

    /// All zeros.
    public init() {}
}

/// `content_light_level_info()`, payload type 144 (D.2.35).
public struct ContentLightLevelInfo: Hashable, Sendable {
    /// `max_content_light_level` in cd/m²; 0 sets no bound.
    public var maxContentLightLevel = 0
    /// `max_pic_average_light_level` in cd/m²; 0 sets no bound.
    public var maxPicAverageLightLevel = 0

    /// No bounds, or the given ones.
    public init(maxContentLightLevel: Int = 0, maxPicAverageLightLevel: Int = 0) {
        self.maxContentLightLevel = maxContentLightLevel
        self.maxPicAverageLightLevel = maxPicAverageLightLevel
    }
}

/// `alpha_channel_info()`, payload type 165 (F.14.2).
public struct AlphaChannelInfo: Hashable, Sendable {
    /// `alpha_channel_use_idc`: 0 straight, 1 premultiplied, 2 unspecified use.
    public var alphaChannelUseIdc = 0
    /// `alpha_channel_bit_depth_minus8`, 0…7.
    public var alphaChannelBitDepthMinus8 = 0
    /// `alpha_transparent_value`.
    public var alphaTransparentValue = 0
    /// `alpha_opaque_value`.
    public var alphaOpaqueValue = 255
    /// `alpha_channel_incr_flag`.
    public var alphaChannelIncrFlag = false
    /// `alpha_channel_clip_type_flag`; nil when `alpha_channel_clip_flag` is 0.
    public var alphaChannelClipTypeFlag: Bool?

    /// Straight alpha of 8 bits, 0 transparent and 255 opaque; or another use.
    public init(alphaChannelUseIdc: Int = 0) {
        self.alphaChannelUseIdc = alphaChannelUseIdc
    }
}

/// `decoded_picture_hash()`, payload type 132 (D.2.19).
public struct DecodedPictureHash: Hashable, Sendable {
    /// `hash_type`: 0 MD5 (16 bytes a plane), 1 CRC (2), 2 checksum (4).
    public var hashType: Int
    /// The hash of each plane, one or three.
    public var planes: [[UInt8]]

    /// The hashes of one or three planes.
    public init(hashType: Int, planes: [[UInt8]]) {
        self.hashType = hashType
        self.planes = planes
    }
}

/// The payloads this module interprets.
public enum SEIPayload: Hashable, Sendable {
    /// Type 5: `uuid_iso_iec_11578` (16 bytes) and what follows it.
    case userDataUnregistered(uuid: [UInt8], data: [UInt8])
    /// Type 132.
    case decodedPictureHash(DecodedPictureHash)
    /// Type 137.
    case masteringDisplayColourVolume(MasteringDisplayColourVolume)
    /// Type 144.
    case contentLightLevelInfo(ContentLightLevelInfo)
    /// Type 147: `preferred_transfer_characteristics`, a code point of H.273.
    case alternativeTransferCharacteristics(Int)
    /// Type 165; nil when `alpha_channel_cancel_flag` is 1.
    case alphaChannelInfo(AlphaChannelInfo?)
    /// Any other type.
    case other(SEIMessage)
}
