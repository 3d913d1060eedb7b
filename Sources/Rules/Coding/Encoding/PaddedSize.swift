// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
public import HWDPolicy

/// The coded size of a picture for encoders that accept neither odd nor tiny sizes.
///
/// The conformance window of H.265 is in chroma samples (7.4.3.2.1), so a 4:2:0 stream cannot have an odd size: it has
/// the next even one, and the container's clean aperture states the exact size.
public struct PaddedSize: Hashable, Sendable {
    /// Width for the encoder in luma samples: even, at least one coding tree block.
    public let width: Int
    /// Height for the encoder in luma samples: even, at least one coding tree block.
    public let height: Int
    /// Width that the stream shows: the next even number.
    public let shownWidth: Int
    /// Height that the stream shows: the next even number.
    public let shownHeight: Int
    /// Whether the encoder's size exceeds the frame's.
    public let isPadded: Bool

    /// The smallest coding tree block of H.265 that libx265 supports.
    public static let minimum = 16

    /// The longest side of level 4.1 (√(8 × MaxLumaPs), H.265 A.4.1) in whole blocks of 16 samples, to which x265 rounds up.
    ///
    /// The levels above it have coding tree blocks of at least 32 samples.
    private static let maxSideOfSmallBlocks = 4208

    public init(_ request: CompressionRequest) {
        shownWidth = (request.width + 1) / 2 * 2
        shownHeight = (request.height + 1) / 2 * 2
        let block = max(shownWidth, shownHeight) > Self.maxSideOfSmallBlocks ? 32 : Self.minimum
        width = max(block, shownWidth)
        height = max(block, shownHeight)
        isPadded = width != request.width || height != request.height
    }
}
