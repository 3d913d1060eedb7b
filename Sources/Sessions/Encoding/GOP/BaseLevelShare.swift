// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.exp2
import func Glibc.log2

/// Divides the bits of a stream between its lowest temporal level and those above it (`BaseLayerBitRateFraction`).
///
/// How many bits there are is the encoder's rate control's to settle. What is moved here is the difference between the
/// quantisation of level 0 and that of the levels above. From what came out it is known what both would have cost
/// without one, 6 quantisation parameters being a factor of two, and with it the difference that gives the wanted share;
/// what the share has been off so far is made up for in the seconds to come. Pictures come out long after their
/// difference was settled, so each is counted with its own.
public struct BaseLevelShare: Sendable {
    private let fraction: Double
    /// What is left of a cost when level 0 has its next picture.
    private let memory: Double
    /// Quantisation offsets of pictures inside the encoder, by frame.
    private var offsets: [UInt64: Double] = [:]
    /// Bits of late: as they would have been without an offset, and as they were.
    private var cost = Bits()
    private var recent = Bits()
    /// Bits from the beginning on.
    private var spent = Bits()
    /// By how much level 0 is quantised more finely than the levels above.
    public private(set) var difference = 0.0

    private struct Bits: Hashable, Sendable {
        var base = 0.0
        var upper = 0.0

        var total: Double { base + upper }

        mutating func fade(_ memory: Double) {
            base *= memory
            upper *= memory
        }

        mutating func add(_ bits: Double, toBase: Bool) {
            if toBase { base += bits } else { upper += bits }
        }
    }

    /// The widest difference, in quantisation parameters.
    public static let widest = 18.0
    /// The most that the difference changes from one picture of level 0 to the next.
    private static let step = 1.5
    /// Quantisation parameters that halve or double a picture's bits.
    private static let doubling = 6.0

    /// Aims at `fraction` of the bits, 0…1, for a level 0 of so many pictures a second.
    public init(fraction: Double, baseFrameRate: Double) {
        // A share of nothing or of everything has no difference that leads there.
        self.fraction = min(max(fraction, 0.02), 0.98)
        // A second ago counts half.
        memory = exp2(-1 / max(1, baseFrameRate))
    }

    /// The offset to quantise a frame with that goes to the encoder.
    public mutating func offset(of frameID: UInt64, level: Int) -> Double {
        let offset = (level == 0 ? -difference : difference) / 2
        offsets[frameID] = offset
        return offset
    }

    /// Takes down what a picture came to.
    public mutating func take(_ frameID: UInt64, level: Int, bits: Int) {
        guard let offset = offsets.removeValue(forKey: frameID) else { return }
        if level == 0 {
            settle()
            cost.fade(memory)
            recent.fade(memory)
        }
        cost.add(Double(bits) * exp2(offset / Self.doubling), toBase: level == 0)
        recent.add(Double(bits), toBase: level == 0)
        spent.add(Double(bits), toBase: level == 0)
    }

    private mutating func settle() {
        guard cost.base > 0, cost.upper > 0 else { return }
        // What level 0 has had too little or too much, to be made up for with as many bits as came of late.
        let most = min(fraction, 1 - fraction) / 2
        let debt = (fraction * spent.total - spent.base) / recent.total
        let wanted = fraction + min(max(debt, -most), most)
        let needed = Self.doubling * log2(wanted / (1 - wanted) * cost.upper / cost.base)
        let change = min(max(needed - difference, -Self.step), Self.step)
        difference = min(max(difference + change, -Self.widest), Self.widest)
    }
}
