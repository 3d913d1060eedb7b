// SPDX-License-Identifier: MIT
public import HWDBoxes
public import HWDHEVC

/// A picture that is written: one coded picture, or a grid of equal ones.
public struct StillPicture: Sendable {
    /// The size before turning.
    public var width: Int
    public var height: Int
    /// The record of the coded picture or of all tiles, whose size is the SPS's; `relabelledAsStill` makes it.
    public var configuration: DecoderConfigurationRecord
    /// The colors: an ICC profile before code points, where both are there.
    public var colors: [ColorInformation] = []
    /// How the picture is turned: mirrored, then in quarter turns counter-clockwise.
    public var orientation = Orientation.upright
    /// `mdcv`, `clli`, `cclv`, `amve`.
    public var light: [Box] = []

    /// An upright picture of `width`×`height` samples.
    public init(width: Int, height: Int, configuration: DecoderConfigurationRecord) {
        self.width = width
        self.height = height
        self.configuration = configuration
    }
}

/// An auxiliary picture that is written with one of the pictures.
public struct StillAuxiliary: Sendable {
    public var picture: StillPicture
    /// The picture that it belongs to, by its index in `StillFile`.
    public var master = 0
    public var urn: String
    /// What follows the URN: an SEI message for depth.
    public var subtype: [UInt8] = []
    /// For alpha: the samples of that picture are multiplied by it.
    public var isPremultiplied = false
    /// Whether an XMP document describes it.
    public var hasXMP = false

    /// An auxiliary picture with a URN of any kind.
    public init(urn: String, _ picture: StillPicture) { (self.urn, self.picture) = (urn, picture) }

    /// An auxiliary picture of a kind that has a URN; nil for `other`.
    public init?(_ kind: AuxiliaryKind, _ picture: StillPicture) {
        guard let urn = kind.urn else { return nil }
        self.urn = urn
        self.picture = picture
    }
}

/// The contents of a HEIC file: one picture or a burst, with what belongs to the primary one.
public struct StillFile: Sendable {
    /// Several are a burst.
    public var pictures: [StillPicture]
    /// The primary picture, by its index.
    public var primary = 0
    /// Of the primary picture.
    public var thumbnail: StillPicture?
    /// Auxiliary pictures of any of them.
    public var auxiliaries: [StillAuxiliary] = []
    /// Whether an Exif item describes the primary picture.
    public var hasExif = false
    /// Whether an XMP document describes the primary picture.
    public var hasXMP = false
    /// Whether the file may have more than 4 GiB.
    public var usesLargeOffsets = false

    public init(_ pictures: [StillPicture]) { self.pictures = pictures }
}

/// A piece of a file's data, in the order in which the file has them.
public struct StillPart: Hashable, Sendable {
    public enum Content: Hashable, Sendable {
        /// A coded picture: NAL units of one IRAP picture with their lengths, without parameter sets.
        case tile(Role, row: Int, column: Int)
        /// The bytes of `ExifItem.bytes`.
        case exif
        /// An XMP document; of the primary picture, or of an auxiliary one.
        case xmp(Role)
    }

    /// A picture of the file, by its index in `StillFile`.
    public enum Role: Hashable, Sendable {
        case thumbnail
        case picture(Int)
        case auxiliary(Int)
    }

    public let content: Content
    /// The item whose bytes they are.
    public let item: UInt32
}

/// The contents of an Exif item (ISO/IEC 23008-12 A.2.1).
public enum ExifItem {
    /// The item of a TIFF structure, as cameras write it: with the offset and the marker of JPEG's segment.
    public static func bytes(tiff: [UInt8]) -> [UInt8] {
        [0, 0, 0, 6] + Array("Exif".utf8) + [0, 0] + tiff
    }
}
