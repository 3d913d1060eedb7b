// SPDX-License-Identifier: GPL-2.0-or-later
internal import Model

/// A profile of H.265 (annex A.3).
public enum Profile: String, CaseIterable, Sendable {
    /// 8 bit 4:2:0.
    case main = "HEVC_Main"
    /// Up to 10 bit 4:2:0.
    case main10 = "HEVC_Main10"

    /// Bits of a coded sample.
    public var bitDepth: Int { self == .main ? 8 : 10 }

    /// The profile that holds samples of this depth.
    public init(holding bitDepth: Int) { self = bitDepth > 8 ? .main10 : .main }
}

/// A level of H.265 (table A.8): what a decoder of that level can take.
public struct Level: Hashable, Sendable {
    /// `general_level_idc` / 3: 51 for level 5.1.
    public let number: Int
    /// MaxLumaPs: luma samples a picture.
    public let maxLumaPs: Int64
    /// MaxLumaSr: luma samples a second.
    public let maxLumaSr: Int64

    /// `4`, `4_1`.
    public var name: String { number % 10 == 0 ? "\(number / 10)" : "\(number / 10)_\(number % 10)" }

    /// Every level of table A.8 and A.9.
    public static let all: [Level] = [
        Level(number: 10, maxLumaPs: 36_864, maxLumaSr: 552_960),
        Level(number: 20, maxLumaPs: 122_880, maxLumaSr: 3_686_400),
        Level(number: 21, maxLumaPs: 245_760, maxLumaSr: 7_372_800),
        Level(number: 30, maxLumaPs: 552_960, maxLumaSr: 16_588_800),
        Level(number: 31, maxLumaPs: 983_040, maxLumaSr: 33_177_600),
        Level(number: 40, maxLumaPs: 2_228_224, maxLumaSr: 66_846_720),
        Level(number: 41, maxLumaPs: 2_228_224, maxLumaSr: 133_693_440),
        Level(number: 50, maxLumaPs: 8_912_896, maxLumaSr: 267_386_880),
        Level(number: 51, maxLumaPs: 8_912_896, maxLumaSr: 534_773_760),
        Level(number: 52, maxLumaPs: 8_912_896, maxLumaSr: 1_069_547_520),
        Level(number: 60, maxLumaPs: 35_651_584, maxLumaSr: 1_069_547_520),
        Level(number: 61, maxLumaPs: 35_651_584, maxLumaSr: 2_139_095_040),
        Level(number: 62, maxLumaPs: 35_651_584, maxLumaSr: 4_278_190_080),
    ]

    /// Checks that pictures of this size at this rate are allowed at the level (A.4.1, A.4.2).
    ///
    /// - Throws: `Parameter`, naming the bound.
    func validate(width: Int, height: Int, frameRate: Rational) throws(SessionError) {
        let samples = Int64(width) * Int64(height)
        let side = Int64(max(width, height))
        // A.4.1: neither side may exceed sqrt(8 * MaxLumaPs).
        guard samples <= maxLumaPs, side * side <= 8 * maxLumaPs else {
            throw SessionError(
                .parameter,
                "ProfileLevel: level \(name) allows \(maxLumaPs) luma samples a picture, \(width)x\(height) is beyond it"
            )
        }
        guard Double(samples) * frameRate.value <= Double(maxLumaSr) else {
            throw SessionError(
                .parameter,
                "ProfileLevel: level \(name) allows \(maxLumaSr) luma samples a second, \(width)x\(height) at \(frameRate) Hz is beyond it"
            )
        }
    }
}

/// The `ProfileLevel` property: a profile, and a level or whichever the stream needs.
public struct ProfileLevel: Hashable, Sendable {
    /// The profile.
    public let profile: Profile
    /// The level; nil leaves it to the stream.
    public let level: Level?

    /// VideoToolbox's `HEVC_Main_AutoLevel` and the like, and names with a level in their style (`HEVC_Main_4_1`).
    public static let names: [String] = Profile.allCases.flatMap { profile in
        ["\(profile.rawValue)_AutoLevel"] + Level.all.map { "\(profile.rawValue)_\($0.name)" }
    }

    /// This profile at this level; without one, at whatever level the stream needs.
    public init(_ profile: Profile, _ level: Level? = nil) {
        self.profile = profile
        self.level = level
    }

    /// The profile and level of a name; nil for a name that is not in `names`.
    public init?(name: String) {
        for profile in Profile.allCases {
            if name == "\(profile.rawValue)_AutoLevel" {
                self.init(profile)
                return
            }
            if let level = Level.all.first(where: { name == "\(profile.rawValue)_\($0.name)" }) {
                self.init(profile, level)
                return
            }
        }
        return nil
    }

    /// The name.
    public var name: String { "\(profile.rawValue)_\(level?.name ?? "AutoLevel")" }
}
