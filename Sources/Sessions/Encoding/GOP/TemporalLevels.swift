// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDModel

/// The temporal levels of a stream (temporal sub-layers of H.265): level 0 decodes alone, each level above it
/// doubles the frame rate, and a player leaves out as many from the top as it likes.
public struct TemporalLevels: Hashable, Sendable {
    /// How many there are, 1…`maximum`; 1 is a stream without hierarchy.
    public let count: Int
    /// Frames a second of all levels together.
    public let frameRate: Rational
    /// Why level 0 has another rate than was asked for; nil when it has not.
    public let notice: String?

    /// The most levels a stream is given: 16 frames from one picture of level 0 to the next, x265's limit.
    public static let maximum = 5
    /// How far a rate may be from a half, a quarter, … of the other: 240 is 8 times 29.97 too.
    private static let tolerance = 1.01

    /// One level.
    public init(frameRate: Rational) {
        count = 1
        self.frameRate = frameRate
        notice = nil
    }

    /// As many levels as lie between two rates; where the ratio is no power of two, level 0 gets the nearest rate
    /// that is not above `base`.
    ///
    /// - Throws: `Parameter` when `base` is above `full`, or so far below that `maximum` levels do not reach it.
    public init(base: Rational, full: Rational) throws(SessionError) {
        guard base.value <= full.value * Self.tolerance else {
            throw SessionError(
                .parameter,
                "BaseLayerFrameRate \(Self.text(base.value)) is above ExpectedFrameRate \(Self.text(full.value))")
        }
        var count = 1
        while full.value / Double(1 << (count - 1)) > base.value * Self.tolerance, count <= Self.maximum {
            count += 1
        }
        guard count <= Self.maximum else {
            throw SessionError(
                .parameter,
                "BaseLayerFrameRate \(Self.text(base.value)) is too far below ExpectedFrameRate "
                    + "\(Self.text(full.value)): with \(Self.maximum) temporal levels, the most there are, the lowest "
                    + "has \(Self.text(full.value / Double(1 << (Self.maximum - 1))))")
        }
        self.count = count
        frameRate = full
        let lowest = full.value / Double(1 << (count - 1))
        notice =
            abs(lowest - base.value) <= base.value * (Self.tolerance - 1)
            ? nil
            : "the base layer has \(Self.text(lowest)) frames a second instead of \(Self.text(base.value)): each "
                + "temporal level halves the rate of the one above it"
    }

    /// Frames from a picture of level 0 to the next.
    public var groupSize: Int { 1 << (count - 1) }

    /// The level of a frame, by its place behind one of level 0, in the order frames are shown.
    public func level(atPlace place: Int) -> Int {
        let place = place & (groupSize - 1)
        return place == 0 ? 0 : count - 1 - place.trailingZeroBitCount
    }

    /// Frames a second of level 0 up to and with `level`.
    public func frameRate(through level: Int) -> Rational {
        Rational(frameRate: frameRate.value / Double(1 << (count - 1 - level))) ?? frameRate
    }

    /// Frames that wait in front of an encoder that orders pictures itself, at most (`LevelPlanner`).
    public var framesHeld: Int { groupSize - 1 }

    /// `sub_layer_level_idc` of every level but the highest (H.265 7.4.4).
    ///
    /// - Parameters:
    ///   - general: `general_level_idc`, which no level of a part exceeds.
    ///   - bitRate: of the whole stream, in bits a second at most; nil where nothing bounds it.
    public func levelIdcs(general: Int, width: Int, height: Int, bitRate: Int64?) -> [Int] {
        (0..<count - 1).map { level in
            let needed = Level.needed(
                width: width, height: height, frameRate: frameRate(through: level), bitRate: bitRate)
            return min(general, 3 * needed.number)
        }
    }

    /// A rate without zeros behind the point that mean nothing.
    private static func text(_ rate: Double) -> String {
        let thousandths = Int64((rate * 1000).rounded())
        guard thousandths % 1000 != 0 else { return "\(thousandths / 1000)" }
        var digits = String(1000 + thousandths % 1000).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(thousandths / 1000).\(digits)"
    }
}
