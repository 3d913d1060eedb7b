// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDHEVC

/// Dolby Vision of a video track: its configuration record, and the RPUs of its pictures.
public struct DolbyVisionInfo: Hashable, Sendable, Encodable {
    /// The profile with its compatibility, such as `8.4`; nil when neither record nor RPUs show it.
    public var profile: String?
    /// The level of the record, 1…13; nil without a record.
    public var level: Int?
    /// `dv_bl_signal_compatibility_id`; nil when not known.
    public var compatibilityID: Int?
    /// What players without Dolby Vision show: `HDR10`, `SDR`, `HLG`, `Ultra HD Blu-ray` or `none`; nil when not known.
    public var compatibility: String?
    /// Whether the container has a configuration record.
    public var hasRecord: Bool
    /// Whether the record declares an enhancement layer; nil without a record.
    public var hasEnhancementLayer: Bool?
    /// Pictures with an RPU that can be read; nil when pictures were not read.
    public var rpuFrames: Int?
    /// Pictures without one.
    public var missingRPUs: Int?
    /// Pictures whose RPU is damaged.
    public var damagedRPUs: Int?

    enum CodingKeys: String, CodingKey {
        case profile, level, compatibility
        case compatibilityID = "compatibility_id"
        case hasRecord = "configuration_record"
        case hasEnhancementLayer = "enhancement_layer"
        case rpuFrames = "rpu_frames"
        case missingRPUs = "missing_rpus"
        case damagedRPUs = "damaged_rpus"
    }

    /// What a container's record says; nil without one.
    package init?(_ record: DolbyVisionConfiguration?) {
        guard let record else { return nil }
        hasRecord = true
        hasEnhancementLayer = record.hasEnhancementLayer
        level = record.level
        profile = record.profileName
        setCompatibility(record.compatibilityID)
    }

    /// What the RPUs of a stream without a record say, whose base layer has this transfer function.
    package init(profile: Int?, transfer: Int) {
        hasRecord = false
        // Profile 8's base layer shows what it is compatible with; that of profile 7 is an Ultra HD Blu-ray's.
        setCompatibility([8: [16: 1, 18: 4, 1: 2][transfer], 7: 6, 5: 0][profile ?? 0] ?? nil)
        self.profile = profile.map { number in
            number == 8 ? compatibilityID.map { "8.\($0)" } ?? "8" : "\(number)"
        }
    }

    private mutating func setCompatibility(_ identifier: Int?) {
        compatibilityID = identifier
        compatibility = identifier.flatMap {
            [0: "none", 1: "HDR10", 2: "SDR", 4: "HLG", 6: "Ultra HD Blu-ray"][$0]
        }
    }

    /// Adds the counts of the pictures that were searched.
    package mutating func add(_ scan: StreamScan) {
        guard scan.frames > 0 else { return }
        (rpuFrames, damagedRPUs) = (scan.rpus, scan.damagedRPUs)
        missingRPUs = scan.frames - scan.rpus - scan.damagedRPUs
    }
}

/// HDR10+ (SMPTE ST 2094-40) of a video track.
public struct HDR10PlusInfo: Hashable, Sendable, Encodable {
    /// Pictures with metadata that can be read.
    public var frames: Int
    /// Pictures without.
    public var missing: Int
    /// Pictures whose metadata are damaged.
    public var damaged: Int

    /// Nil for a stream without HDR10+.
    package init?(_ scan: StreamScan) {
        guard scan.hdr10Plus + scan.damagedHDR10Plus > 0 else { return nil }
        (frames, damaged) = (scan.hdr10Plus, scan.damagedHDR10Plus)
        missing = scan.frames - frames - damaged
    }
}

/// The environment that a video was mastered in (H.265 D.3.39).
public struct AmbientViewingInfo: Hashable, Sendable, Encodable {
    /// In lux.
    public var illuminance: Double
    /// x and y of the light.
    public var light: [Double]

    /// Parses the 8 bytes of `amve`; nil for other lengths, and for no light.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == 8,
            case .ambientViewingEnvironment(let environment)? =
                try? SEIMessage(payloadType: SEIPayloadType.ambientViewing, payload: bytes).interpreted()
        else { return nil }
        illuminance = Double(environment.ambientIlluminance) / 10_000
        light = [environment.ambientLight.x, environment.ambientLight.y].map { Double($0) / 50_000 }
    }
}

/// A part of a track with one color.
public struct ColorSegmentInfo: Hashable, Sendable, Encodable {
    /// The number of its first picture in decoding order, from 0.
    public var firstFrame: Int
    /// Pictures.
    public var frames: Int
    /// When its first picture is shown, in seconds; nil when not known.
    public var start: Double?
    public var color: ColorInfo
    /// Whether the transfer function is PQ or HLG.
    public var hdr: Bool

    enum CodingKeys: String, CodingKey {
        case frames, start, color, hdr
        case firstFrame = "first_frame"
    }

    /// Describes a part.
    package init(firstFrame: Int, frames: Int, start: Double?, color: ColorInfo, hdr: Bool) {
        (self.firstFrame, self.frames, self.start) = (firstFrame, frames, start)
        (self.color, self.hdr) = (color, hdr)
    }
}
