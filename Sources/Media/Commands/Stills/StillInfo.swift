// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDHEIF
internal import HWImages

/// What `hwctl info` says of a file of still pictures.
struct StillInfo: Encodable {
    private(set) var schema = 1
    private(set) var file: String
    private(set) var majorBrand: String
    private(set) var brands: [String]
    private(set) var primary: UInt32?
    private(set) var items: Int
    /// The pictures that are not parts of others, the primary one first.
    private(set) var pictures: [StillPictureInfo]
    private(set) var groups: [Group]
    private(set) var sequence: [SequenceTrack]
    /// Whether a video follows the pictures, as in motion photos.
    private(set) var motionPhoto: Bool
    private(set) var remarks: [String]

    enum CodingKeys: String, CodingKey {
        case schema, file, brands, primary, items, pictures, groups, sequence, remarks
        case majorBrand = "major_brand"
        case motionPhoto = "motion_photo"
    }

    /// A group of items or tracks.
    struct Group: Encodable {
        var type: String
        var id: UInt32
        var entities: [UInt32]
    }

    /// A track of pictures.
    struct SequenceTrack: Encodable {
        var track: UInt32
        var handler: String
        var type: String
        var width: Int
        var height: Int
        var pictures: Int
        var seconds: Double
        var intraOnly: Bool?
        var auxiliary: String?

        enum CodingKeys: String, CodingKey {
            case track, handler, type, width, height, pictures, seconds, auxiliary
            case intraOnly = "intra_only"
        }
    }

    /// Pictures, groups and entities that are described.
    private static let most = 1000

    init(_ input: StillInput) {
        let heif = input.file
        file = input.path
        majorBrand = heif.majorBrand.description
        brands = heif.brands.map(\.description)
        primary = heif.primary
        items = heif.items.count
        pictures =
            heif.primary == nil
            ? [] : heif.shownPictures.prefix(Self.most).map { StillPictureInfo($0, input) }
        groups = heif.groups.prefix(Self.most).map {
            Group(type: $0.type.description, id: $0.id, entities: Array($0.entities.prefix(Self.most)))
        }
        sequence = (heif.sequence?.tracks ?? []).map {
            SequenceTrack(
                track: $0.id, handler: $0.handler.description, type: $0.sampleEntry.description, width: $0.width,
                height: $0.height, pictures: $0.samples.count, seconds: Double($0.duration) / Double($0.timeScale),
                intraOnly: $0.isIntraOnly,
                auxiliary: $0.auxiliary.map { StillPictureInfo.name($0.kind) })
        }
        motionPhoto = heif.topLevelTypes.contains("mpvd")
        remarks = heif.remarks
    }
}

/// One picture of a file.
struct StillPictureInfo: Encodable {
    private(set) var item: UInt32
    private(set) var type: String
    private(set) var name: String?
    /// The size as it is shown; nil where the picture cannot be used.
    private(set) var width: Int?
    private(set) var height: Int?
    /// The size before it is turned and cropped, where that is another one.
    private(set) var codedWidth: Int?
    private(set) var codedHeight: Int?
    private(set) var bitDepths: [Int]?
    private(set) var color: String?
    private(set) var profileBytes: Int?
    private(set) var transformations: [String] = []
    private(set) var tiles: Tiles?
    private(set) var thumbnails: [Related] = []
    private(set) var auxiliaries: [Related] = []
    private(set) var gainMap: UInt32?
    private(set) var light: [String] = []
    private(set) var exif: Exif?
    private(set) var metadata: [Metadata] = []
    /// Why the picture, or a part of what belongs to it, cannot be used.
    private(set) var faults: [String] = []

    enum CodingKeys: String, CodingKey {
        case item, type, name, width, height, color, transformations, tiles, thumbnails, auxiliaries, light, exif
        case metadata, faults
        case codedWidth = "coded_width"
        case codedHeight = "coded_height"
        case bitDepths = "bit_depths"
        case profileBytes = "icc_bytes"
        case gainMap = "gain_map"
    }

    /// The tiles of a grid.
    struct Tiles: Encodable {
        var rows: Int
        var columns: Int
        var tileWidth: Int
        var tileLength: Int

        enum CodingKeys: String, CodingKey {
            case rows, columns
            // The names of ImageIO and TIFF.
            case tileWidth = "TileWidth"
            case tileLength = "TileLength"
        }
    }

    /// A thumbnail or an auxiliary picture.
    struct Related: Encodable {
        var item: UInt32
        var kind: String?
        var urn: String?
        var width: Int
        var height: Int
        var premultiplied: Bool?
    }

    /// The fields of Exif that describe a photograph.
    struct Exif: Encodable {
        var bytes: Int
        var make: String?
        var model: String?
        var software: String?
        var date: String?
        var lens: String?
        var iso: Int?
        var exposureTime: Double?
        var fNumber: Double?
        var focalLength: Double?
        var orientation: Int?
        var contentIdentifier: String?

        enum CodingKeys: String, CodingKey {
            case bytes, make, model, software, date, lens, iso, orientation
            case exposureTime = "exposure_time"
            case fNumber = "f_number"
            case focalLength = "focal_length"
            case contentIdentifier = "content_identifier"
        }
    }

    /// Another description of a picture.
    struct Metadata: Encodable {
        var item: UInt32
        var type: String
        var bytes: UInt64?
    }

    init(_ id: UInt32, _ input: StillInput) {
        let heif = input.file
        item = id
        type = heif.item(id)?.type.description ?? "?"
        let text = heif.text(of: id)
        name = text.name.isEmpty ? nil : text.name
        do throws(HEIFError) {
            let picture = try heif.picture(id)
            describe(picture)
            if picture.kind == .grid { tiles = try Self.tiles(id, input) }
        } catch { faults.append(error.reason) }
        thumbnails = heif.thumbnails(of: id).map {
            Related(item: $0.item.id, width: $0.shownWidth, height: $0.shownHeight)
        }
        auxiliaries = heif.auxiliaries(of: id).map {
            Related(
                item: $0.picture.item.id, kind: Self.name($0.kind), urn: $0.urn, width: $0.picture.shownWidth,
                height: $0.picture.shownHeight, premultiplied: $0.kind == .alpha ? $0.isPremultiplied : nil)
        }
        gainMap = heif.toneMaps(of: id).first?.gainMap
        for described in heif.metadata(of: id) { add(described, input) }
    }

    private mutating func describe(_ picture: PictureDescription) {
        (width, height) = (picture.shownWidth, picture.shownHeight)
        if (picture.width, picture.height) != (picture.shownWidth, picture.shownHeight) {
            (codedWidth, codedHeight) = (picture.width, picture.height)
        }
        bitDepths = picture.bitDepths
        for color in picture.colors {
            switch color {
            case .codePoints(let points):
                let range = points.isFullRange ? "full" : "video"
                self.color = "\(points.primaries)/\(points.transfer)/\(points.matrix), \(range) range"
            case .profile(let bytes, _): profileBytes = bytes.count
            case .other: break
            }
        }
        transformations = picture.transformations.map { step in
            switch step {
            case .crop(let part): "cropped to \(part.width)x\(part.height)+\(part.x)+\(part.y)"
            case .rotation(let turns): "turned \(90 * turns)° counter-clockwise"
            case .mirror(let isLeftRight): isLeftRight ? "mirrored left to right" : "mirrored top to bottom"
            }
        }
        light = picture.light.map(\.type.description)
    }

    private static func tiles(_ id: UInt32, _ input: StillInput) throws(HEIFError) -> Tiles? {
        let grid = try input.file.grid(id, from: input.source)
        guard let first = input.file.targets("dimg", of: id).first else { return nil }
        let tile = try input.file.picture(first)
        return Tiles(
            rows: grid.rows, columns: grid.columns, tileWidth: tile.shownWidth, tileLength: tile.shownHeight)
    }

    /// Bytes of the Exif that is described.
    private static let maxExif = 1 << 20

    private mutating func add(_ described: MetadataItem, _ input: StillInput) {
        switch described.kind {
        case .exif:
            guard exif == nil else { return }
            do throws(HEIFError) {
                // There may be a thousand pictures.
                guard try input.file.size(of: described.id) <= Self.maxExif else {
                    return faults.append("its Exif has more than \(Self.maxExif >> 20) MiB")
                }
                exif = Exif(try input.file.exif(described.id, from: input.source))
            } catch { faults.append(error.reason) }
        case .xmp, .other:
            let type = if case .other(let name) = described.kind { name } else { "XMP" }
            metadata.append(
                Metadata(item: described.id, type: type, bytes: try? input.file.size(of: described.id)))
        }
    }

    /// The name of a kind of auxiliary pictures.
    static func name(_ kind: AuxiliaryKind) -> String {
        switch kind {
        case .alpha: "alpha"
        case .depth: "depth"
        case .gainMap: "gainmap"
        case .matte: "matte"
        case .other: "other"
        }
    }
}

extension StillPictureInfo.Exif {
    init(_ tiff: [UInt8]) {
        let fields = ExifFields(tiff: tiff)
        self.init(
            bytes: tiff.count, make: fields?.make, model: fields?.model, software: fields?.software,
            date: fields?.date, lens: fields?.lens, iso: fields?.isoSpeed, exposureTime: fields?.exposureTime,
            fNumber: fields?.fNumber, focalLength: fields?.focalLength, orientation: fields?.orientation,
            contentIdentifier: fields?.contentIdentifier)
    }
}
