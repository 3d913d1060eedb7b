// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDEdits
public import HWDHEIF
public import HWDLibAVReading
public import HWDMetadata
public import HWDModel
public import HWDSystem
package import HWImages

/// Writes decoded frames: .y4m, .yuv or .raw without any header, .png (one or a numbered series), Y4M to "-".
///
/// A file gets its name when it is complete, those of a series when all are.
public final class FrameWriter {
    /// The supported file extensions.
    public static let endings = ["y4m", "yuv", "raw", "png"]

    /// The properties that all frames share.
    public struct Description: Hashable, Sendable {
        /// Width of the written rectangle in samples.
        public var width: Int
        /// Height of the written rectangle in rows.
        public var height: Int
        /// The pixel format.
        public var format: PixelFormat
        /// The color of the samples.
        public var color: ColorDescription
        /// Frames per second; nil when not known.
        public var frameRate: Rational?
        /// Width over height of one sample; nil when not known.
        public var sampleAspectRatio: Rational?
        /// Whether frames hold two fields, whose lines alternate.
        public var isInterlaced = false
        /// The order of the fields; nil where it is not known.
        public var fieldDetail: FieldDetail?
        /// The alpha mode of the samples; nil where the format has no alpha.
        public var alphaMode: AlphaChannelMode?
        /// How PNG files show the picture, which cannot signal an orientation; other outputs keep it as it is.
        public var orientation = PictureOrientation()
        /// The alpha mode of PNG files, which cannot signal one; other outputs keep the samples' mode.
        public var wantedAlphaMode = AlphaChannelMode.straight
        /// The part that PNG files show of a picture that is not turned; nil is all of it.
        public var crop: PixelRect?
        /// The ICC profile of PNG files; other outputs hold none.
        public var profile: [UInt8]?

        /// Describes frames.
        public init(
            width: Int, height: Int, format: PixelFormat, color: ColorDescription, frameRate: Rational?,
            sampleAspectRatio: Rational?, alphaMode: AlphaChannelMode? = nil,
            wantedAlphaMode: AlphaChannelMode = .straight
        ) {
            self.width = width
            self.height = height
            self.format = format
            self.color = color
            self.frameRate = frameRate
            self.sampleAspectRatio = sampleAspectRatio
            self.alphaMode = alphaMode
            self.wantedAlphaMode = wantedAlphaMode
        }
    }

    private enum Format {
        case raw(ByteSink)
        case y4m(ByteSink)
        /// One file per frame; nil for a single file with the first frame.
        case png(series: NumberedFiles?)
    }

    /// The paths of a numbered series of pictures.
    private struct NumberedFiles {
        private let directory: String
        private let pattern: ImageSeries.Pattern

        /// Nil for other outputs.
        init?(_ path: String) {
            let name = path.split(separator: "/").last ?? ""
            guard OutputPath.fileExtension(path) == "png", let pattern = ImageSeries.Pattern(name) else {
                return nil
            }
            (directory, self.pattern) = (String(path.dropLast(name.count)), pattern)
        }

        func path(_ number: Int) -> String { directory + pattern.name(number) }

        /// The paths that are taken, in their order; none where the directory cannot be read.
        var existing: [String] {
            let names = (try? Directory.names(in: directory.isEmpty ? "." : directory)) ?? []
            return names.compactMap(pattern.number).filter { $0 > 0 }.sorted().map(path)
        }
    }

    /// The path it was opened with, or "-".
    public let path: String
    /// Frames written.
    public private(set) var frames = 0
    /// Bytes written.
    public private(set) var bytes = 0

    /// Width and height of the last frame as it was written; nil before the first.
    public var size: (width: Int, height: Int)? {
        description.map { isPNG ? $0.orientation.shown(width: $0.width, height: $0.height) : ($0.width, $0.height) }
    }

    private let inputs: [String]
    private let format: Format
    private var description: Description?
    /// A frame's rows, written without a copy; kept for its capacity.
    private var pieces: [UnsafeRawBufferPointer] = []
    private var encoder: PNGEncoder?
    /// The file of a single PNG, which is opened early.
    private var singleFile: AtomicFile?
    /// The group of a series, from its first file on, or the one that was passed.
    private var group: FileGroup?
    private let isInGroup: Bool
    private let replaces: Bool

    /// Opens the output at once, so that an output that cannot be written is reported before any work is done.
    ///
    /// - Parameters:
    ///   - inputs: files that must not be the output.
    ///   - replaces: whether files that have the output's names are replaced; otherwise they are an error at the end.
    ///   - group: the group that gives the output its name, after `finish`; nil where `finish` does.
    /// - Throws: `usage` for an unknown extension or an output that is an input, `cannotCreate`.
    public init(
        path: String, inputs: [String] = [], replaces: Bool = true, group: FileGroup? = nil
    ) throws(MediaError) {
        (self.path, self.inputs, self.replaces) = (path, inputs, replaces)
        (self.group, isInGroup) = (group, group != nil)
        if path == "-" {
            format = .y4m(try .standardOutputNotTerminal())
            return
        }
        let fileExtension = OutputPath.fileExtension(path)
        guard Self.endings.contains(fileExtension) else {
            throw OutputPath.unknownExtension(path, known: Self.endings)
        }
        let series = NumberedFiles(path)
        let file: AtomicFile
        if let group, series == nil {
            file = try group.file(path: path, inputs: inputs)
        } else {
            file = try AtomicFile(path: series?.path(1) ?? path, inputs: inputs, replaces: replaces)
        }
        switch fileExtension {
        case "y4m": format = .y4m(.file(file))
        case "png":
            format = .png(series: series)
            // The first file of a series was opened only to report early that it cannot be written.
            singleFile = series == nil ? file : nil
        default: format = .raw(.file(file))
        }
    }

    /// The files that exist among those that an output of this name may replace.
    public static func existingFiles(_ path: String) -> [String] {
        if let series = NumberedFiles(path) { return series.existing }
        return path != "-" && access(FileName.bytes(path), F_OK) == 0 ? [path] : []
    }

    /// Whether the output is Y4M, which has one frame rate for all frames and no times, and no description of colors.
    public var isY4M: Bool {
        if case .y4m = format { return true }
        return false
    }

    /// Whether the output is one picture or a series of them.
    public var isPNG: Bool {
        if case .png = format { return true }
        return false
    }

    /// Whether the output takes no more frames.
    public var isFull: Bool {
        if case .png(series: nil) = format { return frames > 0 }
        return false
    }

    /// Writes a frame.
    ///
    /// - Parameter properties: what all frames share.
    /// - Throws: `unsupported` for a change of size or format that the output cannot hold; `cannotWrite`.
    public func write(_ picture: PictureView, _ properties: Description) throws(MediaError) {
        try checkChange(to: properties)
        switch format {
        case .raw(let sink): try write(picture, after: "", sink)
        case .y4m(let sink):
            if description == nil {
                let line = try Y4MHeader.line(properties)
                try sink.write(line)
                bytes += line.count
            }
            try write(picture, after: "FRAME\n", sink)
        case .png(let series): try writePNG(picture, properties, series)
        }
        description = properties
        frames += 1
    }

    /// Refuses a change of size or format, except for PNG.
    private func checkChange(to new: Description) throws(MediaError) {
        if case .png = format { return }
        guard let old = description else { return }
        guard old.width == new.width, old.height == new.height else {
            throw MediaError(
                .unsupported,
                "\(path) cannot hold frame \(frames): its size is \(new.width)x\(new.height), that of the frames before "
                    + "is \(old.width)x\(old.height)")
        }
        guard old.format == new.format else {
            throw MediaError(.unsupported, "\(path) cannot hold frame \(frames): its pixel format is another one")
        }
    }

    private func write(_ picture: PictureView, after head: StaticString, _ sink: ByteSink) throws(MediaError) {
        pieces.removeAll(keepingCapacity: true)
        pieces.append(UnsafeRawBufferPointer(start: head.utf8Start, count: head.utf8CodeUnitCount))
        picture.gather(in: &pieces)
        try sink.write(pieces)
        bytes += head.utf8CodeUnitCount + picture.packedSize
    }

    /// Writes a picture of RGB with alpha to a PNG file, or the next one of a series.
    ///
    /// - Parameters:
    ///   - bits: of a sample, 8 or 16.
    ///   - hasAlpha: whether the file has the alpha of the samples.
    /// - Throws: `unsupported` for a picture that PNG cannot hold; `usage` for another output; `cannotWrite`.
    package func write(
        _ canvas: RGBCanvas, bits: Int, hasAlpha: Bool, profile: [UInt8]?
    ) throws(MediaError) {
        guard case .png(let series) = format else { throw MediaError(.usage, "\(path) is no PNG file") }
        try writePNG(try PNGEncoder.encode(canvas, bits: bits, hasAlpha: hasAlpha, profile: profile), series)
        frames += 1
    }

    private func writePNG(
        _ picture: PictureView, _ properties: Description, _ series: NumberedFiles?
    ) throws(MediaError) {
        if encoder?.description != properties { encoder = try PNGEncoder(properties) }
        guard let encoder else { return }
        try writePNG(try encoder.encode(picture), series)
    }

    /// Writes the bytes of a PNG file.
    private func writePNG(_ image: [UInt8], _ series: NumberedFiles?) throws(MediaError) {
        if let series {
            let group = self.group ?? FileGroup(replaces: replaces)
            self.group = group
            let file = try group.file(path: series.path(frames + 1), inputs: inputs)
            try ByteSink.file(file).write(image)
            try file.commit(sync: false)
        } else if let singleFile {
            try ByteSink.file(singleFile).write(image)
        }
        bytes += image.count
    }

    /// Completes the output: files get their names, those of a series together.
    ///
    /// - Throws: `cannotCreate`; what was there before is there then.
    public func finish() throws(MediaError) {
        switch format {
        case .raw(let sink), .y4m(let sink): try sink.finish(sync: false)
        case .png:
            try singleFile?.commit(sync: false)
            if !isInGroup { try group?.commit() }
        }
    }
}

extension Y4MHeader {
    /// The header line for frames with these properties, with its line feed.
    /// - Throws: `usage` for a pixel format that Y4M lacks.
    static func line(_ properties: FrameWriter.Description) throws(MediaError) -> [UInt8] {
        let chroma: String
        switch (properties.format, properties.color.chromaLocation) {
        case (.yu12, 1?): chroma = "420jpeg"
        case (.yu12, 2?): chroma = "420paldv"
        case (.yu12, _): chroma = "420mpeg2"
        case (.i010, _): chroma = "420p10"
        default:
            throw MediaError(.usage, "Y4M cannot hold \(properties.format.rawValue): it has planar formats only")
        }
        let rate = properties.frameRate ?? Rational(25)
        let aspect = properties.sampleAspectRatio.map { "\($0.numerator):\($0.denominator)" } ?? "0:0"
        let range = properties.color.isFullRange ? "FULL" : "LIMITED"
        let order = properties.fieldDetail.map { $0.isTopFirst ? "t" : "b" } ?? "?"
        let interlacing = properties.isInterlaced ? order : "p"
        let text =
            "\(magic) W\(properties.width) H\(properties.height) F\(rate.numerator):\(rate.denominator) I\(interlacing) "
            + "A\(aspect) "
            + "C\(chroma) XYSCSS=\(properties.format == .i010 ? "420P10" : chroma.uppercased()) XCOLORRANGE=\(range)\n"
        return Array(text.utf8)
    }
}
