// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDMetadata

/// How close pictures are to others: PSNR, and the structural similarity (SSIM) of Wang and others, 2004.
public struct PictureQuality {
    /// The most components: Y', Cb, Cr and alpha.
    public static let maxComponents = 4

    /// Pictures that were added.
    public private(set) var pictures = 0
    private var squared = [Double](repeating: 0, count: maxComponents)
    private var samples = [Double](repeating: 0, count: maxComponents)
    /// Sums over pictures.
    private var similarities = [Double](repeating: 0, count: maxComponents)
    private var bitDepth = 8

    /// No pictures.
    public init() {}

    /// Adds a picture: its planes and those that they are compared with, in the order Y', Cb, Cr, alpha.
    ///
    /// - Returns: the PSNR of Y' of this picture in dB; nil for equal planes.
    /// - Throws: `io` when memory runs out.
    @discardableResult
    public mutating func add(_ planes: [(PicturePlane, PicturePlane)]) throws(MediaError) -> Double? {
        var luma = (squared: 0.0, samples: 0.0)
        for (component, (first, second)) in planes.prefix(Self.maxComponents).enumerated() {
            guard let found = first.difference(from: second) else { throw MediaError(.io, "out of memory") }
            bitDepth = max(bitDepth, first.bitDepth, second.bitDepth)
            let size = Double(min(first.width, second.width) * min(first.height, second.height))
            squared[component] += found.squared
            samples[component] += size
            similarities[component] += found.similarity
            if component == 0 { luma = (found.squared, size) }
        }
        pictures += 1
        return decibels(luma.squared, luma.samples)
    }

    /// Whether all planes were equal.
    public var isExact: Bool { !squared.contains { $0 > 0 } }
    /// In dB, over Y', Cb and Cr; nil without any difference.
    public var psnr: Double? { decibels(squared[..<3].reduce(0, +), samples[..<3].reduce(0, +)) }
    /// In dB, of Y'.
    public var psnrY: Double? { psnr(0) }
    /// In dB, of a component (Y', Cb, Cr, alpha); nil without any difference, and for one that no picture had.
    public func psnr(_ component: Int) -> Double? { decibels(squared[component], samples[component]) }
    /// 1 for equal pictures; the components count by their samples.
    public var ssim: Double {
        let total = samples[..<3].reduce(0, +)
        let weighted = (0..<3).reduce(0) { $0 + similarities[$1] * samples[$1] }
        return total > 0 ? weighted / total / Double(max(1, pictures)) : 0
    }
    /// The same of one component; nil for one that no picture had.
    public func ssim(_ component: Int) -> Double? {
        samples[component] > 0 ? similarities[component] / Double(max(1, pictures)) : nil
    }

    private func decibels(_ squared: Double, _ samples: Double) -> Double? {
        guard squared > 0, samples > 0 else { return nil }
        let peak = Double((1 << bitDepth) - 1)
        return 10 * log10(peak * peak * samples / squared)
    }
}
