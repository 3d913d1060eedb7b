// SPDX-License-Identifier: MIT
package import HWDHEIF

/// A HEIC file that is written in one piece.
package struct StillFileContents: Sendable {
    /// Several are a burst.
    package var pictures: [CodedStill]
    /// The picture that is shown first, by its index.
    package var primary = 0
    package var thumbnail: CodedStill?
    package var auxiliaries: [Auxiliary] = []
    /// A TIFF structure.
    package var exif: [UInt8]?
    package var xmp: [UInt8]?

    /// An auxiliary picture of one of the pictures.
    package struct Auxiliary: Sendable {
        package var kind: AuxiliaryKind
        package var still: CodedStill
        /// The picture that it belongs to, by its index.
        package var master: Int
        /// For alpha: the picture's samples are multiplied by it.
        package var isPremultiplied = false
        /// What follows the URN in `auxC`.
        package var subtype: [UInt8] = []
        package var xmp: [UInt8]?
        /// nil is the usual one of the kind.
        package var urn: String?

        package init(_ kind: AuxiliaryKind, _ still: CodedStill, of master: Int) {
            (self.kind, self.still, self.master) = (kind, still, master)
        }
    }

    package init(_ pictures: [CodedStill]) { self.pictures = pictures }

    /// Writes the file.
    ///
    /// - Returns: its bytes.
    /// - Throws: `unsupported` for what a HEIC file cannot hold; `cannotCreate`, `io`.
    package func write(to path: String, inputs: [String]) throws(ImageError) -> Int {
        let bytes = try bytes(for: path)
        try ImageFile(path, inputs: inputs).finish(bytes)
        return bytes.count
    }

    /// The bytes of the file.
    ///
    /// - Throws: `unsupported` for what a HEIC file cannot hold.
    package func bytes(for path: String) throws(ImageError) -> [UInt8] {
        do throws(HEIFError) {
            let layout = try StillLayout(description())
            return try layout.file(layout.parts.map { data(of: $0.content) })
        } catch { throw ImageError(error, path) }
    }

    private func description() -> StillFile {
        var file = StillFile(pictures.map(\.picture))
        file.primary = primary
        file.thumbnail = thumbnail?.picture
        file.auxiliaries = auxiliaries.compactMap { auxiliary in
            let stated = auxiliary.urn.map { StillAuxiliary(urn: $0, auxiliary.still.picture) }
            guard var still = stated ?? StillAuxiliary(auxiliary.kind, auxiliary.still.picture) else { return nil }
            (still.isPremultiplied, still.hasXMP) = (auxiliary.isPremultiplied, auxiliary.xmp != nil)
            (still.master, still.subtype) = (auxiliary.master, auxiliary.subtype)
            return still
        }
        (file.hasExif, file.hasXMP) = (exif != nil, xmp != nil)
        return file
    }

    private func data(of content: StillPart.Content) -> [UInt8] {
        switch content {
        case .exif: return ExifItem.bytes(tiff: exif ?? [])
        case .xmp(.auxiliary(let index)): return auxiliaries[index].xmp ?? []
        case .xmp: return xmp ?? []
        case .tile(let role, let row, let column):
            let still: CodedStill? =
                switch role {
                case .thumbnail: thumbnail
                case .picture(let index): pictures[index]
                case .auxiliary(let index): auxiliaries[index].still
                }
            guard let still else { return [] }
            let columns = (still.picture.width + still.tileWidth - 1) / still.tileWidth
            return still.tiles[row * columns + column]
        }
    }
}
