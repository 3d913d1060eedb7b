// SPDX-License-Identifier: MIT

/// The difference between a frame's samples and those of its coded picture, as VideoToolbox's quality metrics have it.
///
/// The mean over a plane of the squared difference, in units of a coded sample.
public struct MeanSquaredError: Hashable, Sendable {
    /// `LumaMeanSquaredError`.
    public var luma: Double
    /// `ChromaBlueMeanSquaredError`.
    public var chromaBlue: Double
    /// `ChromaRedMeanSquaredError`.
    public var chromaRed: Double

    public init(luma: Double, chromaBlue: Double, chromaRed: Double) {
        self.luma = luma
        self.chromaBlue = chromaBlue
        self.chromaRed = chromaRed
    }
}
