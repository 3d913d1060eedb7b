// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDHEIF
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDSystem
internal import HWImages

/// The file that a decoded still picture is written to.
struct StillOutput {
    /// What a canvas is written as.
    struct Description {
        /// nil keeps the canvas's format.
        var format: PixelFormat?
        var alphaMode = AlphaChannelMode.straight
        var wantedAlphaMode = AlphaChannelMode.straight
        var background: BackgroundCompositor.RGB?
        /// A TIFF structure that says the picture is upright.
        var exif: [UInt8]?
    }

    private let path: String
    private let inputs: [String]
    private let replaces: Bool
    /// Gives the file its name, together with others; nil without others.
    private let group: FileGroup?
    /// nil for JPEG.
    private let writer: FrameWriter?

    var isPNG: Bool { writer?.isPNG ?? false }

    /// Whether the file holds chroma of every sample, or its samples become other ones in any case.
    var takesAnyChroma: Bool { writer == nil || isPNG }

    /// - Throws: what opening the file throws.
    init(_ path: String, of input: StillInput, replaces: Bool, group: FileGroup?) throws(MediaError) {
        (self.path, inputs, self.replaces, self.group) = (path, [input.path], replaces, group)
        writer =
            StillDecodeJob.isJPEG(path)
            ? nil : try FrameWriter(path: path, inputs: inputs, replaces: replaces, group: group)
    }

    /// Writes a picture in the form that keeps all of it to a file that takes any chroma.
    ///
    /// - Parameter notes: gets lines about what the file does not hold.
    /// - Returns: the bytes of the file.
    func write(
        _ samples: StillPainter.Samples, _ color: PictureColor, _ description: Description,
        hasAlpha: Bool, _ notes: inout [String]
    ) throws -> Int {
        switch samples {
        case .yCbCr(let canvas, let crop):
            guard isPNG else { return try write(try canvas.cropped(crop), color, description, &notes) }
            return try write(canvas, color, description, crop: crop, &notes)
        case .rgb(let canvas):
            guard let writer else {
                let color = color.with(JPEGEncoder.jfif)
                return try writeJPEG(try canvas.yCbCr(.yu12, color.color), color, description, &notes)
            }
            if hasAlpha, description.alphaMode != description.wantedAlphaMode {
                canvas.changeAlphaMode(toPremultiplied: description.wantedAlphaMode == .premultiplied)
            }
            if let note = writer.colorNote(color.color, width: canvas.width, height: canvas.height) {
                notes.append(note)
            }
            try writer.write(
                canvas, bits: color.bitDepth > 8 && !hasAlpha ? 16 : 8, hasAlpha: hasAlpha, profile: color.profile)
            return writer.bytes
        }
    }

    /// Writes a picture of 4:2:0, and returns the bytes of the file.
    ///
    /// - Parameters:
    ///   - crop: the part that a PNG file shows; nil for all of it.
    ///   - notes: gets lines about what the file does not hold.
    func write(
        _ canvas: StillCanvas, _ color: PictureColor, _ description: Description, crop: PixelRect? = nil,
        _ notes: inout [String]
    ) throws -> Int {
        guard let writer else { return try writeJPEG(canvas, color, description, &notes) }
        var properties = FrameWriter.Description(
            width: canvas.width, height: canvas.height, format: canvas.format, color: color.color, frameRate: nil,
            sampleAspectRatio: nil, alphaMode: canvas.format == .yuva ? description.alphaMode : nil,
            wantedAlphaMode: description.wantedAlphaMode)
        (properties.profile, properties.crop) = (color.profile, crop)
        if let note = writer.colorNote(color.color, width: canvas.width, height: canvas.height) {
            notes.append(note)
        }
        if let background = description.background, canvas.format == .yuva {
            properties.format = .yu12
            try flattened(canvas, background, color, description.alphaMode) { try writer.write($0, properties) }
        } else if description.format == .yuva, canvas.format != .yuva {
            let opaque = try canvas.withOpaqueAlpha()
            properties.format = .yuva
            try writer.write(try opaque.view(), properties)
        } else {
            try writer.write(try canvas.view(), properties)
        }
        return writer.bytes
    }

    /// Completes the file.
    func finish() throws(MediaError) { try writer?.finish() }

    private func writeJPEG(
        _ canvas: StillCanvas, _ color: PictureColor, _ description: Description, _ notes: inout [String]
    ) throws -> Int {
        if let exif = description.exif, !JPEGEncoder.holds(exif: exif) {
            notes.append("warning: Exif of \(exif.count) bytes is left out: JPEG holds less than 64 KiB")
        }
        if color.color.isHDR { notes.append("warning: \(path) holds no HDR: viewers show it dull") }
        let metadata = JPEGEncoder.Metadata(exif: description.exif, profile: color.profile)
        var file: [UInt8] = []
        if let background = description.background, canvas.format == .yuva {
            let flat = try StillCanvas(.yu12, width: canvas.width, height: canvas.height)
            try flattened(canvas, background, color, description.alphaMode) { flat.copy($0) }
            file = try JPEGEncoder.encode(flat, color: color.color, metadata)
        } else {
            file = try JPEGEncoder.encode(canvas, color: color.color, metadata)
        }
        try WholeFile.write(file, to: path, inputs: inputs, replaces: replaces, group: group)
        return file.count
    }

    /// Calls `body` with the picture over a color.
    private func flattened(
        _ canvas: StillCanvas, _ background: BackgroundCompositor.RGB, _ color: PictureColor,
        _ mode: AlphaChannelMode, _ body: (PictureView) throws -> Void
    ) throws {
        let compositor = BackgroundCompositor(
            background, color: color.color, height: canvas.height, isPremultiplied: mode == .premultiplied)
        let packed = FrameLayout.packed(.yu12, width: canvas.width, height: canvas.height)
        var memory = [UInt8](repeating: 0, count: packed.size)
        try memory.withUnsafeMutableBytes { target in
            try compositor.flatten(
                canvas.memory, canvas.layout, width: canvas.width, height: canvas.height, to: target)
            try body(
                PictureView(
                    memory: UnsafeRawBufferPointer(target), layout: packed.layout, format: .yu12,
                    width: canvas.width, height: canvas.height,
                    part: PictureRectangle(x: 0, y: 0, width: UInt32(canvas.width), height: UInt32(canvas.height))))
        }
    }
}
