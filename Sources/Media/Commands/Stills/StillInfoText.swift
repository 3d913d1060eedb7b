// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDControlCommands
internal import HWDSystem

/// The description of a file of still pictures as a human-readable table.
struct StillInfoText {
    private var rows: [[String]] = []

    init(_ info: StillInfo) {
        rows = [["FILE", FileName.printable(info.file)]]
        rows.append(["brand", info.majorBrand + ", compatible " + info.brands.joined(separator: " ")])
        rows.append(["items", "\(info.items)"])
        for group in info.groups {
            let entities = group.entities.prefix(20).map(String.init).joined(separator: " ")
            rows.append(["group \(group.type)", "\(group.entities.count) of \(entities)"])
        }
        if info.motionPhoto { rows.append(["motion photo", "a video follows the pictures"]) }
        for picture in info.pictures { add(picture, isPrimary: picture.item == info.primary) }
        for track in info.sequence {
            rows += [[""], ["TRACK \(track.track)", "\(track.handler), \(track.type)"]]
            rows.append(["  size", "\(track.width)x\(track.height)"])
            let intra = track.intraOnly == true ? ", each decoded on its own" : ""
            rows.append(["  pictures", "\(track.pictures) in \(Progress.decimal(track.seconds, 3)) s\(intra)"])
            if let auxiliary = track.auxiliary { rows.append(["  auxiliary", auxiliary]) }
        }
        for remark in info.remarks { rows.append(["note", FileName.printable(remark)]) }
    }

    /// The whole text.
    var text: String { Console.table(rows) }

    private mutating func add(_ picture: StillPictureInfo, isPrimary: Bool) {
        rows += [[""], ["PICTURE \(picture.item)", picture.type + (isPrimary ? ", primary" : "")]]
        if let name = picture.name { rows.append(["  name", FileName.printable(name)]) }
        if let width = picture.width, let height = picture.height {
            let coded = picture.codedWidth.flatMap { width in
                picture.codedHeight.map { " (\(width)x\($0) before)" }
            }
            rows.append(["  size", "\(width)x\(height)\(coded ?? "")"])
        }
        if !picture.transformations.isEmpty {
            rows.append(["  shown", picture.transformations.joined(separator: ", ")])
        }
        if let tiles = picture.tiles {
            let count = "\(tiles.rows * tiles.columns) in \(tiles.rows) rows of \(tiles.columns)"
            rows.append(["  tiles", "\(count), TileWidth \(tiles.tileWidth), TileLength \(tiles.tileLength)"])
        }
        if let depths = picture.bitDepths {
            rows.append(["  bits", depths.map(String.init).joined(separator: " ")])
        }
        let colors = [picture.color, picture.profileBytes.map { "ICC profile of \($0) bytes" }].compactMap { $0 }
        if !colors.isEmpty { rows.append(["  color", colors.joined(separator: "; ")]) }
        if !picture.light.isEmpty { rows.append(["  light", picture.light.joined(separator: " ")]) }
        addRelated(picture)
        if let exif = picture.exif { rows.append(["  Exif", Self.text(exif)]) }
        if let identifier = picture.exif?.contentIdentifier {
            rows.append(["  Live Photo", FileName.printable(identifier)])
        }
        for metadata in picture.metadata {
            let size = metadata.bytes.map { ", \($0) bytes" } ?? ""
            rows.append(["  metadata", FileName.printable(metadata.type) + size])
        }
        for fault in picture.faults { rows.append(["  cannot be used", FileName.printable(fault)]) }
    }

    private mutating func addRelated(_ picture: StillPictureInfo) {
        for thumbnail in picture.thumbnails {
            rows.append(["  thumbnail", "\(thumbnail.width)x\(thumbnail.height) (item \(thumbnail.item))"])
        }
        for auxiliary in picture.auxiliaries {
            let mode = auxiliary.premultiplied.map { $0 ? ", premultiplied" : ", straight" } ?? ""
            let name = auxiliary.kind == "other" ? FileName.printable(auxiliary.urn ?? "") : auxiliary.kind ?? ""
            rows.append([
                "  auxiliary", "\(name)\(mode), \(auxiliary.width)x\(auxiliary.height) (item \(auxiliary.item))",
            ])
        }
        if let gainMap = picture.gainMap { rows.append(["  gain map", "ISO 21496-1 (item \(gainMap))"]) }
    }

    private static func text(_ exif: StillPictureInfo.Exif) -> String {
        let exposure = exif.exposureTime.map {
            $0 > 0 && $0 < 0.5 ? "1/\(Int((1 / max($0, 1e-9)).rounded())) s" : "\(Progress.decimal($0, 1)) s"
        }
        let parts: [String?] = [
            exif.make, exif.model, exif.lens, exif.software, exif.date, exposure,
            exif.fNumber.map { "f/\(Progress.decimal($0, 1))" }, exif.iso.map { "ISO \($0)" },
            exif.focalLength.map { "\(Progress.decimal($0, 1)) mm" }, exif.orientation.map { "orientation \($0)" },
            "\(exif.bytes) bytes",
        ]
        return FileName.printable(parts.compactMap { $0 }.joined(separator: ", "))
    }
}
