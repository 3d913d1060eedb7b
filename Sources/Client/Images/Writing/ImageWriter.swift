// SPDX-License-Identifier: MIT
public import HWClient
internal import HWDHEIF
public import HWDModel
internal import HWDWire

/// Writes a HEIC file (ISO/IEC 23008-12): one picture or a burst, coded as HEVC by the daemon's sessions in hardware or
/// software.
///
/// Pictures of more than a tile's size become grids, whose tiles one session codes with one quantizer. Coded pictures stay in
/// memory until `finish`, which gives the file its name; until then, and after an error, no file appears. Calls block. Use a
/// writer from one thread.
public final class ImageWriter {
    /// How pictures are coded, and what else the file has.
    public struct Options: Sendable {
        /// 0 to 1, as of `hwctl encode --quality`: the quantizer is 40 − 38 · quality, rounded.
        public var quality = 0.4
        /// The quantizer (H.265 QP) of every tile, 0 to 51; nil is that of `quality`.
        public var quantizer: Int?
        /// The quality of alpha; nil is that of the picture.
        public var alphaQuality: Double?
        /// Width and height of tiles, even, 64 to 8192, or 0 for one tile; nil is 512.
        public var tileSize: Int?
        /// The most samples on a side of the primary picture's thumbnail, 16 to 4096, or 0 for none.
        ///
        /// A picture that is not larger has none.
        public var thumbnailSize = 320
        /// The picture of a burst that is shown first, by the order of `add`.
        public var primary = 0
        /// The Exif of the primary picture, a TIFF structure of at most 64 MiB.
        ///
        /// Its orientation is written as 1, because `SourceImage.orientation` turns the picture.
        public var exif: [UInt8]?
        /// The XMP document of the primary picture in UTF-8, at most 16 MiB.
        public var xmp: [UInt8]?
        /// What is required of encoders, such as `[.requireHardware: .bool(true)]`.
        public var specification: [PropertyKey: PropertyValue] = [:]
        /// Further properties of the sessions, such as `[.prioritizeSpeed: .bool(true)]`.
        public var properties: [PropertyKey: PropertyValue] = [:]

        /// The usual options.
        public init() {}
    }

    /// What was written, and by what.
    public struct Summary: Hashable, Sendable {
        /// Pictures that are shown.
        public let pictures: Int
        /// Coded pictures of them; thumbnails and auxiliary pictures are not counted.
        public let tiles: Int
        /// Bytes of the file.
        public let bytes: Int
        /// The encoder of the first picture, as ListEncoders names it.
        public let encoderID: String
        /// Whether that is hardware.
        public let usingHardware: Bool
        /// Why it is no hardware; nil where it is, or none was wanted.
        public let fallbackReason: String?
    }

    /// The path of the file.
    public let path: String
    private let options: Options
    private let file: ImageFile
    private let daemon: UsedDaemon
    private var composer: StillComposer
    private var created: CreateCompressionSession.Reply?
    private var isFinished = false

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - path: where the file appears when it is complete; a file of that name is replaced.
    ///   - daemon: of `Daemon.find()`; nil finds it when the first picture is coded.
    ///   - options: how pictures are coded, and metadata.
    ///   - isCancelled: asked between tiles and about ten times a second while pictures are coded; a call to the daemon that is
    ///     under way ends first. By default whether the caller's task is canceled.
    /// - Throws: `parameter` for options outside of their ranges; `cannotCreate`.
    public init(
        to path: String, daemon: Daemon? = nil, options: Options = Options(),
        isCancelled: @escaping () -> Bool = { Task.isCancelled }
    ) throws(ImageError) {
        try options.check()
        (self.path, self.options) = (path, options)
        file = try ImageFile(path)
        let used = UsedDaemon(FoundDaemon(daemon))
        self.daemon = used
        let sessions = PictureSessions(daemon: { try used.daemon() }, isCancelled: isCancelled)
        var properties = options.properties
        properties[.qp] = .int(options.quantizer.map { Int64($0) } ?? StillEncoder.quantizer(options.quality))
        var composition = StillComposer.Options()
        (composition.tile, composition.thumbnail) = (options.tileSize, options.thumbnailSize)
        composition.cover = options.primary
        composition.alphaQP = options.alphaQuality.map(StillEncoder.quantizer)
        composer = StillComposer(
            StillEncoder(sessions, specification: options.specification, properties: properties), composition
        ) { try $0.averaged(width: $1, height: $2) }
        composer.contents.exif = options.exif.flatMap { ExifFields.replacingOrientation(in: $0, with: 1) }
        composer.contents.xmp = options.xmp
    }

    /// Codes a picture and what belongs to it; blocks until it is done.
    ///
    /// Several pictures are a burst.
    /// - Throws: `parameter` for an alpha of another size or a writer that is finished; `unsupported` for a picture that HEVC has
    ///   no level for, or that needs more tiles than a grid has; `cancelled`; `client` where the daemon or a session fails. The writer is then as it was before.
    public func add(_ image: SourceImage) throws(ImageError) {
        guard !isFinished else { throw ImageError(.parameter, "\(path) is finished") }
        let pixels = try image.pixels()
        var composer = composer
        let reply = try daemon.wrapping {
            let index = composer.contents.pictures.count
            let reply = try composer.add(pixels, image.orientation)
            if let depth = image.depth {
                try composer.add(depth.canvas, as: .depth, of: index, range: image.depthRange)
            }
            if let gainMap = image.gainMap { try composer.add(gainMap.canvas, as: .gainMap, of: index) }
            return reply
        }
        self.composer = composer
        created = created ?? reply
    }

    /// Writes the file and gives it its name; a writer whose file could not be written is finished too.
    ///
    /// - Throws: `parameter` for a writer that is finished or has no primary picture; `unsupported` for what a HEIC file cannot
    ///   hold; `io`, `cannotCreate`.
    public func finish() throws(ImageError) -> Summary {
        guard !isFinished else { throw ImageError(.parameter, "\(path) is finished") }
        let contents = composer.contents
        guard let created, options.primary < contents.pictures.count else {
            throw ImageError(
                .parameter,
                "\(path): picture \(options.primary) is shown first, but there are \(contents.pictures.count)")
        }
        let bytes = try contents.bytes(for: path)
        // Writing ends the file even where it fails.
        isFinished = true
        try file.finish(bytes)
        return Summary(
            pictures: contents.pictures.count, tiles: contents.pictures.reduce(0) { $0 + $1.tiles.count },
            bytes: bytes.count, encoderID: created.encoderID, usingHardware: created.usingHardware,
            fallbackReason: created.fallbackReason)
    }
}

extension ImageWriter.Options {
    private static let maxXMP = 16 << 20

    fileprivate func check() throws(ImageError) {
        func refuse(_ name: String, _ value: Any, _ range: String) -> ImageError {
            ImageError(.parameter, "\(name) is \(value); \(range)")
        }
        for (name, value) in [("quality", quality), ("alphaQuality", alphaQuality ?? 0)] {
            guard (0...1).contains(value) else { throw refuse(name, value, "0 to 1 is possible") }
        }
        if let quantizer, !(0...51).contains(quantizer) {
            throw refuse("quantizer", quantizer, "0 to 51 is possible")
        }
        if let tileSize, tileSize != 0, !(64...8192).contains(tileSize) || tileSize % 2 != 0 {
            throw refuse("tileSize", tileSize, "0 and even numbers from 64 to 8192 are possible")
        }
        if thumbnailSize != 0, !(16...4096).contains(thumbnailSize) {
            throw refuse("thumbnailSize", thumbnailSize, "0 and 16 to 4096 are possible")
        }
        if primary < 0 { throw refuse("primary", primary, "the first picture is 0") }
        if let exif, exif.count > Int(HEIFLimits.metadataSize) || ExifFields(tiff: exif) == nil {
            throw ImageError(.parameter, "exif is no TIFF structure of at most 64 MiB")
        }
        if let xmp, xmp.count > Self.maxXMP { throw refuse("xmp", "\(xmp.count) bytes", "16 MiB are possible") }
    }
}
