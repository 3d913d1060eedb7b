// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// An auxiliary picture of another one.
public struct AuxiliaryPicture: Sendable {
    public let picture: PictureDescription
    public let kind: AuxiliaryKind
    public let urn: String
    /// Data of the auxiliary picture in `auxC`: SEI messages for alpha and depth of HEVC.
    public let subtype: [UInt8]
    /// For alpha: the samples of the picture are multiplied by it.
    public let isPremultiplied: Bool
}

/// Metadata of a picture.
public struct MetadataItem: Hashable, Sendable {
    public enum Kind: Hashable, Sendable {
        case exif
        case xmp
        /// Another MIME type or item type.
        case other(String)
    }

    public let id: UInt32
    public let kind: Kind
}

extension HEIFFile {
    /// The thumbnails of a picture, smallest first.
    ///
    /// Some files have the reference the wrong way round.
    public func thumbnails(of id: UInt32) -> [PictureDescription] {
        guard let picture = try? picture(id) else { return [] }
        let named = references.origins("thmb", of: id) + references.targets("thmb", of: id)
        return named.compactMap { try? self.picture($0) }
            .filter { $0.shownWidth * $0.shownHeight < picture.shownWidth * picture.shownHeight }
            .sorted { $0.shownWidth * $0.shownHeight < $1.shownWidth * $1.shownHeight }
    }

    /// The auxiliary pictures of a picture; those that cannot be used are left out.
    public func auxiliaries(of id: UInt32) -> [AuxiliaryPicture] {
        let premultiplying = references.targets("prem", of: id)
        return references.origins("auxl", of: id).compactMap { origin in
            guard let picture = try? picture(origin), let auxiliary = picture.auxiliary else { return nil }
            return AuxiliaryPicture(
                picture: picture, kind: auxiliary.kind, urn: auxiliary.urn, subtype: auxiliary.subtype,
                isPremultiplied: premultiplying.contains(origin))
        }
    }

    /// The alpha of a picture; nil without one.
    ///
    /// - Throws: `malformed` where it has another size than the picture; one sample more is tolerated, as cameras write
    ///   it. What `picture` throws, for an alpha that cannot be used.
    public func alpha(of id: UInt32) throws(HEIFError) -> AuxiliaryPicture? {
        let master = try picture(id)
        for origin in references.origins("auxl", of: id) {
            let alpha = try picture(origin)
            guard let auxiliary = alpha.auxiliary, auxiliary.kind == .alpha else { continue }
            guard (master.width...master.width + 1).contains(alpha.width),
                (master.height...master.height + 1).contains(alpha.height)
            else {
                throw HEIFError(
                    .malformed,
                    "the alpha of item \(id) is \(alpha.width)x\(alpha.height), its picture \(master.width)x\(master.height)"
                )
            }
            return AuxiliaryPicture(
                picture: alpha, kind: .alpha, urn: auxiliary.urn, subtype: auxiliary.subtype,
                isPremultiplied: references.targets("prem", of: id).contains(origin))
        }
        return nil
    }

    /// The tone-mapped forms of a picture by ISO 21496-1: items of type `tmap` whose first input it is, and the gain map
    /// that is the second.
    public func toneMaps(of id: UInt32) -> [(item: UInt32, gainMap: UInt32)] {
        references.origins("dimg", of: id).compactMap { origin in
            guard item(origin)?.picture == .toneMap else { return nil }
            return (origin, references.targets("dimg", of: origin)[1])
        }
    }

    /// The metadata that describe an item.
    public func metadata(of id: UInt32) -> [MetadataItem] {
        references.origins("cdsc", of: id).compactMap { origin in
            guard let item = item(origin) else { return nil }
            let contentType = text(of: origin).contentType
            return switch item.type {
            case "Exif": MetadataItem(id: origin, kind: .exif)
            case "mime" where contentType == "application/rdf+xml": MetadataItem(id: origin, kind: .xmp)
            case "mime": MetadataItem(id: origin, kind: .other(contentType))
            default: MetadataItem(id: origin, kind: .other(item.type.description))
            }
        }
    }

    /// The groups that an item belongs to.
    public func groups(of id: UInt32) -> [EntityGroup] { groups.filter { $0.entities.contains(id) } }

    /// The TIFF structure of an Exif item.
    ///
    /// It follows an offset to it (ISO/IEC 23008-12 A.2.1), which cameras exist that write wrong or leave out: then the
    /// structure is searched in the first bytes.
    /// - Throws: what `data` throws; `malformed` where there is no TIFF structure.
    public func exif(_ id: UInt32, from source: some ByteSource) throws(HEIFError) -> [UInt8] {
        let bytes = try data(of: id, from: source, limit: HEIFLimits.metadataSize)
        func isTIFF(_ place: Int) -> Bool {
            place + 8 <= bytes.count
                && (bytes[place..<place + 4].elementsEqual([0x49, 0x49, 42, 0])
                    || bytes[place..<place + 4].elementsEqual([0x4D, 0x4D, 0, 42]))
        }
        let stated = 4 + Int(bytes.bigEndian(at: 0, 4) ?? 0)
        guard let place = isTIFF(stated) ? stated : (0..<64).first(where: isTIFF) else {
            throw HEIFError(.malformed, "the Exif item \(id) has no TIFF structure")
        }
        return Array(bytes[place...])
    }

    /// An XMP document.
    /// - Throws: what `data` throws.
    public func xmp(_ id: UInt32, from source: some ByteSource) throws(HEIFError) -> [UInt8] {
        try data(of: id, from: source, limit: HEIFLimits.metadataSize)
    }
}
