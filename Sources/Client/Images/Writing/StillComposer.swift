// SPDX-License-Identifier: MIT
package import HWDHEIF
package import HWDWire

/// Codes pictures with what belongs to them, and collects them as the contents of a file.
package struct StillComposer {
    /// What is made of the pictures.
    package struct Options {
        /// The size of tiles; nil for the usual one, 0 for one tile.
        package var tile: Int?
        /// The most samples on a side of the thumbnail; 0 for none.
        package var thumbnail = 320
        /// The picture that is shown first, by its index.
        package var cover = 0
        /// An ICC profile that replaces those of the pictures; nil keeps them.
        package var profile: [UInt8]?
        /// The quantizer of alpha; nil is that of the picture.
        package var alphaQP: Int64?

        package init() {}
    }

    /// Returns a picture in a smaller size.
    package typealias Scale = (_ canvas: StillCanvas, _ width: Int, _ height: Int) throws -> StillCanvas

    package var contents = StillFileContents([])
    private let encoder: StillEncoder
    private let options: Options
    private let scale: Scale

    package init(_ encoder: StillEncoder, _ options: Options, scale: @escaping Scale) {
        (self.encoder, self.options, self.scale) = (encoder, options, scale)
        contents.primary = options.cover
    }

    /// Codes a picture with its alpha; the one that is shown first gets the thumbnail.
    ///
    /// - Parameter orientation: how the picture is turned when it is shown.
    package mutating func add(
        _ pixels: StillPixels, _ orientation: Orientation
    ) throws -> CreateCompressionSession.Reply {
        let index = contents.pictures.count
        var (still, created) = try encoder.encode(pixels.canvas, color: pixels.color, tile: options.tile)
        pixels.describe(&still, options.profile)
        still.picture.orientation = orientation
        contents.pictures.append(still)
        if index == options.cover { contents.thumbnail = try thumbnail(pixels) }
        if let alpha = pixels.alpha {
            let (still, _) = try encoder.with(quantizer: options.alphaQP)
                .encode(alpha, color: nil, tile: options.tile)
            var auxiliary = StillFileContents.Auxiliary(.alpha, still, of: index)
            auxiliary.isPremultiplied = pixels.isPremultiplied
            contents.auxiliaries.append(auxiliary)
        }
        return created
    }

    private func thumbnail(_ pixels: StillPixels) throws -> CodedStill? {
        let canvas = pixels.canvas
        guard options.thumbnail > 0, max(canvas.width, canvas.height) > options.thumbnail else { return nil }
        let size = StillCanvas.size(canvas.width, canvas.height, within: options.thumbnail)
        func even(_ side: Int) -> Int { max(2, (side + 1) / 2 * 2) }
        let small = try scale(canvas, even(size.width), even(size.height))
        var (still, _) = try encoder.encode(small, color: pixels.color, tile: 0)
        pixels.describe(&still, options.profile)
        return still
    }

    /// Codes the depth or the gain map of a picture: gray of 8 bits.
    ///
    /// - Parameter range: what the samples of depth stand for; nil where that is not known.
    package mutating func add(
        _ map: StillCanvas, as kind: AuxiliaryKind, of index: Int, range: DepthRange? = nil
    ) throws {
        let (still, _) = try encoder.encode(map, color: nil, tile: options.tile)
        var auxiliary = StillFileContents.Auxiliary(kind, still, of: index)
        if kind == .gainMap { auxiliary.xmp = Self.gainMapXMP }
        if let range { (auxiliary.subtype, auxiliary.xmp) = (range.subtype, range.xmp) }
        contents.auxiliaries.append(auxiliary)
    }

    /// Codes an auxiliary picture of another file as it is described there: 8 bits at full range.
    package mutating func add(_ map: CarriedAuxiliary, of index: Int) throws {
        let (still, _) = try encoder.encode(map.canvas, color: nil, tile: options.tile)
        var auxiliary = StillFileContents.Auxiliary(map.kind, still, of: index)
        (auxiliary.urn, auxiliary.subtype, auxiliary.xmp) = (map.urn, map.subtype, map.xmp)
        contents.auxiliaries.append(auxiliary)
    }

    /// What readers of Apple's gain maps look for.
    private static let gainMapXMP = Array(
        """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
        <rdf:Description rdf:about="" xmlns:HDRGainMap="http://ns.apple.com/HDRGainMap/1.0/" \
        HDRGainMap:HDRGainMapVersion="65536"/></rdf:RDF></x:xmpmeta>
        """.utf8)
}
