// SPDX-License-Identifier: MIT
package import HWDHEIF

extension StillInput {
    /// The picture of an item that is asked for; nil asks for the primary one.
    ///
    /// - Throws: `damaged`, `unsupported` for an item that is no picture.
    package func picture(_ item: UInt32?) throws(ImageError) -> UInt32 {
        guard let id = item ?? file.primary else {
            throw ImageError(.damaged, "\(path) has no picture: it is an image sequence")
        }
        _ = try naming { () throws(HEIFError) in try file.picture(id) }
        return id
    }

    /// The item that is decoded: the picture, its auxiliary picture, or a thumbnail that suffices.
    ///
    /// - Parameters:
    ///   - auxiliary: the kind that is wanted, and its name in messages.
    ///   - thumbnail: the most samples on a side of the result.
    /// - Throws: `damaged` for a picture without such an auxiliary one.
    package func source(
        of id: UInt32, auxiliary: (kind: AuxiliaryKind, name: String)?, thumbnail: Int?
    ) throws(ImageError) -> UInt32 {
        if let auxiliary {
            let found = file.auxiliaries(of: id).first { $0.kind == auxiliary.kind }?.picture.item.id
            guard let found = found ?? (auxiliary.kind == .gainMap ? file.toneMaps(of: id).first?.gainMap : nil)
            else { throw ImageError(.damaged, "\(path): item \(id) has no picture \"\(auxiliary.name)\"") }
            return found
        }
        guard let thumbnail else { return id }
        return file.thumbnails(of: id).first { max($0.shownWidth, $0.shownHeight) >= thumbnail }?.item.id ?? id
    }
}
