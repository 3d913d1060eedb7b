// SPDX-License-Identifier: MIT

/// A part of a picture, in its samples.
public struct PictureRectangle: Hashable, Sendable {
    /// Samples from the left edge.
    public var x: UInt32
    /// Rows from the top edge.
    public var y: UInt32
    /// Samples a row.
    public var width: UInt32
    /// Rows.
    public var height: UInt32

    /// A part by its place and size.
    public init(x: UInt32, y: UInt32, width: UInt32, height: UInt32) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// Metadata that came with one picture, kept as the stream's bytes.
public struct FrameSideData: Hashable, Sendable {
    /// What the bytes are.
    public enum Kind: UInt32, Hashable, Sendable, CaseIterable {
        /// The payload of SEI 137 and of the `mdcv` box, 24 bytes (H.265 D.2.28).
        case masteringDisplay = 1
        /// The payload of SEI 144 and of the `clli` box, 4 bytes (H.265 D.2.35).
        case contentLight = 2
        /// The payload of SEI 148, 8 bytes (H.265 D.2.39).
        case ambientViewing = 3
        /// HDR10+: the payload of SEI 4 from its country code on (SMPTE ST 2094-40).
        case hdr10Plus = 4
        /// Dolby Vision: the NAL unit of type 62, header and emulation prevention included.
        case dolbyVisionRPU = 5
    }

    /// What the bytes are.
    public var kind: Kind
    /// The bytes.
    public var bytes: [UInt8]

    /// Metadata of a kind.
    public init(_ kind: Kind, _ bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }
}
