// SPDX-License-Identifier: MIT

/// `DOVIDecoderConfigurationRecord`: what a container says of a Dolby Vision stream ("Dolby Vision Streams Within the ISO
/// Base Media File Format" 2.1, 3.2).
public struct DolbyVisionConfiguration: Hashable, Sendable, CodedSyntax {
    /// 8 bits.
    public var versionMajor = 1
    /// 8 bits.
    public var versionMinor = 0
    /// 7 bits.
    public var profile: Int
    /// 6 bits; see `level(width:height:frameRate:)`.
    public var level: Int
    public var hasRPU = true
    public var hasEnhancementLayer = false
    public var hasBaseLayer = true
    /// `dv_bl_signal_compatibility_id`, 4 bits: 0 none, 1 HDR10, 2 SDR, 4 HLG, 6 Ultra HD Blu-ray.
    public var compatibilityID: Int
    /// `dv_md_compression`, 2 bits; reserved in older versions.
    public var metadataCompression = 0

    /// The bytes of a record.
    public static let size = 24

    public init(profile: Int, level: Int, compatibilityID: Int) {
        self.profile = profile
        self.level = level
        self.compatibilityID = compatibilityID
    }

    /// Reads a record of at least 5 bytes; what is reserved is ignored.
    public init(bytes: [UInt8]) throws(BitstreamError) {
        self.init(profile: 0, level: 0, compatibilityID: 0)
        var reader = BitReader(bytes)
        try code(&reader)
    }

    /// The 24 bytes; throws `outOfRange`.
    public func bytes() throws(BitstreamError) -> [UInt8] {
        let bytes = try coded()
        return bytes + [UInt8](repeating: 0, count: Self.size - bytes.count)
    }

    /// The profile with its compatibility, such as 8.4.
    public var profileName: String { profile == 8 ? "8.\(compatibilityID)" : "\(profile)" }

    mutating func code(_ c: inout some SyntaxCoder) throws(BitstreamError) {
        try c.u("dv_version_major", 8, &versionMajor)
        try c.u("dv_version_minor", 8, &versionMinor)
        try c.u("dv_profile", 7, &profile)
        try c.u("dv_level", 6, &level)
        try c.flag("rpu_present_flag", &hasRPU)
        try c.flag("el_present_flag", &hasEnhancementLayer)
        try c.flag("bl_present_flag", &hasBaseLayer)
        try c.u("dv_bl_signal_compatibility_id", 4, &compatibilityID)
        try c.u("dv_md_compression", 2, &metadataCompression)
    }
}

extension DolbyVisionConfiguration {
    /// The picture sizes and rates of levels 1 to 13 and their greatest widths ("Dolby Vision Profiles and Levels" 2.2).
    private static let levels: [(size: (Int, Int), rate: Int, maxWidth: Int)] = [
        ((1280, 720), 24, 1280), ((1280, 720), 30, 1280), ((1920, 1080), 24, 1920), ((1920, 1080), 30, 2560),
        ((1920, 1080), 60, 3840), ((3840, 2160), 24, 3840), ((3840, 2160), 30, 3840), ((3840, 2160), 48, 3840),
        ((3840, 2160), 60, 3840), ((3840, 2160), 120, 3840), ((3840, 2160), 120, 7680), ((7680, 4320), 60, 7680),
        ((7680, 4320), 120, 7680),
    ]

    /// The lowest level that allows pictures of this size at this rate, 1…13; nil when none does.
    public static func level(width: Int, height: Int, frameRate: Double) -> Int? {
        guard width > 0, height > 0, frameRate > 0 else { return nil }
        let samples = Double(width) * Double(height) * frameRate
        let index = levels.firstIndex { level in
            samples <= Double(level.size.0 * level.size.1 * level.rate) && width <= level.maxWidth
        }
        return index.map { $0 + 1 }
    }
}
