// SPDX-License-Identifier: MIT
internal import HWDModel

/// The most that a file may have of anything; larger ones are refused before memory is allocated.
public enum HEIFLimits {
    /// Bytes of the `meta` box: a grid of 65,535 tiles needs 3 MB.
    public static let metaSize: UInt64 = 64 << 20
    /// Bytes of the `moov` box of an image sequence.
    public static let movieSize: UInt64 = 64 << 20
    /// Boxes at the file's top level.
    public static let topLevelBoxes = 1 << 12
    /// Items: three grids of the largest size, and what describes them.
    public static let items = 1 << 18
    /// Properties: an association has 15 bits for the number of one (ISO/IEC 23008-12 9.3).
    public static let properties = 0x7FFF
    /// Associations of properties with items, all together.
    public static let associations = 1 << 21
    /// References between items, and items that they name, all together.
    public static let references = 1 << 20
    /// References from one item, which differ in their types.
    public static let referenceTypes = 64
    /// Entities of groups, all together.
    public static let entities = 1 << 20
    /// Extents, all together; those of one item where it is made of parts of others.
    public static let extents = 1 << 20
    /// Derivations on the way from a picture to a coded one, and items that lie in each other.
    public static let depth = 8
    /// Pictures that one picture is made of, counted each time that they appear.
    public static let tiles = 1 << 16
    /// Bytes of the description of a grid or an overlay: an overlay of 65,535 pictures needs 0.5 MB.
    public static let derivationSize: UInt64 = 1 << 20
    /// Samples on a side of a picture.
    public static let side = 1 << 24
    /// Samples of a part that is decoded at once.
    public static let pixels = 1 << 30
    /// Samples that are painted for one part, those that pictures of an overlay cover included.
    public static let paintedPixels = 1 << 32
    /// Luma samples of a coded picture.
    public static let codedPixels = StillTiling.maxSamples
    /// Bytes of an ICC profile.
    public static let profileSize = 4 << 20
    /// Bytes of an Exif or XMP item.
    public static let metadataSize: UInt64 = 64 << 20
    /// Tracks of an image sequence.
    public static let tracks = 64
    /// Pictures of an image sequence that is written.
    public static let sequencePictures = 1 << 16
    /// Remarks on what was ignored.
    public static let remarks = 16
}
