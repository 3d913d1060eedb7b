// SPDX-License-Identifier: MIT
public import HWDBoxes
public import HWDHEVC
internal import HWDModel

/// What the properties of an item say of its picture, checked.
public struct PictureDescription: Sendable {
    /// A transformation (ISO/IEC 23008-12 6.5.9, 6.5.10, 6.5.12).
    public enum Transformation: Hashable, Sendable {
        /// Only this part is shown.
        case crop(PixelRect)
        /// Quarter turns counter-clockwise.
        case rotation(Int)
        /// An exchange of left and right, else of top and bottom.
        case mirror(isLeftRight: Bool)
    }

    public let item: Item
    public let kind: ItemPictureKind
    /// The size before transformations.
    public let width: Int
    public let height: Int
    /// In the order in which they are applied.
    public let transformations: [Transformation]
    /// The size after transformations, as the picture is shown.
    public let shownWidth: Int
    public let shownHeight: Int
    /// The record of HEVC pictures.
    public let hevc: DecoderConfigurationRecord?
    /// The boxes of the configuration of another codec.
    public let codecConfigurations: [Box]
    /// The bits of each channel; nil where nothing states them.
    public let bitDepths: [Int]?
    /// The colors that are stated and not empty, in the order listed.
    public let colors: [ColorInformation]
    /// What an auxiliary picture is, with the data that depend on it.
    public let auxiliary: (kind: AuxiliaryKind, urn: String, subtype: [UInt8])?
    /// `mdcv`, `clli`, `cclv`, `amve`, `reve`.
    public let light: [Box]

    /// How the picture is turned when it is shown.
    public var orientation: Orientation { placement.orientation }

    var size: PixelRect { PixelRect(width: width, height: height) }
    var shownSize: PixelRect { PixelRect(width: shownWidth, height: shownHeight) }

    /// From samples of the picture to those that are shown.
    let placement: Placement
}

extension HEIFFile {
    /// The description of a picture.
    ///
    /// - Throws: `malformed` for an item that is no picture, without a size, with damaged properties or transformations
    ///   that leave nothing; `unsupported` for one with an essential property that this module does not know.
    public func picture(_ id: UInt32) throws(HEIFError) -> PictureDescription {
        guard let item = item(id) else { throw HEIFError(.malformed, "item \(id) does not exist") }
        guard let kind = item.picture else {
            throw HEIFError(.unsupported, "item \(id) is of type \"\(item.type)\", which is no known picture")
        }
        guard !item.isProtected else { throw HEIFError(.unsupported, "item \(id) is protected") }
        var parts = DescriptionParts(id: id)
        for (property, isEssential) in properties(of: item) {
            try parts.add(property, isEssential: isEssential)
        }
        parts.stream = propertyTable.stream(of: item)
        return try parts.description(item, kind)
    }
}

/// Collects the properties of a picture.
private struct DescriptionParts {
    let id: UInt32
    var size: (width: Int, height: Int)?
    var transformations: [ItemProperty] = []
    var hevc: DecoderConfigurationRecord?
    /// What the record's SPS states.
    var stream: CodedFormat?
    var codecs: [Box] = []
    var bitDepths: [Int]?
    var colors: [ColorInformation] = []
    var auxiliary: (kind: AuxiliaryKind, urn: String, subtype: [UInt8])?
    var light: [Box] = []

    mutating func add(_ property: ItemProperty, isEssential: Bool) throws(HEIFError) {
        switch property {
        case .size(let width, let height):
            guard size == nil else { throw HEIFError(.malformed, "item \(id) has two sizes") }
            size = (width, height)
        case .rotation, .mirror, .cleanAperture:
            guard !transformations.contains(where: { $0.type == property.type }) else {
                throw HEIFError(.malformed, "item \(id) has two properties \"\(property.type)\"")
            }
            transformations.append(property)
        case .hevc(let record):
            guard hevc == nil else { throw HEIFError(.malformed, "item \(id) has two hvcC records") }
            hevc = record
        case .codec(let type, let bytes): codecs.append(Box(type, bytes))
        case .bitDepths(let bits): bitDepths = bitDepths ?? bits
        case .color(.profile([], _)): break
        case .color(let color): colors.append(color)
        case .auxiliary(let urn, let subtype):
            auxiliary = auxiliary ?? (AuxiliaryKind(urn: urn), urn, subtype)
        case .light(let type, let bytes): light.append(Box(type, bytes))
        case .damaged(let type, let reason):
            throw HEIFError(.malformed, "the property \"\(type)\" of item \(id) cannot be used: \(reason)")
        case .unknown(let type, _) where isEssential:
            throw HEIFError(.unsupported, "item \(id) needs the property \"\(type)\", which is not supported")
        case .unknown, .pixelAspectRatio, .relativeLocation, .layer, .userDescription, .alternativeText,
            .requiredReferences:
            break
        }
    }

    func description(_ item: Item, _ kind: ItemPictureKind) throws(HEIFError) -> PictureDescription {
        if kind == .coded, ["hvc1", "hev1"].contains(item.type), hevc == nil {
            throw HEIFError(.malformed, "item \(id) has no hvcC record")
        }
        let stream = kind == .coded ? stream : nil
        guard let size = size ?? stream.map({ ($0.width, $0.height) }) else {
            throw HEIFError(.malformed, "item \(id) has no size")
        }
        if let stream {
            // Cameras exist whose streams have no window: the item's size is a part of the coded one.
            guard stream.width >= size.width, stream.height >= size.height else {
                throw HEIFError(
                    .malformed,
                    "item \(id) states \(size.width)x\(size.height) samples and codes \(stream.width)x\(stream.height)"
                )
            }
            guard stream.codedPixels <= HEIFLimits.codedPixels else {
                throw HEIFError(
                    .limit, "item \(id) codes a picture of more than \(HEIFLimits.codedPixels) samples")
            }
        }
        let (steps, placement, shown) = try steps(width: size.width, height: size.height)
        return PictureDescription(
            item: item, kind: kind, width: size.width, height: size.height, transformations: steps,
            shownWidth: shown.width, shownHeight: shown.height, hevc: hevc, codecConfigurations: codecs,
            bitDepths: bitDepths ?? stream?.bitDepths, colors: colors, auxiliary: auxiliary, light: light,
            placement: placement)
    }

    /// The transformations with what they do to a picture of the given size.
    private func steps(
        width: Int, height: Int
    ) throws(HEIFError) -> ([PictureDescription.Transformation], Placement, (width: Int, height: Int)) {
        var (steps, placement, size) = (
            [PictureDescription.Transformation](), Placement(), (width: width, height: height)
        )
        for property in transformations {
            switch property {
            case .rotation(let turns):
                steps.append(.rotation(turns))
                placement = .rotation(turns, width: size.width, height: size.height).after(placement)
                if turns % 2 == 1 { size = (size.height, size.width) }
            case .mirror(let isLeftRight):
                steps.append(.mirror(isLeftRight: isLeftRight))
                placement = .mirror(isLeftRight: isLeftRight, width: size.width, height: size.height).after(
                    placement)
            case .cleanAperture(let aperture):
                guard let part = aperture.samples(ofWidth: size.width, height: size.height) else {
                    throw HEIFError(
                        .malformed,
                        "the clean aperture of item \(id) leads outside of its \(width)x\(height) samples")
                }
                steps.append(.crop(part))
                placement = Placement(x: -part.x, y: -part.y).after(placement)
                size = (part.width, part.height)
            default: break
            }
        }
        return (steps, placement, size)
    }
}

extension CleanAperture {
    /// The whole samples of a picture that are inside; nil where there are none, or some are outside of the picture.
    func samples(ofWidth pictureWidth: Int, height pictureHeight: Int) -> PixelRect? {
        guard let columns = Self.range(width, horizontalOffset, pictureWidth),
            let rows = Self.range(height, verticalOffset, pictureHeight)
        else { return nil }
        return PixelRect(x: columns.start, y: rows.start, width: columns.length, height: rows.length)
    }

    private static func range(
        _ size: Rational, _ offset: Rational, _ whole: Int
    ) -> (start: Int, length: Int)? {
        let start = ((Double(whole) - size.value) / 2 + offset.value).rounded(.down)
        let length = size.value.rounded()
        guard length >= 1, start >= 0, start + length <= Double(whole) else { return nil }
        return (Int(start), Int(length))
    }
}
