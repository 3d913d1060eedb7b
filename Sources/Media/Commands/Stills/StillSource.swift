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
    ///   - other: a file whose Exif the output gets, which must have some; nil leaves Exif out.
    static func exif(of path: String, isRaw: Bool = false, from other: String?) throws -> Description {
        let own = isRaw ? nil : try ExifSource.read(path)
        let fields = own.flatMap { ExifFields(tiff: $0) }
        var description = Description(
            orientation: Orientation(exif: fields?.orientation ?? 1),
            isUncalibrated: fields?.isUncalibrated == true)
        guard let other else { return description }
        guard let tiff = try other == path ? own : ExifSource.read(other) else {
            throw MediaError(.badInput, "\(other) has no Exif")
        }
        description.tiff = ExifFields.replacingOrientation(in: tiff, with: 1)
        return description
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
