// SPDX-License-Identifier: MIT

/// A rectangle in a picture, in luma samples.
public struct PictureRectangle: Hashable, Sendable {
    public var x: UInt32
    public var y: UInt32
    public var width: UInt32
    public var height: UInt32

    public init(x: UInt32, y: UInt32, width: UInt32, height: UInt32) {
        self.x = x
        self.y = y
        self.width = width
        self.height = height
    }
}

/// Metadata of one picture, in the stream's bytes.
public struct FrameSideData: Hashable, Sendable {
    /// The most entries of one picture that a message has.
    public static let maxEntries = 16
    /// The most bytes of one picture's side data, all entries together, that a message has.
    public static let maxBytes = 48 << 10

    /// The type of metadata; the raw value is the protocol's.
    public enum Kind: UInt32, Hashable, Sendable, CaseIterable {
        /// The payload of SEI 137 and of the `mdcv` box, 24 bytes (H.265 D.2.28).
        case masteringDisplay = 1
        /// The payload of SEI 144 and of the `clli` box, 4 bytes (H.265 D.2.35).
        case contentLight = 2
        /// The payload of SEI 148, 8 bytes (H.265 D.2.39).
        case ambientViewing = 3
        /// HDR10+: the payload of SEI 4, from its country code on (SMPTE ST 2094-40).
        case hdr10Plus = 4
        /// Dolby Vision: the NAL unit of type 62, including header and emulation prevention bytes.
        case dolbyVisionRPU = 5
        /// CEA-608 and CEA-708 captions: the payload of SEI 4 with `cc_data()`, from its country code on (ATSC A/53 part 4,
        /// 6.2.3). Decoders return none of this kind.
        case closedCaptions = 6

        /// The bytes of kinds that have one size; nil for the others.
        public var size: Int? {
            switch self {
            case .masteringDisplay: 24
            case .contentLight: 4
            case .ambientViewing: 8
            case .hdr10Plus, .dolbyVisionRPU, .closedCaptions: nil
            }
        }

        /// Whether it is HDR metadata of one picture.
        public var isDynamic: Bool { self == .hdr10Plus || self == .dolbyVisionRPU }

        /// Whether it is HDR metadata of a coded video sequence.
        public var isStatic: Bool { size != nil }
    }

    public var kind: Kind
    public var bytes: [UInt8]

    public init(_ kind: Kind, _ bytes: [UInt8]) {
        self.kind = kind
        self.bytes = bytes
    }
}
