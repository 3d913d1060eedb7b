// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.exp2
import func Glibc.log2

/// Divides the bits of a stream between its lowest temporal level and those above it (`BaseLayerBitRateFraction`).
///
/// The encoder's rate control determines the total. This controller adjusts the difference in quantization between
/// level 0 and the levels above. The sizes of coded pictures yield their cost without a difference (6 quantization
/// parameters are a factor of two), and from that the difference for the requested share; past deviations are corrected
/// over the following seconds. Pictures leave the encoder long after their offset was chosen, so each is accounted
/// with its own offset.
public struct BaseLevelShare: Sendable {
    private let fraction: Double
    /// Decay of the costs per picture of level 0.
    private let memory: Double
    /// Quantization offsets of pictures in the encoder, by frame.
    private var offsets: [UInt64: Double] = [:]
    /// Recent bits: their cost without an offset, and their actual number.
    private var cost = Bits()
    private var recent = Bits()
    /// Bits since the start.
    private var spent = Bits()
    /// How much lower the quantization parameters of level 0 are than those of the levels above.
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

    /// The largest difference, in quantization parameters.
    public static let maxDifference = 18.0
    /// The largest change of the difference between two pictures of level 0.
    private static let maxStep = 1.5
    /// The quantization difference that halves or doubles a picture's bits.
    private static let doubling = 6.0

    /// - Parameters:
    ///   - fraction: the share of level 0, 0…1.
    ///   - baseFrameRate: pictures of level 0 per second.
    public init(fraction: Double, baseFrameRate: Double) {
        // No difference yields a share of 0 or 1.
        self.fraction = min(max(fraction, 0.02), 0.98)
        // Halves the weight after one second.
        memory = exp2(-1 / max(1, baseFrameRate))
    }

    /// Chooses the quantization offset of a frame that is passed to the encoder.
    public mutating func offset(of frameID: UInt64, level: Int) -> Double {
        let offset = (level == 0 ? -difference : difference) / 2
        offsets[frameID] = offset
        return offset
    }

    /// Records the size of a coded picture.
    public mutating func record(_ frameID: UInt64, level: Int, bits: Int) {
        guard let offset = offsets.removeValue(forKey: frameID) else { return }
        if level == 0 {
            updateDifference()
            cost.fade(memory)
            recent.fade(memory)
        }
        cost.add(Double(bits) * exp2(offset / Self.doubling), toBase: level == 0)
        recent.add(Double(bits), toBase: level == 0)
        spent.add(Double(bits), toBase: level == 0)
    }

    private mutating func updateDifference() {
        guard cost.base > 0, cost.upper > 0 else { return }
        // The deviation of level 0 so far, relative to the recent bits, which it is to be corrected over.
        let maxDebt = min(fraction, 1 - fraction) / 2
        let debt = (fraction * spent.total - spent.base) / recent.total
        let target = fraction + min(max(debt, -maxDebt), maxDebt)
        let needed = Self.doubling * log2(target / (1 - target) * cost.upper / cost.base)
        let change = min(max(needed - difference, -Self.maxStep), Self.maxStep)
        difference = min(max(difference + change, -Self.maxDifference), Self.maxDifference)
    }
}
