// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDMediaFile
internal import HWDModel
internal import HWImages

/// Reads the pictures that `hwctl encode` puts into HEIC files.
struct StillSource {
    let daemon: Daemon
    var options: StillReader.Options
    let interruption: Interruption

    /// The first picture of a file.
    ///
    /// - Returns: the picture, and whether it is upright whatever Exif says.
    func read(_ path: String) throws -> (pixels: StillPixels, isUpright: Bool) {
        guard let still = try StillInput.open(path), let primary = still.file.primary else {
            return (try StillReader.read(path, options), false)
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
        /// The orientation that the picture gets instead.
        var orientation = Orientation.upright
        /// Whether the colors are in a space that Exif has no number for.
        var isUncalibrated = false
    }

    /// What the Exif of a file says.
    ///
    /// - Parameter other: a file whose Exif is taken, which must have some; nil takes the orientation of `path` alone.
    static func exif(of path: String, from other: String?) throws -> Description {
        let source = other ?? path
        guard let tiff = try ExifSource.read(source) else {
            guard other == nil else { throw MediaError(.badInput, "\(source) has no Exif") }
            return Description()
        }
        let fields = ExifFields(tiff: tiff)
        return Description(
            tiff: other == nil ? nil : ExifFields.replacingOrientation(in: tiff, with: 1),
            orientation: Orientation(exif: fields?.orientation ?? 1),
            isUncalibrated: source == path && fields?.isUncalibrated == true)
    }
}

extension StillPixels {
    /// Reports what of the file the coded picture omits.
    func note(_ path: String) {
        if hasAlpha, alpha == nil { Console.note("\(path): alpha is left out; --alpha straight keeps it") }
        if hasDeepAlpha, alpha != nil { Console.note("\(path): alpha of more than 8 bits becomes 8 bits") }
    }
}
