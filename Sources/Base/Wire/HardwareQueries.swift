// SPDX-License-Identifier: MIT
public import HWDModel

// Questions about hardware that an app asks before it opens a session.

/// The decoders found by the last probe, verified or not, of codecs that sessions decode and of others.
public enum ListDecoders: ControlMethod {
    public static let method = "\(Interface.name).ListDecoders"

    public typealias Parameters = Empty

    public struct Reply: Codable, Sendable {
        /// Hardware comes first.
        public var decoders: [DecoderDescription]
        public init(decoders: [DecoderDescription]) { self.decoders = decoders }
    }
}

/// The kind of stream that an app asks about.
public struct HardwareQuestion: Codable, Hashable, Sendable, ClosedParameters {
    /// `hevc`; about decoders also `h264`, `vp9`, `av1`.
    public var codec: String
    /// Bits of a coded sample; 8 when nil.
    public var bitDepth: Int?
    /// Width in luma samples; nil, with the height, for any size.
    public var width: Int?
    /// Height in luma samples; nil, with the width, for any size.
    public var height: Int?

    public init(codec: String = "hevc", bitDepth: Int? = nil, width: Int? = nil, height: Int? = nil) {
        self.codec = codec
        self.bitDepth = bitDepth
        self.width = width
        self.height = height
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case codec, width, height
        case bitDepth = "bit_depth"
    }

    /// The members that org.hwdaemon.varlink lists.
    public static let memberNames = MemberNames(CodingKeys.self)
}

/// Whether a compression session that requires hardware would get it.
public enum IsHardwareEncodeSupported: ControlMethod {
    public static let method = "\(Interface.name).IsHardwareEncodeSupported"

    public typealias Parameters = HardwareQuestion

    public struct Reply: Codable, Hashable, Sendable {
        public var supported: Bool
        /// The encoder that such a session would use; nil where there is none.
        public var encoderID: String?
        /// Why there is none.
        public var reason: String?

        public init(encoderID: String?, reason: String?) {
            supported = encoderID != nil
            self.encoderID = encoderID
            self.reason = reason
        }

        enum CodingKeys: String, CodingKey {
            case supported, reason
            case encoderID = "encoder_id"
        }
    }
}

/// Whether a decompression session that requires hardware would get it, or whether hardware decodes another codec.
public enum IsHardwareDecodeSupported: ControlMethod {
    public static let method = "\(Interface.name).IsHardwareDecodeSupported"

    public typealias Parameters = HardwareQuestion

    public struct Reply: Codable, Hashable, Sendable {
        public var supported: Bool
        /// The decoder that such a session would use; nil where there is none.
        ///
        /// Of another codec, the one for apps that use the driver themselves.
        public var decoderID: String?
        /// Why there is none, or why no session uses it.
        public var reason: String?

        public init(decoderID: String?, reason: String?) {
            supported = decoderID != nil
            self.decoderID = decoderID
            self.reason = reason
        }

        enum CodingKeys: String, CodingKey {
            case supported, reason
            case decoderID = "decoder_id"
        }
    }
}

/// The HEIC file that an app asks about.
public struct StillQuestion: Codable, Hashable, Sendable, ClosedParameters {
    /// Bits of a sample; 8 when nil.
    public var bitDepth: Int?
    /// Width in luma samples; nil, with the height, for any size.
    public var width: Int?
    /// Height in luma samples; nil, with the width, for any size.
    public var height: Int?
    /// The width and height of tiles; the usual ones of 512 when nil, one tile when 0.
    public var tile: Int?

    public init(bitDepth: Int? = nil, width: Int? = nil, height: Int? = nil, tile: Int? = nil) {
        (self.bitDepth, self.width, self.height, self.tile) = (bitDepth, width, height, tile)
    }

    enum CodingKeys: String, CodingKey, CaseIterable {
        case width, height, tile
        case bitDepth = "bit_depth"
    }

    /// The members that org.hwdaemon.varlink lists.
    public static let memberNames = MemberNames(CodingKeys.self)
}

/// Whether a HEIC file can be written, and whether hardware codes its pictures.
public enum IsStillEncodeSupported: ControlMethod {
    public static let method = "\(Interface.name).IsStillEncodeSupported"

    public typealias Parameters = StillQuestion

    public struct Reply: Codable, Hashable, Sendable {
        public var supported: Bool
        /// Whether a session that does not require hardware gets it.
        public var hardware: Bool
        /// The encoder that such a session would use; nil where the file cannot be written.
        public var encoderID: String?
        /// Samples of a coded picture; nil where no size is given.
        public var tileWidth: Int?
        public var tileHeight: Int?
        /// Coded pictures in a row and in a column; nil where no size is given.
        public var columns: Int?
        public var rows: Int?
        /// Why hardware is not used, or why the file cannot be written.
        public var reason: String?

        public init(encoderID: String?, isHardware: Bool, tiling: StillTiling?, reason: String?) {
            (supported, hardware, self.encoderID, self.reason) = (encoderID != nil, isHardware, encoderID, reason)
            (tileWidth, tileHeight) = (tiling?.width, tiling?.height)
            (columns, rows) = (tiling?.columns, tiling?.rows)
        }

        enum CodingKeys: String, CodingKey {
            case supported, hardware, columns, rows, reason
            case encoderID = "encoder_id"
            case tileWidth = "tile_width"
            case tileHeight = "tile_height"
        }
    }
}
