// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDPolicy

/// The block sizes and coding tools of H.265 that an encoder supports or requires.
public struct CodingTools: Hashable, Sendable {
    /// CtbLog2SizeY, 4…6.
    public var log2CTBSize = 5
    /// MinCbLog2SizeY, 3 and up.
    public var log2MinCBSize = 3
    /// MaxTbLog2SizeY, at most 5.
    public var log2MaxTBSize = 5
    /// MinTbLog2SizeY, below MinCbLog2SizeY.
    public var log2MinTBSize = 2
    /// `max_transform_hierarchy_depth_inter`.
    public var transformDepthInter = 2
    /// `max_transform_hierarchy_depth_intra`.
    public var transformDepthIntra = 2
    /// `amp_enabled_flag`.
    public var usesAMP = false
    /// `sample_adaptive_offset_enabled_flag`, and both flags of every slice.
    public var usesSAO = false
    /// `sps_temporal_mvp_enabled_flag`, and the slices' flag.
    public var usesTemporalMVP = false
    /// `strong_intra_smoothing_enabled_flag`.
    public var usesStrongIntraSmoothing = false
    /// `sign_data_hiding_enabled_flag`.
    public var usesSignDataHiding = false
    /// `transform_skip_enabled_flag`.
    public var usesTransformSkip = false
    /// `constrained_intra_pred_flag`.
    public var usesConstrainedIntra = false
    /// `cu_qp_delta_enabled_flag`, down to the smallest coding block.
    public var usesCUQPDelta = false

    /// Blocks of 32 to 8 samples, transforms of 32 to 4, no tools.
    public init() {}
}

/// The coded size of a picture on hardware, and the part of it that is shown.
public struct CodedSize: Hashable, Sendable {
    /// Coded width in luma samples.
    public var width: Int
    /// Coded height in luma samples.
    public var height: Int
    /// Width that the stream shows: the next even number.
    public var shownWidth: Int
    /// Height that the stream shows: the next even number.
    public var shownHeight: Int

    /// The smallest multiple of the alignment that holds the frames and is not below the minimum.
    public init(
        _ request: CompressionRequest, alignment: (width: Int, height: Int), minimum: (width: Int, height: Int)
    ) {
        let padded = PaddedSize(request)
        shownWidth = padded.shownWidth
        shownHeight = padded.shownHeight
        width = Self.round(max(shownWidth, minimum.width), to: alignment.width)
        height = Self.round(max(shownHeight, minimum.height), to: alignment.height)
    }

    private static func round(_ value: Int, to alignment: Int) -> Int {
        let alignment = max(2, alignment)
        return (value + alignment - 1) / alignment * alignment
    }
}
