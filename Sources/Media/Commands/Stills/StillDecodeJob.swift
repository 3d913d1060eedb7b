// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDEdits
internal import HWDHEIF
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDSystem
internal import HWImages

/// One run of `hwctl decode` on a HEIC file: items → sessions → canvas → file.
struct StillDecodeJob {
    /// What to decode, and how.
    struct Request {
        var output: String
        /// Whether files that have the outputs' names are replaced.
        var replaces = true
        var specification: [PropertyKey: PropertyValue] = [:]
        /// nil is planar in the picture's bit depth.
        var format: PixelFormat?
        var alphaMode = AlphaChannelMode.straight
        var background: BackgroundCompositor.RGB?
        var item: UInt32?
        var region: PixelRect?
        /// The most samples on a side of a small picture.
        var thumbnail: Int?
        var auxiliary: StillDecodeArguments.Auxiliary?
        /// The file for Exif.
        var exif: String?
        var json = false
    }

    let input: StillInput
    let request: Request
    private var file: HEIFFile { input.file }

    init(_ input: StillInput, _ request: Request) { (self.input, self.request) = (input, request) }

    /// Whether an output is JPEG by its name.
    static func isJPEG(_ output: String) -> Bool {
        [".jpg", ".jpeg"].contains { output.lowercased().hasSuffix($0) }
    }

    func run(_ interruption: Interruption) throws {
        interruption.onSignal {}
        // Before the input: an output that cannot be written is reported before anything is decoded.
        let group = request.exif.map { _ in FileGroup(replaces: request.replaces) }
        let output = try StillOutput(request.output, of: input, replaces: request.replaces, group: group)
        let id = try input.picture(request.item)
        // Printed once the output is complete: a picture that cannot be decoded has one line, its error.
        var notes: [String] = []
        let exif = try exif(of: id, &notes)
        if request.exif != nil, exif == nil {
            throw MediaError(.badInput, "\(input.path): item \(id) has no Exif")
        }
        var daemon: Daemon?
        let sessions = PictureSessions(interruption) {
            if let daemon { return daemon }
            let found = try SessionRequest.findDaemon()
            daemon = found
            return found
        }
        let tiles = StillTiles(input, request.specification, sessions, local: .hwctl)
        let start = Progress(total: nil)
        let shown = try input.source(
            of: id, auxiliary: request.auxiliary.map { ($0.kind, $0.rawValue) }, thumbnail: request.thumbnail,
            keepsAlpha: keepsAlpha(output))
        let alpha = try alpha(of: shown, output, &notes)
        let description = StillOutput.Description(
            format: request.format, alphaMode: alpha?.isPremultiplied == true ? .premultiplied : .straight,
            wantedAlphaMode: request.alphaMode, background: request.background, exif: exif)
        let (shape, bytes) = try write(
            (shown, alpha), StillPainter(input: input, tiles: tiles), to: output, description, &notes)
        if let path = request.exif, let exif {
            try WholeFile.write(exif, to: path, inputs: [input.path, request.output], group: group)
        }
        try output.finish()
        try group?.commit()
        notes.forEach { Console.note($0) }
        try StillDecodeSummary(
            input: input.path, output: request.output, item: shown, tiles: tiles, shape: shape,
            seconds: start.seconds, bytes: bytes
        ).report(json: request.json)
    }

    /// Decodes a picture and writes it; returns its size and the bytes of the file.
    private func write(
        _ shown: (item: UInt32, alpha: AuxiliaryPicture?), _ painter: StillPainter, to output: StillOutput,
        _ description: StillOutput.Description, _ notes: inout [String]
    ) throws -> (StillDecodeSummary.Shape, bytes: Int) {
        let (item, alpha) = shown
        // A background is laid under 4:2:0, and small pictures are scaled in it.
        if output.takesAnyChroma, request.thumbnail == nil, request.background == nil, request.format == nil {
            let (samples, color) = try painter.picture(item, part: request.region, alpha: alpha)
            let bytes = try output.write(samples, color, description, hasAlpha: alpha != nil, &notes)
            return (StillDecodeSummary.Shape(samples, color), bytes)
        }
        var (canvas, color) = try painter.paint(item, part: request.region, alpha: alpha)
        if let most = request.thumbnail {
            let size = StillCanvas.size(canvas.width, canvas.height, within: most)
            if size != (canvas.width, canvas.height) {
                canvas = try canvas.scaled(width: size.width, height: size.height)
            }
        }
        let bytes = try output.write(canvas, color, description, &notes)
        return (StillDecodeSummary.Shape(canvas), bytes)
    }

    /// The alpha that the output holds; nil without one.
    private func alpha(of id: UInt32, _ output: StillOutput, _ notes: inout [String]) throws -> AuxiliaryPicture? {
        guard request.auxiliary == nil else { return nil }
        let alpha = try input.naming { () throws(HEIFError) in try file.alpha(of: id) }
        guard let alpha else {
            if request.format == .yuva { notes.append("\(input.path) has no alpha: the picture is opaque") }
            return nil
        }
        guard keepsAlpha(output) else {
            notes.append(
                "alpha is left out; .png and --format yuva keep it, --background composites it over a color")
            return nil
        }
        return alpha
    }

    /// Whether the output has the alpha of a picture with one.
    private func keepsAlpha(_ output: StillOutput) -> Bool {
        request.auxiliary == nil && (request.format == .yuva || request.background != nil || output.isPNG)
    }

    /// The Exif for the output, whose picture is upright; nil without.
    private func exif(of id: UInt32, _ notes: inout [String]) throws -> [UInt8]? {
        guard let item = file.metadata(of: id).first(where: { $0.kind == .exif }) else { return nil }
        do throws(HEIFError) {
            let tiff = try file.exif(item.id, from: input.source)
            guard let upright = ExifFields.replacingOrientation(in: tiff, with: 1) else {
                throw HEIFError(.malformed, "Exif of \(tiff.count) bytes is no TIFF structure")
            }
            return upright
        } catch {
            guard request.exif == nil else { throw MediaError(.badInput, "\(input.path): \(error.reason)") }
            notes.append("warning: Exif is left out: \(error.reason)")
            return nil
        }
    }
}
