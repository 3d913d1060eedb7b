// SPDX-License-Identifier: MIT
public import HWClient
public import HWDHEIF
public import HWDModel

/// Reads the pictures of a HEIF file (ISO/IEC 23008-12): HEVC of 4:2:0 with 8 or 10 bits, single or in tiles, by the daemon's
/// sessions.
///
/// A picture of any size may be opened. `decode` decodes only the tiles that a region needs; its memory grows with the region,
/// which has at most 268 megasamples. Calls block: those without `await` are for threads of their own. Several threads may use
/// a reader; each call of `decode` has a session of its own.
///
/// The file is read as it is needed, so it must not be changed while the reader exists.
public final class ImageReader: Sendable {
    /// The path that the reader was opened with.
    public let path: String
    private let input: StillInput
    private let found: FoundDaemon
    private let specification: [PropertyKey: PropertyValue]

    /// Opens a file and reads its structure.
    ///
    /// - Parameters:
    ///   - path: a file; what can be read only once is refused.
    ///   - daemon: of `Daemon.find()`; nil finds it when the first picture is decoded.
    ///   - specification: what is required of decoders, such as `[.requireHardwareDecoder: .bool(true)]`.
    /// - Throws: `noInput`, `noPermission`, `io`; `damaged` or `unsupported` for a file that is no HEIF file or damaged.
    public init(
        path: String, daemon: Daemon? = nil, specification: [PropertyKey: PropertyValue] = [:]
    ) throws(ImageError) {
        (self.path, found, self.specification) = (path, FoundDaemon(daemon), specification)
        input = try StillInput(path: path)
    }

    /// The items of the pictures that are not hidden and not parts of others, the primary one first, then by rising number.
    public var items: [UInt32] { input.file.primary == nil ? [] : input.file.shownPictures }

    /// The item of the picture that is shown first; nil in a file that is an image sequence alone.
    public var primaryItem: UInt32? { input.file.primary }

    /// The descriptions of at most the first 1000 of `items`, which has all; those that cannot be used are left out.
    ///
    /// `picture` describes each of the others.
    public var pictures: [Picture] { items.prefix(Self.maxPictures).compactMap { try? picture($0) } }

    private static let maxPictures = 1000

    /// The description of a picture, which may be hidden; nil describes the primary one.
    ///
    /// - Throws: `noSuchPicture` for an item that does not exist; `damaged`, `unsupported` for one that is no picture or cannot
    ///   be used, and `unsupported` for the primary picture of an image sequence without one.
    public func picture(_ item: UInt32? = nil) throws(ImageError) -> Picture {
        let id = try input.picture(item)
        return try Picture(id, input)
    }

    /// The Exif of a picture as a TIFF structure, as the file has it; nil without.
    ///
    /// Decoded pictures are upright whatever orientation it states.
    /// - Parameter item: nil is the primary picture.
    /// - Throws: `damaged`, `io` where it cannot be read.
    public func exif(of item: UInt32? = nil) throws(ImageError) -> [UInt8]? {
        guard let exif = try metadata(of: item, .exif) else { return nil }
        return try input.naming { () throws(HEIFError) in try input.file.exif(exif, from: input.source) }
    }

    /// The XMP document of a picture in UTF-8; nil without.
    ///
    /// - Parameter item: nil is the primary picture.
    /// - Throws: `damaged`, `io` where it cannot be read.
    public func xmp(of item: UInt32? = nil) throws(ImageError) -> [UInt8]? {
        guard let xmp = try metadata(of: item, .xmp) else { return nil }
        return try input.naming { () throws(HEIFError) in try input.file.xmp(xmp, from: input.source) }
    }

    private func metadata(of item: UInt32?, _ kind: MetadataItem.Kind) throws(ImageError) -> UInt32? {
        let id = try input.picture(item)
        return input.file.metadata(of: id).first { $0.kind == kind }?.id
    }

    /// Decodes a picture or a part of it; blocks until it is done.
    ///
    /// - Parameters:
    ///   - item: nil is the primary picture.
    ///   - region: the part, in samples of the picture as it is shown; nil for all of it.
    ///   - most: the most samples on a side of the result, whose proportions are the picture's; a thumbnail of the file that
    ///     suffices, and has alpha where the result has it, is decoded instead. Not with `region`.
    ///   - auxiliary: the auxiliary picture of this kind instead, gray in luma.
    ///   - format: `yu12`, `i010` or `yuva`; nil is `yuva` for a picture with alpha, else planar in the picture's bit depth,
    ///     8 or 10. `yuva` has 8 bits: to keep 10, decode twice, `as: .i010` and with `auxiliary: .alpha`. Without alpha
    ///     `yuva` is opaque; `yu12` and `i010` leave alpha out, which also decodes pictures whose alpha is in a format that
    ///     sessions do not decode.
    ///   - isCancelled: asked between tiles and about ten times a second while pictures are decoded; a call to the daemon that
    ///     is under way ends first. By default whether the caller's task is canceled.
    /// - Throws: `damaged`; `unsupported` for pictures that sessions do not decode, named with their type, regions of more
    ///   than 268 megasamples, and files beyond this library's limits; `noSuchPicture` for an item or an auxiliary picture that
    ///   the file lacks; `parameter`, also for a region that is empty or not inside the picture; `noHardware`; `cancelled`; `client` where the daemon or a session fails.
    public func decode(
        item: UInt32? = nil, region: PixelRect? = nil, thumbnailWithin most: Int? = nil,
        auxiliary: AuxiliaryKind? = nil, as format: PixelFormat? = nil,
        isCancelled: @escaping () -> Bool = { Task.isCancelled }
    ) throws(ImageError) -> DecodedImage {
        try check(region, most, format)
        let id = try input.picture(item)
        let keepsAlpha = auxiliary == nil && (format == nil || format == .yuva)
        let shown = try input.source(
            of: id, auxiliary: auxiliary.map { ($0, "\($0)") }, thumbnail: most, keepsAlpha: keepsAlpha)
        if let region { try check(region, shown) }
        var alpha: AuxiliaryPicture?
        if keepsAlpha {
            alpha = try input.naming { () throws(HEIFError) in try input.file.alpha(of: shown) }
        }
        let daemon = UsedDaemon(found)
        let sessions = PictureSessions(daemon: { try daemon.daemon() }, isCancelled: isCancelled)
        let tiles = StillTiles(input, specification, sessions, local: nil)
        return try daemon.wrapping {
            var (canvas, color) = try StillPainter(input: input, tiles: tiles)
                .paint(shown, part: region, alpha: alpha, as: format == .yuva ? .yu12 : format)
            if let most {
                let size = StillCanvas.size(canvas.width, canvas.height, within: most)
                if size != (canvas.width, canvas.height) {
                    canvas = try canvas.averaged(width: size.width, height: size.height)
                }
            }
            if format == .yuva, alpha == nil { canvas = try canvas.withOpaqueAlpha() }
            let mode: AlphaChannelMode? = canvas.format == .yuva ? .straight : nil
            return DecodedImage(canvas, color, alpha?.isPremultiplied == true ? .premultiplied : mode, tiles)
        }
    }

    private func check(_ region: PixelRect?, _ most: Int?, _ format: PixelFormat?) throws(ImageError) {
        if let format, ![.yu12, .i010, .yuva].contains(format) {
            throw ImageError(.parameter, "pictures are decoded as YU12, I010 or YUVA, not \(format.rawValue)")
        }
        if let most, most < 1 {
            throw ImageError(.parameter, "a picture of at most \(most) samples is not possible")
        }
        if region != nil, most != nil {
            throw ImageError(.parameter, "a region and a small picture contradict each other")
        }
        // Sums of larger ones would overflow.
        if let region,
            ![region.x, region.y, region.width, region.height].allSatisfy({ (0...HEIFLimits.side).contains($0) })
        {
            throw ImageError(.parameter, "\(path): the region is not inside the picture")
        }
    }

    /// - Throws: `parameter` for a region that is empty or not inside the picture.
    private func check(_ region: PixelRect, _ item: UInt32) throws(ImageError) {
        let picture = try input.naming { () throws(HEIFError) in try input.file.picture(item) }
        let shown = PixelRect(width: picture.shownWidth, height: picture.shownHeight)
        guard !region.isEmpty, region.intersection(shown) == region else {
            throw ImageError(
                .parameter, "\(path): the region is not inside the picture of \(shown.width)x\(shown.height)")
        }
    }
}
