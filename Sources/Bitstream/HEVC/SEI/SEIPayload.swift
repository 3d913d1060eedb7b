// SPDX-License-Identifier: MIT

/// A point of the CIE 1931 diagram, in units of 0.00002.
public struct Chromaticity: Hashable, Sendable {
    /// x × 50,000.
    public var x: Int
    /// y × 50,000.
    public var y: Int

    public init(x: Int = 0, y: Int = 0) {
        self.x = x
        self.y = y
    }
}

/// `mastering_display_colour_volume()`, payload type 137 (D.2.28).
public struct MasteringDisplayColourVolume: Hashable, Sendable {
    /// Three, in the order green, blue, red that D.3.28 suggests.
    public var displayPrimaries = [Chromaticity](repeating: Chromaticity(), count: 3)
    public var whitePoint = Chromaticity()
    /// In units of 0.0001 cd/m².
    public var maxDisplayMasteringLuminance = 0
    /// In units of 0.0001 cd/m².
    public var minDisplayMasteringLuminance = 0

    public init() {}
}

/// `content_light_level_info()`, payload type 144 (D.2.35).
public struct ContentLightLevelInfo: Hashable, Sendable {
    /// In cd/m²; 0 sets no bound.
    public var maxContentLightLevel = 0
    /// In cd/m²; 0 sets no bound.
    public var maxPicAverageLightLevel = 0

    public init(maxContentLightLevel: Int = 0, maxPicAverageLightLevel: Int = 0) {
        self.maxContentLightLevel = maxContentLightLevel
        self.maxPicAverageLightLevel = maxPicAverageLightLevel
    }
}

/// `ambient_viewing_environment()`, payload type 148 (D.2.39).
public struct AmbientViewingEnvironment: Hashable, Sendable {
    /// In units of 0.0001 lux, above 0.
    public var ambientIlluminance: Int
    /// The light's chromaticity.
    public var ambientLight: Chromaticity

    /// 314 lux of D65, what an iPhone writes.
    public init(ambientIlluminance: Int = 3_140_000, ambientLight: Chromaticity = Chromaticity(x: 15635, y: 16450))
    {
        self.ambientIlluminance = ambientIlluminance
        self.ambientLight = ambientLight
    }
}

/// `alpha_channel_info()`, payload type 165 (F.14.2).
public struct AlphaChannelInfo: Hashable, Sendable {
    /// 0 straight, 1 premultiplied, 2 unspecified use.
    public var alphaChannelUseIdc = 0
    /// 0…7.
    public var alphaChannelBitDepthMinus8 = 0
    /// The decoded value that is transparent, of `alphaChannelBitDepthMinus8` + 9 bits.
    public var alphaTransparentValue = 0
    /// The decoded value that is opaque, of `alphaChannelBitDepthMinus8` + 9 bits.
    public var alphaOpaqueValue = 255
    /// True when 1 is added to decoded values above the lower of the two.
    public var alphaChannelIncrFlag = false
    /// True to clip to the two values, false to round to the nearer; nil when `alpha_channel_clip_flag` is 0.
    public var alphaChannelClipTypeFlag: Bool?

    /// 8-bit alpha, 0 transparent and 255 opaque; straight by default.
    public init(alphaChannelUseIdc: Int = 0) {
        self.alphaChannelUseIdc = alphaChannelUseIdc
    }
}

/// `decoded_picture_hash()`, payload type 132 (D.2.19).
public struct DecodedPictureHash: Hashable, Sendable {
    /// 0 MD5 (16 bytes a plane), 1 CRC (2), 2 checksum (4).
    public var hashType: Int
    /// One or three hashes, one for each plane.
    public var planes: [[UInt8]]

    public init(hashType: Int, planes: [[UInt8]]) {
        self.hashType = hashType
        self.planes = planes
    }
}

/// The payloads this module interprets.
public enum SEIPayload: Hashable, Sendable {
    /// Type 4 with the identification of SMPTE ST 2094-40.
    case hdr10Plus(HDR10PlusMetadata)
    /// Type 4 with the identification of ATSC A/53's closed captions.
    case closedCaptions(ClosedCaptions)
    /// Type 5: `uuid_iso_iec_11578` (16 bytes) and the data after it.
    case userDataUnregistered(uuid: [UInt8], data: [UInt8])
    /// Type 132.
    case decodedPictureHash(DecodedPictureHash)
    /// Type 137.
    case masteringDisplayColourVolume(MasteringDisplayColourVolume)
    /// Type 144.
    case contentLightLevelInfo(ContentLightLevelInfo)
    /// Type 147: `preferred_transfer_characteristics`, a code point of H.273.
    case alternativeTransferCharacteristics(Int)
    /// Type 148.
    case ambientViewingEnvironment(AmbientViewingEnvironment)
    /// Type 165; nil when `alpha_channel_cancel_flag` is 1.
    case alphaChannelInfo(AlphaChannelInfo?)
    /// Any other type.
    case other(SEIMessage)
}
