// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.log10

/// Whether coded pictures are those of their frames, by the PSNR of luma: a rule for pictures that are wrong, not for bad ones.
public struct WrongPictureRule: Sendable {
    /// In dB: below it a picture shows something else, whatever the quality.
    public static let floor = 15.0
    /// In dB: so far below the session's median a picture shows something else.
    public static let drop = 15.0
    /// In dB: a higher median counts as this.
    ///
    /// Black pictures and titles are nearly equal to their frames, and what follows them
    /// need not be.
    public static let highestMedian = 40.0
    /// Pictures from which there is a median.
    private static let enough = 8
    /// Pictures of which the median is kept.
    private static let most = 512
    /// The PSNR of equal pictures, which have none.
    public static let equal = 100.0

    private var known: [Double] = []

    public init() {}

    /// The PSNR of 8-bit samples in dB.
    ///
    /// - Parameters:
    ///   - squaredError: the sum over all samples.
    ///   - count: of samples.
    public static func psnr(squaredError: UInt64, count: Int) -> Double {
        guard squaredError > 0, count > 0 else { return equal }
        return min(equal, 10 * log10(255 * 255 * Double(count) / Double(squaredError)))
    }

    /// Checks the next picture; the first are checked again when there is a median.
    ///
    /// - Returns: why it is wrong, as a clause; nil where it is not.
    public mutating func check(_ psnr: Double) -> String? {
        if psnr < Self.floor { return "a picture differs from its frame (\(Self.text(psnr)) dB)" }
        if known.count >= Self.enough, let fault = fault(of: psnr) { return fault }
        if known.count == Self.most { known.removeFirst() }
        known.append(psnr)
        return known.count == Self.enough ? fault(of: known.min() ?? psnr) : nil
    }

    /// Why a picture is wrong beside the known ones.
    private func fault(of psnr: Double) -> String? {
        let median = known.sorted()[known.count / 2]
        guard psnr <= min(median, Self.highestMedian) - Self.drop else { return nil }
        return "a picture differs from its frame (\(Self.text(psnr)) dB, the median is \(Self.text(median)) dB)"
    }

    private static func text(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }
}
