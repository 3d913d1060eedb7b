// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDMediaFile
internal import HWDModel
internal import HWDWire

/// One run of `hwctl encode` to a HEIC file: pictures → tiles → sessions → items.
struct StillEncodeJob {
    /// What to write, and how.
    struct Request {
        /// Several are a burst or an image sequence.
        var inputs: [String]
        var output: String
        var specification: [PropertyKey: PropertyValue] = [:]
        /// Speed and quantizer.
        var properties: [PropertyKey: PropertyValue] = [:]
        /// The quantizer of alpha; nil is that of the picture.
        var alphaQP: Int64?
        var source = StillReader.Options()
        /// The size of tiles; nil for the usual one, 0 for one tile.
        var tile: Int?
        /// The most samples on a side of the thumbnail; 0 for none.
        var thumbnail = 320
        /// The input that is shown first, by its index.
        var cover = 0
        /// Pictures per second of a sequence's inputs that have no times; nil is 25.
        var frameRate: Rational?
        var exif: String?
        var xmp: String?
        var icc: String?
        var depthMap: String?
        var gainMap: String?
        var json = false

        /// Files that must not be replaced.
        var readFiles: [String] {
            inputs + [exif == "copy" ? nil : exif, xmp, icc, depthMap, gainMap].compactMap { $0 }
        }

        /// The ICC profile that replaces those of inputs; nil keeps them.
        func profile() throws(MediaError) -> [UInt8]? {
            guard let icc else { return nil }
            return try WholeFile.read(icc, most: HEIFLimits.profileSize)
        }

        /// What codes alpha.
        func alphaEncoder(_ encoder: StillEncoder) -> StillEncoder {
            var properties = properties
            if let alphaQP { properties[.qp] = .int(alphaQP) }
            return StillEncoder(
                daemon: encoder.daemon, specification: specification, properties: properties,
                interruption: encoder.interruption)
        }
    }

    /// The most bytes of documents that are put into a file.
    private static let maxXMP = 16 << 20

    let request: Request

    func run(_ interruption: Interruption) throws {
        interruption.onSignal {}
        let progress = Progress(total: nil)
        let xmp = try request.xmp.map { try WholeFile.read($0, most: Self.maxXMP) }
        let profile = try request.profile()
        // Before pictures are coded: what is missing is reported at once.
        let described = try request.inputs.enumerated().map { index, path in
            let other = request.exif == "copy" ? path : request.exif
            return try StillSource.exif(of: path, from: index == request.cover ? other : nil)
        }
        let daemon = try Daemon.findAndReport()
        let source = StillSource(daemon: daemon, options: request.source, interruption: interruption)
        let encoder = StillEncoder(
            daemon: daemon, specification: request.specification, properties: request.properties,
            interruption: interruption)
        var contents = StillFileContents([])
        var created: CreateCompressionSession.Reply?
        (contents.exif, contents.xmp, contents.primary) = (described[request.cover].tiff, xmp, request.cover)
        for (index, path) in request.inputs.enumerated() {
            let (pixels, isUpright) = try source.read(path)
            pixels.note(path)
            if described[index].isUncalibrated, profile == nil, pixels.profile == nil,
                request.source.primaries == nil
            {
                // Cameras say so of Display P3.
                Console.note(
                    "\(path): Exif states an uncalibrated color space and there is no ICC profile; use --primaries p3 if it is Display P3"
                )
            }
            let reply = try add(
                pixels, profile, isUpright ? .upright : described[index].orientation, to: &contents, encoder)
            created = created ?? reply
        }
        try addMaps(to: &contents, encoder)
        let bytes = try contents.write(to: request.output, inputs: request.readFiles)
        guard let created else { return }
        try StillEncodeSummary(request, created, contents, seconds: progress.seconds, bytes: bytes)
            .report(json: request.json)
    }

    /// Codes a picture with what belongs to it.
    private func add(
        _ pixels: StillPixels, _ profile: [UInt8]?, _ orientation: Orientation,
        to contents: inout StillFileContents,
        _ encoder: StillEncoder
    ) throws -> CreateCompressionSession.Reply {
        let index = contents.pictures.count
        var (still, created) = try encoder.encode(pixels.canvas, color: pixels.color, tile: request.tile)
        pixels.describe(&still, profile)
        still.picture.orientation = orientation
        contents.pictures.append(still)
        if index == request.cover { contents.thumbnail = try thumbnail(pixels, profile, encoder) }
        if let alpha = pixels.alpha {
            let (still, _) = try request.alphaEncoder(encoder).encode(alpha, color: nil, tile: request.tile)
            var auxiliary = StillFileContents.Auxiliary(.alpha, still, of: index)
            auxiliary.isPremultiplied = request.source.alpha == .premultiplied
            contents.auxiliaries.append(auxiliary)
        }
        return created
    }

    private func thumbnail(
        _ pixels: StillPixels, _ profile: [UInt8]?, _ encoder: StillEncoder
    ) throws -> CodedStill? {
        let canvas = pixels.canvas
        guard request.thumbnail > 0, max(canvas.width, canvas.height) > request.thumbnail else { return nil }
        let size = StillCanvas.size(canvas.width, canvas.height, within: request.thumbnail)
        func even(_ side: Int) -> Int { max(2, (side + 1) / 2 * 2) }
        let small = try canvas.scaled(width: even(size.width), height: even(size.height))
        var (still, _) = try encoder.encode(small, color: pixels.color, tile: 0)
        pixels.describe(&still, profile)
        return still
    }

    /// Adds the depth and the gain map of the cover.
    private func addMaps(to contents: inout StillFileContents, _ encoder: StillEncoder) throws {
        for (kind, path) in [(AuxiliaryKind.depth, request.depthMap), (.gainMap, request.gainMap)] {
            guard let path else { continue }
            var options = StillReader.Options()
            options.isGray = true
            let gray = try StillReader.read(path, options)
            let (still, _) = try encoder.encode(gray.canvas, color: nil, tile: request.tile)
            var auxiliary = StillFileContents.Auxiliary(kind, still, of: request.cover)
            if kind == .gainMap { auxiliary.xmp = Self.gainMapXMP }
            contents.auxiliaries.append(auxiliary)
        }
    }

    /// What readers of Apple's gain maps look for.
    private static let gainMapXMP = Array(
        """
        <x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">\
        <rdf:Description rdf:about="" xmlns:HDRGainMap="http://ns.apple.com/HDRGainMap/1.0/" \
        HDRGainMap:HDRGainMapVersion="65536"/></rdf:RDF></x:xmpmeta>
        """.utf8)
}
