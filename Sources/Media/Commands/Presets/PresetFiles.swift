// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDExport
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDSystem

/// The presets of this version and of the administrator.
enum PresetFiles {
    private static let defaultFolder = "/etc/hwdaemon/presets.d"
    private static let (maxFiles, maxSize) = (64, 1 << 20)

    /// All presets; a file that cannot be used is named in a warning.
    static let catalogue: ExportCatalogue = {
        var catalogue = ExportCatalogue.builtIn
        let folder = Environment.value("HWDAEMON_PRESETS_DIR") ?? defaultFolder
        let names = ((try? Directory.names(in: folder)) ?? []).filter {
            $0.hasSuffix(".json") && !$0.hasPrefix(".")
        }
        for name in names.sorted().prefix(maxFiles) {
            let path = "\(folder)/\(name)"
            do {
                try catalogue.merge(BoundedFile.read(path, limit: maxSize))
            } catch {
                Console.note("warning: \(path) is not used: \(error)")
            }
        }
        return catalogue
    }()

    /// The preset of a name.
    /// - Throws: a usage failure where there is none.
    static func preset(_ name: String) throws -> ExportPreset {
        if let preset = catalogue.preset(name) { return preset }
        let near = catalogue.presets.flatMap { [$0.short, $0.name].compactMap { $0 } }
            .filter { $0.lowercased().contains(name.lowercased()) && !name.isEmpty }
        let hint =
            near.isEmpty
            ? "hwctl presets lists them" : "did you mean \(near.prefix(3).joined(separator: ", "))?"
        throw CommandFailure(.usage, "there is no preset '\(name)': \(hint)")
    }
}

extension ExportSource {
    /// What presets need to know of an open input, whose alpha was not refused.
    init(_ video: VideoDescription) {
        self.init(
            width: video.shown.width, height: video.shown.height,
            frameRate: (video.averageFrameRate ?? video.baseFrameRate)?.value, bitDepth: video.sourceBitDepth,
            hasAlpha: video.alphaMode != nil || video.alphaLayerMode != nil)
    }

    /// Changes the facts to those of the part of the picture that is kept, as it is turned, without its alpha where a
    /// background takes its place.
    mutating func apply(_ picture: PictureRequest) {
        if let kept = picture.keptSize { size = ExportPreset.Size(width: kept.width, height: kept.height) }
        if picture.rotation % 180 != 0 { size = ExportPreset.Size(width: size.height, height: size.width) }
        if picture.background != nil { hasAlpha = false }
    }

    /// Opens a file and describes it.
    static func open(_ path: String, frameRate: Rational? = nil) throws(MediaError) -> (MediaReader, ExportSource) {
        var options = MediaReader.Options()
        options.decoding = .daemonIfPossible
        options.includesOtherStreams = true
        options.alpha = AlphaConversion(source: .straight, target: .premultiplied)
        options.isAlphaOptional = true
        options.frameRate = frameRate
        let reader = try MediaReader(path: path, options: options)
        return (reader, ExportSource(reader.video))
    }
}
