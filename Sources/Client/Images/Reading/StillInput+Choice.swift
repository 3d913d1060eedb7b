// SPDX-License-Identifier: MIT
package import HWDHEIF

extension StillInput {
    /// The picture of an item that is requested; nil asks for the primary one.
    ///
    /// - Throws: `noSuchPicture` for an item that does not exist; `damaged`, `unsupported` for one that is no picture, and
    ///   `unsupported` for the primary picture of an image sequence without one.
    package func picture(_ item: UInt32?) throws(ImageError) -> UInt32 {
        guard let id = item ?? file.primary else {
            throw ImageError(.unsupported, "\(path) has no picture: it is an image sequence")
        }
        guard file.item(id) != nil else {
            throw ImageError(.noSuchPicture, "\(path): item \(id) does not exist")
        }
        _ = try naming { () throws(HEIFError) in try file.picture(id) }
        return id
    }

    /// The item that is decoded: the picture, its auxiliary picture, or a thumbnail that suffices.
    ///
    /// - Parameters:
    ///   - auxiliary: the kind that is wanted, and its name in messages.
    ///   - thumbnail: the most samples on a side of the result.
    ///   - keepsAlpha: whether the result has the alpha of a picture with one, so that a thumbnail needs it too.
    /// - Throws: `noSuchPicture` for a picture without such an auxiliary one; `damaged` for alpha that does not fit.
    package func source(
        of id: UInt32, auxiliary: (kind: AuxiliaryKind, name: String)?, thumbnail: Int?, keepsAlpha: Bool
    ) throws(ImageError) -> UInt32 {
        if let auxiliary {
            let found = file.auxiliaries(of: id).first { $0.kind == auxiliary.kind }?.picture.item.id
            guard let found = found ?? (auxiliary.kind == .gainMap ? file.toneMaps(of: id).first?.gainMap : nil)
            else { throw ImageError(.noSuchPicture, "\(path): item \(id) has no picture \"\(auxiliary.name)\"") }
            return found
        }
        guard let thumbnail else { return id }
        let suitable = file.thumbnails(of: id).filter { max($0.shownWidth, $0.shownHeight) >= thumbnail }
        guard keepsAlpha, !suitable.isEmpty,
            try naming({ () throws(HEIFError) in try file.alpha(of: id) }) != nil
        else { return suitable.first?.item.id ?? id }
        // The alpha of a thumbnail that does not fit is no reason to refuse the picture.
        return suitable.first { (try? file.alpha(of: $0.item.id)) != nil }?.item.id ?? id
    }
}
