// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The color of each frame of a video: the file's description, and what changes within the stream.
///
/// A container may describe colors that the stream codes differently or not at all. Its description applies to the first
/// frame; a later frame differs from it where the stream's own description differs from the first frame's.
public struct StreamColor: Sendable {
    private let described: ColorDescription
    private var first: ColorDescription?

    /// Frames of a video that its file describes so.
    public init(_ described: ColorDescription) { self.described = described }

    /// The color of a frame for which the stream codes `coded`; call it in presentation order.
    public mutating func color(of coded: ColorDescription) -> ColorDescription {
        guard let first, coded != first else {
            first = first ?? coded
            return described
        }
        var color = described
        if coded.primaries != first.primaries { color.primaries = coded.primaries }
        if coded.transfer != first.transfer { color.transfer = coded.transfer }
        // Frames of R'G'B' (0) are converted by the first frame's matrix.
        if coded.matrix != first.matrix, coded.matrix != 0 { color.matrix = coded.matrix }
        if coded.isFullRange != first.isFullRange { color.isFullRange = coded.isFullRange }
        if coded.chromaLocation != first.chromaLocation { color.chromaLocation = coded.chromaLocation }
        return color
    }
}
