// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel

/// The size a picture is coded at when an encoder takes neither odd nor tiny ones.
///
/// H.265 counts the conformance window in chroma samples (7.4.3.2.1), so a 4:2:0 stream cannot say an odd size: it shows
/// the next even one, and the container's clean aperture has the last word.
public struct PaddedSize: Hashable, Sendable {
    /// Luma samples a row handed to the encoder: even, at least 16.
    public let width: Int
    /// Rows handed to the encoder: even, at least 16.
    public let height: Int
    /// Luma samples a row that the stream shows: the next even number.
    public let shownWidth: Int
    /// Rows that the stream shows: the next even number.
    public let shownHeight: Int
    /// Whether the encoder gets more than the frame has.
    public let isPadded: Bool

    /// The smallest coding tree block of H.265 that libx265 takes.
    public static let minimum = 16

    /// For frames of a session.
    public init(_ request: CompressionRequest) {
        shownWidth = (request.width + 1) / 2 * 2
        shownHeight = (request.height + 1) / 2 * 2
        width = max(Self.minimum, shownWidth)
        height = max(Self.minimum, shownHeight)
        isPadded = width != request.width || height != request.height
    }
}
