// SPDX-License-Identifier: MIT
package import HWDHEIF
internal import HWDModel

/// An auxiliary picture of a HEIF file that another file gets: depth, a gain map, a matte or one of another kind.
package struct CarriedAuxiliary {
    package var kind: AuxiliaryKind
    package var urn: String
    /// What follows the URN in `auxC`.
    package var subtype: [UInt8]
    package var xmp: [UInt8]?
    /// Bits of a sample in the file it comes from.
    package var sourceBitDepth: Int
    /// 8 bits at full range, upright.
    package var canvas: StillCanvas
}

extension StillPainter {
    /// Decodes an auxiliary picture of a picture.
    ///
    /// - Throws: as for pictures.
    package func carried(_ auxiliary: AuxiliaryPicture, of id: UInt32) throws -> CarriedAuxiliary {
        let file = input.file
        let master = try input.naming { () throws(HEIFError) in try file.picture(id) }
        let item = auxiliary.picture.item.id
        var (canvas, color) = try paint(item, part: nil, alpha: nil, as: .yu12)
        if !color.color.isFullRange { canvas = try canvas.atFullRange(color.color) }
        // Its orientation is the picture's where it states none.
        if auxiliary.picture.transformations.isEmpty, master.orientation != .upright {
            canvas = try canvas.turned(master.orientation)
        }
        let document = file.metadata(of: item).first { $0.kind == .xmp }
        let xmp = try document.map { document in
            try input.naming { () throws(HEIFError) in try file.xmp(document.id, from: input.source) }
        }
        return CarriedAuxiliary(
            kind: auxiliary.kind, urn: auxiliary.urn, subtype: auxiliary.subtype, xmp: xmp,
            sourceBitDepth: color.bitDepth, canvas: canvas)
    }
}

extension StillCanvas {
    /// The picture of 8 bits in the same matrix at full range.
    fileprivate func atFullRange(_ color: ColorDescription) throws(ImageError) -> StillCanvas {
        let result = try StillCanvas(.yu12, width: width, height: height)
        var wanted = color
        wanted.isFullRange = true
        convert(color, to: result.planes, wanted)
        return result
    }
}
