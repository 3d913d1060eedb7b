// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWImages

/// Reads the pictures that `hwctl encode` puts into HEIC files.
struct StillSource {
    let daemon: Daemon
    var options: StillReader.Options
    /// What the inputs are where they have no header.
    var raw: RawStill?
    let interruption: Interruption

    /// The first picture of a file.
    ///
    /// - Returns: the picture, and whether it is upright whatever Exif says.
    func read(_ path: String) throws -> (pixels: StillPixels, isUpright: Bool) {
        if let raw { return (try raw.read(path, options), true) }
        guard let still = try StillInput.open(path), let primary = still.file.primary else {
            let reader = try StillReader(path, options)
            reader.noteSound(path)
            return (try reader.first(), false)
        }
        return (try read(still, primary), true)
    }

    /// A picture of a HEIC file, as it is shown.
    private func read(_ still: StillInput, _ primary: UInt32) throws -> StillPixels {
        let tiles = StillTiles(
            still, [:], PictureSessions(interruption) { daemon }, local: .hwctl)
        let (canvas, color) = try StillPainter(input: still, tiles: tiles).paint(primary, part: nil, alpha: nil)
        var pixels = StillPixels(canvas: canvas, color: color.color)
        pixels.profile = color.profile
        pixels.light = try still.naming { () throws(HEIFError) in try still.file.picture(primary).light }
        let alpha = try still.naming { () throws(HEIFError) in try still.file.alpha(of: primary) }
        pixels.hasAlpha = alpha != nil
        guard let mode = options.alpha else { return pixels }
        guard let alpha else { throw MediaError(.badInput, "\(still.path) has no alpha: leave --alpha out") }
        guard alpha.isPremultiplied == (mode == .premultiplied) else {
            throw MediaError(
                .unsupported,
                "\(still.path) has \(alpha.isPremultiplied ? "premultiplied" : "straight") alpha, which is kept")
        }
        let part = PixelRect(width: canvas.width, height: canvas.height)
        let (mask, _) = try StillPainter(input: still, tiles: tiles)
            .paint(alpha.picture.item.id, part: part, alpha: nil)
        if mask.format.bitDepth > 8 { throw MediaError(.unsupported, "\(still.path) has alpha of 10 bits") }
        mask.makeGray()
        pixels.alpha = mask
        return pixels
    }

    /// What Exif says of a picture that is read.
    struct Description {
        /// A TIFF structure with orientation 1 for the output; nil without.
        var tiff: [UInt8]?
        /// How the picture's own Exif turns it.
        var orientation = Orientation.upright
        /// Whether the colors are in a space that Exif has no number for.
        var isUncalibrated = false
    }

    /// What the Exif of a file says; the orientation is always that of its own Exif, which belongs to its samples.
    ///
    /// - Parameters:
    ///   - isRaw: whether the file has no header, so that no bytes of it are Exif.
    ///   - choice: whose Exif the output gets.
    static func exif(of path: String, isRaw: Bool = false, _ choice: ExifChoice) throws -> Description {
        let own = isRaw ? nil : try ownExif(of: path, isOptional: choice == .keep(isGiven: false))
        let fields = own.flatMap { ExifFields(tiff: $0) }
        var description = Description(
            orientation: Orientation(exif: fields?.orientation ?? 1),
            isUncalibrated: fields?.isUncalibrated == true)
        let found: [UInt8]?
        switch choice {
        case .drop: return description
        case .keep: found = own
        case .file(let other): found = try ExifSource.read(other)
        }
        description.tiff = found.flatMap(ExifFields.withoutSamples)
            .flatMap { ExifFields.replacingOrientation(in: $0, with: 1) }
        if description.tiff == nil, choice != .keep(isGiven: false) {
            throw MediaError(.badInput, "\(choice.path ?? path) has no Exif")
        }
        return description
    }

    private static func ownExif(of path: String, isOptional: Bool) throws(MediaError) -> [UInt8]? {
        do throws(MediaError) { return try ExifSource.read(path) } catch {
            guard isOptional, error.kind == .badInput else { throw error }
            Console.note("warning: Exif is left out: \(error.reason)")
            return nil
        }
    }

    /// The XMP document of a HEIC file's picture; nil for another file, and without one.
    func xmp(of path: String) throws -> [UInt8]? {
        guard raw == nil, let still = try StillInput.open(path), let primary = still.file.primary,
            let document = still.file.metadata(of: primary).first(where: { $0.kind == .xmp })
        else { return nil }
        return try still.naming { () throws(HEIFError) in try still.file.xmp(document.id, from: still.source) }
    }

    /// Calls `body` with the depth, gain map and mattes of a HEIC file's picture; another file has none.
    ///
    /// One that cannot be decoded or coded is left out with a warning: the picture does not need it.
    ///
    /// - Parameter replaced: the kinds that the output gets from elsewhere.
    /// - Throws: for an interruption and a daemon that cannot be reached.
    func forEachAuxiliary(
        of path: String, replacing replaced: Set<AuxiliaryKind>, _ body: (CarriedAuxiliary) throws -> Void
    ) throws {
        guard raw == nil else { return }
        if !replaced.contains(.gainMap), ExifSource.hasGainMap(path) {
            Console.note("warning: \(path): the gain map of the JPEG file (Ultra HDR) is left out")
        }
        guard let still = try StillInput.open(path), let primary = still.file.primary else { return }
        if !replaced.contains(.gainMap), !still.file.toneMaps(of: primary).isEmpty {
            Console.note("warning: \(path): the gain map of ISO 21496-1 is left out")
        }
        for auxiliary in still.file.auxiliaries(of: primary) where auxiliary.kind != .alpha {
            guard !replaced.contains(auxiliary.kind) else { continue }
            let name = StillPictureInfo.name(auxiliary.kind)
            // A session that met a damaged picture has others of it in flight.
            let tiles = StillTiles(still, [:], PictureSessions(interruption) { daemon }, local: .hwctl)
            do {
                let carried = try StillPainter(input: still, tiles: tiles).carried(auxiliary, of: primary)
                try body(carried)
                if carried.sourceBitDepth > 8 {
                    Console.note("\(path): the \(name) has 8 of \(carried.sourceBitDepth) bits")
                }
            } catch {
                let failure = CommandFailure(error)
                guard !interruption.isSet, failure.exitCode != ExitStatus.unavailable.rawValue else { throw error }
                Console.note("warning: \(path): the \(name) is left out: \(failure.reason)")
            }
        }
    }
}

extension StillReader {
    /// Reports the sound that HEIC files do not hold.
    func noteSound(_ path: String) {
        OtherStream.notes(of: sound, because: "HEIC files hold only pictures").forEach {
            Console.note("\(path): \($0)")
        }
    }
}

extension StillPixels {
    /// Reports what of the file the coded picture omits.
    func note(_ path: String) {
        if hasAlpha, alpha == nil { Console.note("\(path): alpha is left out; --alpha straight keeps it") }
        if hasDeepAlpha, alpha != nil { Console.note("\(path): alpha of more than 8 bits becomes 8 bits") }
    }
}
