// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDMediaFile
internal import HWDModel
internal import HWDWire

/// One run of `hwctl encode` to a HEIC file: picture → tiles → sessions → items.
struct StillEncodeJob {
    /// What to write, and how.
    struct Request {
        var file: FilePair
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
        var exif: String?
        var xmp: String?
        var icc: String?
        var depthMap: String?
        var gainMap: String?
        var json = false
    }

    /// The most bytes of documents that are put into a file.
    private static let mostXMP = 16 << 20

    let request: Request
    private var input: String { request.file.input }
    private var output: String { request.file.output }
    /// Files that must not be replaced.
    private var inputs: [String] {
        let others: [String?] = [
            input, request.exif == "copy" ? nil : request.exif, request.xmp, request.icc, request.depthMap,
            request.gainMap,
        ]
        return others.compactMap { $0 }
    }

    func run(_ interruption: Interruption) throws {
        interruption.onSignal {}
        let progress = Progress(total: nil)
        let (exif, orientation) = try exif()
        let xmp = try request.xmp.map { try StillBytesOfFile.read($0, most: Self.mostXMP) }
        let profile = try request.icc.map { try StillBytesOfFile.read($0, most: HEIFLimits.profileSize) }
        let daemon = try Daemon.findAndReport()
        let (pixels, isUpright) = try pixels(daemon, interruption)
        if pixels.hasAlpha, pixels.alpha == nil { Console.note("alpha is left out; --alpha straight keeps it") }
        let encoder = StillEncoder(
            daemon: daemon, specification: request.specification, properties: request.properties,
            interruption: interruption)
        var (still, created) = try encoder.encode(pixels.canvas, color: pixels.color, tile: request.tile)
        describe(&still, pixels, profile ?? pixels.profile)
        still.picture.orientation = isUpright ? .upright : orientation
        var contents = StillFileContents([still])
        (contents.exif, contents.xmp) = (exif, xmp)
        contents.thumbnail = try thumbnail(pixels, profile ?? pixels.profile, encoder)
        try addAuxiliaries(to: &contents, pixels, encoder)
        let bytes = try contents.write(to: output, inputs: inputs)
        try StillEncodeSummary(
            file: request.file, created: created, still: still, auxiliaries: contents.auxiliaries.map(\.kind),
            seconds: progress.seconds, bytes: bytes
        ).report(json: request.json)
    }

    /// Exif with orientation 1, and the orientation that the picture gets instead.
    private func exif() throws -> (tiff: [UInt8]?, orientation: Orientation) {
        let path = request.exif == "copy" || request.exif == nil ? input : request.exif ?? input
        guard let tiff = path == "-" ? nil : try ExifSource.read(path) else {
            guard request.exif == nil else { throw MediaError(.badInput, "\(path) has no Exif") }
            return (nil, .upright)
        }
        let orientation = Orientation(exif: ExifFields(tiff: tiff)?.orientation ?? 1)
        guard request.exif != nil else { return (nil, orientation) }
        return (ExifFields.replacingOrientation(in: tiff, with: 1), orientation)
    }

    /// The picture, and whether it is upright whatever Exif says.
    private func pixels(_ daemon: Daemon, _ interruption: Interruption) throws -> (StillPixels, Bool) {
        guard let still = try StillInput.open(input), let primary = still.file.primary else {
            return (try StillReader.read(input, request.source), false)
        }
        let tiles = StillTiles(still, [:], daemon: { daemon }, isInterrupted: { interruption.isSet })
        let (canvas, color) = try StillPainter(input: still, tiles: tiles).paint(primary, part: nil, alpha: nil)
        var pixels = StillPixels(canvas: canvas, color: color.color)
        pixels.profile = color.profile
        let alpha = try still.naming { () throws(HEIFError) in try still.file.alpha(of: primary) }
        pixels.hasAlpha = alpha != nil
        if let mode = request.source.alpha {
            guard let alpha else { throw MediaError(.badInput, "\(input) has no alpha: leave --alpha out") }
            guard alpha.isPremultiplied == (mode == .premultiplied) else {
                throw MediaError(
                    .unsupported,
                    "\(input) has \(alpha.isPremultiplied ? "premultiplied" : "straight") alpha, which is kept")
            }
            let part = PixelRect(width: canvas.width, height: canvas.height)
            let (mask, _) = try StillPainter(input: still, tiles: tiles)
                .paint(alpha.picture.item.id, part: part, alpha: nil)
            mask.makeGray()
            pixels.alpha = mask
        }
        return (pixels, true)
    }

    private func describe(_ still: inout CodedStill, _ pixels: StillPixels, _ profile: [UInt8]?) {
        let color = pixels.color
        let points = ColorInformation.CodePoints(
            primaries: Int(color.primaries), transfer: Int(color.transfer), matrix: Int(color.matrix),
            isFullRange: color.isFullRange)
        still.picture.colors =
            (profile.map { [.profile($0, isRestricted: false)] } ?? []) + [.codePoints(points)]
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
        describe(&still, pixels, profile)
        return still
    }

    private func addAuxiliaries(
        to contents: inout StillFileContents, _ pixels: StillPixels, _ encoder: StillEncoder
    ) throws {
        if let alpha = pixels.alpha {
            var properties = request.properties
            if let qp = request.alphaQP { properties[.qp] = .int(qp) }
            let alphaEncoder = StillEncoder(
                daemon: encoder.daemon, specification: request.specification, properties: properties,
                interruption: encoder.interruption)
            let (still, _) = try alphaEncoder.encode(alpha, color: nil, tile: request.tile)
            contents.auxiliaries.append((.alpha, still, request.source.alpha == .premultiplied, nil))
        }
        for (kind, path) in [(AuxiliaryKind.depth, request.depthMap), (.gainMap, request.gainMap)] {
            guard let path else { continue }
            var options = StillReader.Options()
            options.isGray = true
            let gray = try StillReader.read(path, options)
            let (still, _) = try encoder.encode(gray.canvas, color: nil, tile: request.tile)
            contents.auxiliaries.append((kind, still, false, kind == .gainMap ? Self.gainMapXMP : nil))
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

/// What `hwctl encode` reports of a HEIC file.
struct StillEncodeSummary: CommandSummary {
    private var schema = 2
    private var input: String
    private var output: String
    private var width: Int
    private var height: Int
    private var tiles: Int
    private var auxiliaries: [String]
    private var encoderID: String
    private var usingHardware: Bool
    private var fallbackReason: String?
    private var seconds: Double
    private var fileBytes: Int

    enum CodingKeys: String, CodingKey {
        case schema, input, output, width, height, tiles, auxiliaries, seconds
        case encoderID = "EncoderID"
        case usingHardware = "UsingHardwareAcceleratedVideoEncoder"
        case fallbackReason = "FallbackReason"
        case fileBytes = "file_bytes"
    }

    init(
        file: FilePair, created: CreateCompressionSession.Reply, still: CodedStill, auxiliaries: [AuxiliaryKind],
        seconds: Double, bytes: Int
    ) {
        (input, output) = (file.input, file.output)
        (width, height, tiles) = (still.picture.width, still.picture.height, still.tiles.count)
        self.auxiliaries = auxiliaries.map(StillPictureInfo.name)
        (encoderID, usingHardware) = (created.encoderID, created.usingHardware)
        fallbackReason = created.fallbackReason
        (self.seconds, fileBytes) = (seconds, bytes)
    }

    /// The human-readable lines.
    var lines: [String] {
        let why = usingHardware ? "hardware" : "software" + (fallbackReason.map { ": \($0)" } ?? ", as requested")
        let also = auxiliaries.isEmpty ? "" : ", with " + auxiliaries.joined(separator: " and ")
        return [
            "encoder: \(encoderID) (\(why))",
            "\(output): \(width)x\(height) in \(tiles == 1 ? "1 tile" : "\(tiles) tiles")\(also), \(fileBytes) bytes in "
                + "\(Progress.decimal(seconds, 2)) s",
        ]
    }
}
