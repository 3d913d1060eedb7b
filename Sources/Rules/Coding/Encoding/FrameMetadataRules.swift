// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy

/// Which HDR metadata of frames a session writes: `HDRMetadataInsertionMode` and `PreserveDynamicHDRMetadata`.
public struct FrameMetadataRules: Hashable, Sendable {
    /// Whether any is written.
    public var isInserted: Bool
    /// Whether dynamic metadata are written as they came with the frame; otherwise they are regenerated.
    public var preservesDynamic: Bool
    /// Whether the stream is a still picture, whose RPU no player applies.
    public var isStill: Bool

    init(_ properties: PropertyStore) {
        isInserted = properties.string(.hdrMetadataInsertionMode) != "None"
        preservesDynamic = properties.bool(.preserveDynamicHDRMetadata) ?? false
        isStill = properties.integer(.sourceFrameCount) == 1
    }
}

extension EncoderConfiguration {
    /// Whether frames that are sent with metadata get a Dolby Vision RPU of profile 8.4, whose base layer is HLG in 10 bits;
    /// never those of stills.
    public var generatesRPU: Bool {
        frameMetadata.isInserted && !frameMetadata.preservesDynamic && !frameMetadata.isStill
            && color.transfer == 18 && profile.bitDepth == 10
    }
}
