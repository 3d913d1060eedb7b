// SPDX-License-Identifier: MIT
internal import HWDBoxes
public import HWDHEIF
public import HWDModel

extension ImageReader {
    /// What a file says of a picture.
    public struct Picture: Hashable, Sendable {
        /// A picture that belongs to another one.
        public struct Related: Hashable, Sendable {
            public let item: UInt32
            /// As it is shown, in samples.
            public let width: Int
            public let height: Int
            /// Of an auxiliary picture; nil for a thumbnail.
            public let kind: AuxiliaryKind?
            /// The URN of an auxiliary picture's kind (ISO/IEC 23008-12 6.5.8); nil for a thumbnail.
            public let urn: String?
        }

        /// The number of its item.
        public let item: UInt32
        /// The type of its item: `hvc1`, `grid`, `iden`, `iovl`, `jpeg`, ….
        public let type: String
        /// The size as it is shown, turned and cropped, in samples.
        public let width: Int
        public let height: Int
        /// The most bits of a sample.
        public let bitDepth: Int
        /// Whether it is the picture that is shown first.
        public let isPrimary: Bool
        /// Whether it is not meant to be shown by itself.
        public let isHidden: Bool
        /// How it is turned when it is shown; `ImageReader.decode` does that.
        public let orientation: Orientation
        /// Samples of a tile of a grid before it is turned; nil where the picture is not a grid.
        public let tileWidth: Int?
        public let tileHeight: Int?
        /// Whether the samples are multiplied by alpha; nil without alpha.
        public let alphaMode: AlphaChannelMode?
        /// Alpha, depth, gain maps and mattes.
        public let auxiliaries: [Related]
        /// The smallest first.
        public let thumbnails: [Related]
        /// How its samples are read, as of `DecodedImage.color`.
        public let color: ColorDescription
        /// Its ICC profile; nil without one.
        public let iccProfile: [UInt8]?

        init(_ id: UInt32, _ input: StillInput) throws(ImageError) {
            let file = input.file
            let picture = try input.naming { () throws(HEIFError) in try file.picture(id) }
            let coded = file.firstCoded(of: picture)
            let tile =
                picture.kind == .grid ? file.targets("dimg", of: id).first.flatMap { try? file.picture($0) } : nil
            let color = try input.color(of: picture, coded: coded)
            let auxiliaries = file.auxiliaries(of: id)
            (item, type) = (id, picture.item.type.description)
            (width, height) = (picture.shownWidth, picture.shownHeight)
            bitDepth = color.bitDepth
            (isPrimary, isHidden) = (id == file.primary, picture.item.isHidden)
            orientation = picture.orientation
            (tileWidth, tileHeight) = (tile?.shownWidth, tile?.shownHeight)
            alphaMode = auxiliaries.first { $0.kind == .alpha }.map {
                $0.isPremultiplied ? .premultiplied : .straight
            }
            self.auxiliaries =
                auxiliaries.map { Related($0.picture, $0.kind, $0.urn) }
                + file.toneMaps(of: id).prefix(1).compactMap { map in
                    (try? file.picture(map.gainMap)).map { Related($0, .gainMap, nil) }
                }
            thumbnails = file.thumbnails(of: id).map { Related($0, nil, nil) }
            (self.color, iccProfile) = (color.color, color.profile)
        }
    }
}

extension ImageReader.Picture.Related {
    fileprivate init(_ picture: PictureDescription, _ kind: AuxiliaryKind?, _ urn: String?) {
        (item, width, height) = (picture.item.id, picture.shownWidth, picture.shownHeight)
        (self.kind, self.urn) = (kind, urn)
    }
}
