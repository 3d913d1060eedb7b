// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEVC
internal import HWDPolicy

/// Selects the pictures to decode when only the lower temporal levels are requested; the limit may change at any picture.
///
/// Levels can be dropped at once, since no lower level refers to them. They resume where the stream allows it (H.265
/// 7.4.2.2): at a key frame, or at a TSA picture (to any level) or STSA picture (to its own level) of the level above
/// the highest one decoded.
public struct LevelGate: Sendable {
    /// The highest level decoded; all levels up to it have been decoded since the last switch.
    private var open = PropertyTable.highestTemporalLevel
    /// The level decoded before the last key frame, which that key frame's RASL pictures depend on.
    private var openBefore = PropertyTable.highestTemporalLevel

    /// Starts with every level decoded.
    public init() {}

    /// Whether to decode a picture of this type and level while `limit` is the highest level requested.
    public mutating func admits(_ type: NALUnitType, level: Int, limit: Int) -> Bool {
        if limit < open { open = max(0, limit) }
        openBefore = min(openBefore, open)
        if type.isIRAP {
            openBefore = open
            open = max(0, limit)
            return true
        }
        // RASL pictures may refer to pictures of any level before the key frame.
        if type.isRASL { return level <= openBefore }
        openBefore = PropertyTable.highestTemporalLevel
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
