// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC

/// Which pictures a decoder gets when only the lower temporal levels are wanted, a limit that may change at any picture.
///
/// Levels can be dropped at once: nothing below refers to them. They come back where the stream allows it (H.265
/// 7.4.2.2): at a key frame, at a TSA picture (to any level) or at a STSA picture (to its own level) of the level just
/// above the one that is decoded.
public struct LevelGate: Sendable {
    /// The highest level whose pictures are decoded; everything up to it has been since the last switch.
    private var open = Self.highest
    /// The level that was decoded before the last key frame, which its RASL pictures depend on.
    private var openBefore = Self.highest

    /// The highest TemporalId there can be (H.265 7.4.2.2).
    public static let highest = 6

    /// Every level is decoded.
    public init() {}

    /// Whether a picture of this type and level is decoded while `limit` is the highest level that is wanted.
    public mutating func admits(_ type: NALUnitType, level: Int, limit: Int) -> Bool {
        if limit < open { open = max(0, limit) }
        openBefore = min(openBefore, open)
        if type.isIRAP {
            openBefore = open
            open = max(0, limit)
            return true
        }
        // Leading pictures may refer to what came before the key frame, of whatever level that is.
        if type.isRASL { return level <= openBefore }
        openBefore = Self.highest
        if level == open + 1, level <= limit {
            switch type {
            case .tsaN, .tsaR: open = limit
            case .stsaN, .stsaR: open = level
            default: break
            }
        }
        return level <= open
    }
}
