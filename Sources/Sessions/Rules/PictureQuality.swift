// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.log10

/// Whether coded pictures are those of their frames, by the PSNR of luma: a rule for pictures that are wrong, not for bad ones.
public struct PictureQuality: Sendable {
    /// In dB: below it a picture shows something else, whatever the quality.
    public static let floor = 15.0
    /// In dB: so far below the session's median a picture shows something else.
    public static let drop = 15.0
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

    /// Judges the next picture.
    ///
    /// - Returns: why it is wrong, as a clause; nil where it is not.
    public mutating func judge(_ psnr: Double) -> String? {
        if psnr < Self.floor { return "a picture differs from its frame (\(Self.text(psnr)) dB)" }
        let sorted = known.sorted()
        if sorted.count >= Self.enough, psnr <= sorted[sorted.count / 2] - Self.drop {
            return
                "a picture differs from its frame (\(Self.text(psnr)) dB, \(Self.text(sorted[sorted.count / 2])) dB before)"
        }
        if known.count == Self.most { known.removeFirst() }
        known.append(psnr)
        return nil
    }

    private static func text(_ value: Double) -> String {
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(abs(tenths % 10))"
    }
}
