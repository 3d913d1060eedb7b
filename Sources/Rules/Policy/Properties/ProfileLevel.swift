// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// A profile of H.265 (annex A.3).
public enum Profile: String, CaseIterable, Sendable {
    /// 8 bit 4:2:0.
    case main = "HEVC_Main"
    /// Up to 10 bit 4:2:0.
    case main10 = "HEVC_Main10"

    /// Bits of a coded sample.
    public var bitDepth: Int { self == .main ? 8 : 10 }

    /// The lowest profile for samples of this depth.
    public init(holding bitDepth: Int) { self = bitDepth > 8 ? .main10 : .main }
}

/// A level of H.265 with its limits (table A.8).
public struct Level: Hashable, Sendable {
    /// `general_level_idc` / 3: 51 for level 5.1.
    public let number: Int
    /// MaxLumaPs: luma samples per picture.
    public let maxLumaPs: Int64
    /// MaxLumaSr: luma samples per second.
    public let maxLumaSr: Int64
    /// MaxBR of the Main tier in bits per second (table A.9, CpbVclFactor 1000).
    public let maxBitRate: Int64

    /// `4`, `4_1`.
    public var name: String { number % 10 == 0 ? "\(number / 10)" : "\(number / 10)_\(number % 10)" }

    /// Every level of tables A.8 and A.9.
    public static let all: [Level] = [
        Level(number: 10, maxLumaPs: 36_864, maxLumaSr: 552_960, maxBitRate: 128_000),
        Level(number: 20, maxLumaPs: 122_880, maxLumaSr: 3_686_400, maxBitRate: 1_500_000),
        Level(number: 21, maxLumaPs: 245_760, maxLumaSr: 7_372_800, maxBitRate: 3_000_000),
        Level(number: 30, maxLumaPs: 552_960, maxLumaSr: 16_588_800, maxBitRate: 6_000_000),
        Level(number: 31, maxLumaPs: 983_040, maxLumaSr: 33_177_600, maxBitRate: 10_000_000),
        Level(number: 40, maxLumaPs: 2_228_224, maxLumaSr: 66_846_720, maxBitRate: 12_000_000),
        Level(number: 41, maxLumaPs: 2_228_224, maxLumaSr: 133_693_440, maxBitRate: 20_000_000),
        Level(number: 50, maxLumaPs: 8_912_896, maxLumaSr: 267_386_880, maxBitRate: 25_000_000),
        Level(number: 51, maxLumaPs: 8_912_896, maxLumaSr: 534_773_760, maxBitRate: 40_000_000),
        Level(number: 52, maxLumaPs: 8_912_896, maxLumaSr: 1_069_547_520, maxBitRate: 60_000_000),
        Level(number: 60, maxLumaPs: 35_651_584, maxLumaSr: 1_069_547_520, maxBitRate: 60_000_000),
        Level(number: 61, maxLumaPs: 35_651_584, maxLumaSr: 2_139_095_040, maxBitRate: 120_000_000),
        Level(number: 62, maxLumaPs: 35_651_584, maxLumaSr: 4_278_190_080, maxBitRate: 240_000_000),
    ]

    /// The lowest level that holds the stream, preferably in its Main tier; the highest level when none does.
    public static func needed(width: Int, height: Int, frameRate: Rational, bitRate: Int64?) -> Level {
        let fitting = all.filter { level in
            do throws(SessionError) {
                try level.validate(width: width, height: height, frameRate: frameRate)
                return true
            } catch { return false }
        }
        let level = fitting.first { $0.maxBitRate >= bitRate ?? 0 } ?? fitting.last
        return level ?? all[all.count - 1]
    }

    /// Whether the bit rate exceeds the level's Main tier; levels below 4 have no High tier (table A.9).
    public func needsHighTier(_ bitRate: Int64?) -> Bool { number >= 40 && bitRate ?? 0 > maxBitRate }

    /// Checks that the level allows pictures of this size at this rate (A.4.1, A.4.2).
    ///
    /// - Throws: `Parameter`, naming the limit.
    public func validate(width: Int, height: Int, frameRate: Rational) throws(SessionError) {
        let samples = Int64(width) * Int64(height)
        let side = Int64(max(width, height))
        // A.4.1: neither side may exceed sqrt(8 * MaxLumaPs).
        guard samples <= maxLumaPs, side * side <= 8 * maxLumaPs else {
            throw SessionError(
                .parameter,
                "ProfileLevel: \(width)x\(height) exceeds the \(maxLumaPs) luma samples per picture of level \(name)"
            )
        }
        guard Double(samples) * frameRate.value <= Double(maxLumaSr) else {
            throw SessionError(
                .parameter,
                "ProfileLevel: \(width)x\(height) at \(frameRate) Hz exceeds the \(maxLumaSr) luma samples per second of level \(name)"
            )
        }
    }
}

/// The value of the `ProfileLevel` property: a profile and optionally a level.
public struct ProfileLevel: Hashable, Sendable {
    public let profile: Profile
    /// Nil for the lowest level that holds the stream.
    public let level: Level?

    /// VideoToolbox's names (`HEVC_Main_AutoLevel`), and names with a level in the same style (`HEVC_Main_4_1`).
    public static let names: [String] = Profile.allCases.flatMap { profile in
        ["\(profile.rawValue)_AutoLevel"] + Level.all.map { "\(profile.rawValue)_\($0.name)" }
    }

    public init(_ profile: Profile, _ level: Level? = nil) {
        self.profile = profile
        self.level = level
    }

    /// Nil for a name that is not in `names`.
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

    public var name: String { "\(profile.rawValue)_\(level?.name ?? "AutoLevel")" }
}
