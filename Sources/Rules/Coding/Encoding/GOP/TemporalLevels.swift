// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel
internal import HWDPolicy

/// The temporal levels of a stream (temporal sub-layers of H.265): level 0 can be decoded alone, each level above it
/// doubles the frame rate, and a player can drop levels from the top.
public struct TemporalLevels: Hashable, Sendable {
    /// 1…`maxCount`; 1 is a stream without hierarchy.
    public let count: Int
    /// Frames per second of all levels together.
    public let frameRate: Rational
    /// Frames from one anchor (I or P picture) to the next where the encoder allows them: `groupSize`, or a multiple where
    /// pictures between two anchors are of level 0 too.
    public private(set) var anchorDistance: Int
    /// Why the rate of level 0 differs from the requested one; nil when it does not.
    public let notice: String?

    /// Limit of levels: 16 frames from one picture of level 0 to the next, as in x265.
    public static let maxCount = 5
    /// Tolerance of the ratio of two rates: 240 counts as 8 × 29.97, too.
    private static let tolerance = 1.01

    public init(frameRate: Rational) {
        count = 1
        anchorDistance = 1
        self.frameRate = frameRate
        notice = nil
    }

    /// The number of levels between two rates; if their ratio is not a power of two, level 0 gets the next lower rate.
    ///
    /// - Throws: `Parameter` when `base` exceeds `full`, or is too low for `maxCount` levels.
    public init(base: Rational, full: Rational) throws(SessionError) {
        guard base.value <= full.value * Self.tolerance else {
            throw SessionError(
                .parameter,
                "BaseLayerFrameRate \(Self.text(base.value)) exceeds ExpectedFrameRate \(Self.text(full.value))")
        }
        var count = 1
        while full.value / Double(1 << (count - 1)) > base.value * Self.tolerance, count <= Self.maxCount {
            count += 1
        }
        guard count <= Self.maxCount else {
            throw SessionError(
                .parameter,
                "BaseLayerFrameRate \(Self.text(base.value)) is too far below ExpectedFrameRate "
                    + "\(Self.text(full.value)): the lowest of at most \(Self.maxCount) temporal levels has "
                    + "\(Self.text(full.value / Double(1 << (Self.maxCount - 1))))")
        }
        self.count = count
        anchorDistance = 1 << (count - 1)
        frameRate = full
        let lowest = full.value / Double(1 << (count - 1))
        notice =
            abs(lowest - base.value) <= base.value * (Self.tolerance - 1)
            ? nil
            : "the base layer has \(Self.text(lowest)) frames per second instead of \(Self.text(base.value)): each "
                + "temporal level has half the rate of the one above it"
    }

    /// Frames from a picture of level 0 to the next.
    public var groupSize: Int { 1 << (count - 1) }

    /// Pyramid levels of B pictures within level 0.
    public var depthOfBase: Int { (anchorDistance / groupSize).trailingZeroBitCount }

    /// The anchor distance at which two levels cost few bits.
    ///
    /// With an anchor at every second frame, half of the frames would be P pictures.
    static let longerDistance = 4

    /// Puts two levels into groups of four frames, of which every second is of level 0, where such a group fits.
    ///
    /// - Parameters:
    ///   - keyFrameInterval: maximum frames from a key frame to the next.
    ///   - maxDelay: the limit of frames that an encoder holds; nil for none.
    mutating func lengthenGroups(keyFrameInterval: Int, maxDelay: Int?) {
        guard count == 2, keyFrameInterval >= Self.longerDistance else { return }
        var longer = self
        longer.anchorDistance = Self.longerDistance
        if longer.minDelayOfX265 <= maxDelay ?? .max { self = longer }
    }

    /// The level of a frame by its distance from a picture of level 0 in presentation order.
    public func level(atPosition position: Int) -> Int {
        let position = position & (groupSize - 1)
        return position == 0 ? 0 : count - 1 - position.trailingZeroBitCount
    }

    /// Frames per second of the levels 0…`level`.
    public func frameRate(through level: Int) -> Rational {
        Rational(frameRate: frameRate.value / Double(1 << (count - 1 - level))) ?? frameRate
    }

    /// Limit of frames held before an encoder that orders pictures itself (`LevelPlanner`).
    public var framesHeld: Int { anchorDistance - 1 }

    /// `sub_layer_level_idc` of every level but the highest (H.265 7.4.4).
    ///
    /// - Parameters:
    ///   - general: `general_level_idc`, which no sub-layer's level exceeds.
    ///   - bitRate: the limit of the whole stream in bits per second; nil without a limit.
    public func levelIdcs(general: Int, width: Int, height: Int, bitRate: Int64?) -> [Int] {
        (0..<count - 1).map { level in
            let needed = Level.needed(
                width: width, height: height, frameRate: frameRate(through: level), bitRate: bitRate)
            return min(general, 3 * needed.number)
        }
    }

    /// A rate with at most three decimals, without trailing zeros.
    private static func text(_ rate: Double) -> String {
        let thousandths = Int64((rate * 1000).rounded())
        guard thousandths % 1000 != 0 else { return "\(thousandths / 1000)" }
        var digits = String(1000 + thousandths % 1000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(thousandths / 1000).\(digits)"
    }
}
