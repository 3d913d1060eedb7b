// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
public import HWDModel

/// Writes decoded frames: .y4m, .yuv or .raw without any header, .png (one or a numbered series), Y4M to "-".
///
/// Every file appears when it is whole, and not at all otherwise.
public final class FrameWriter {
    /// The endings that are known.
    public static let endings = ["y4m", "yuv", "raw", "png"]

    /// What all frames have in common.
    public struct Description: Hashable, Sendable {
        /// Samples a row of what is written.
        public var width: Int
        /// Rows of what is written.
        public var height: Int
        /// How samples lie.
        public var format: PixelFormat
        /// What they mean.
        public var color: ColorDescription
        /// Frames a second; nil when not known.
        public var frameRate: Rational?
        /// Width over height of one sample; nil when not known.
        public var sampleAspectRatio: Rational?
        /// How colours stand to alpha; nil where the format has none.
        public var alphaMode: AlphaChannelMode?
        /// How they are to stand in pictures of a form that can tell only by what is in it: PNG.
        public var wantedAlphaMode = AlphaChannelMode.straight

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

    private enum Form {
        case raw(ByteSink)
        case y4m(ByteSink)
        /// One file a frame; nil where there is one file for the first frame alone.
        case png(series: Series?)
    }

    /// Where the files of a series lie, and how they are named.
    private struct Series {
        var directory: String
        var pattern: ImageSeries.Pattern

        func path(_ number: Int) -> String { directory + pattern.name(number) }
    }

    /// The path it was opened with, or "-".
    public let path: String
    /// Frames written.
    public private(set) var frames = 0
    /// Bytes written.
    public private(set) var bytes = 0

    /// Samples a row and rows of the last frame; nil before the first.
    public var size: (width: Int, height: Int)? { description.map { ($0.width, $0.height) } }

    private let inputs: [String]
    private let form: Form
    private var description: Description?
    /// A frame's rows where they lie, which are written from there; kept for its capacity.
    private var pieces: [UnsafeRawBufferPointer] = []
    private var encoder: PNGEncoder?
    private var single: OutputFile?
    /// Pictures of a series that lie under their names, which go if the series is not finished.
    private var written: [String] = []
    private var isFinished = false

    /// Opens the output so that everything that could refuse it does so before work begins.
    ///
    /// - Parameter inputs: files that may not be the output.
    /// - Throws: `usage` for an unknown ending or an output that is an input, `cannotCreate`.
    public init(path: String, inputs: [String] = []) throws(MediaError) {
        self.path = path
        self.inputs = inputs
        if path == "-" {
            guard isatty(STDOUT_FILENO) == 0 else {
                throw MediaError(.usage, "standard output is a terminal; send it to a file or a program")
            }
            form = .y4m(.standardOutput)
            return
        }
        let name = path.split(separator: "/").last ?? ""
        let ending = name.lastIndex(of: ".").map { name[name.index(after: $0)...].lowercased() } ?? ""
        switch ending {
        case "y4m": form = .y4m(.file(try OutputFile(path: path, inputs: inputs)))
        case "yuv", "raw": form = .raw(.file(try OutputFile(path: path, inputs: inputs)))
        case "png":
            let series = ImageSeries.Pattern(name).map {
                Series(directory: String(path.dropLast(name.count)), pattern: $0)
            }
            form = .png(series: series)
            single = try OutputFile(path: series?.path(1) ?? path, inputs: inputs)
        default:
            let known = Self.endings.map { ".\($0)" }.joined(separator: ", ")
            throw MediaError(.usage, "\(path): the ending of an output must be one of \(known)")
        }
    }

    /// The only layouts that can be written; nil when all can.
    public var isPlanar: Bool {
        if case .raw = form { return false }
        return true
    }

    /// Whether no further frame is wanted.
    public var isFull: Bool {
        if case .png(series: nil) = form { return frames > 0 }
        return false
    }

    /// Writes a frame.
    ///
    /// - Parameter shown: what all frames have in common, the same each time.
    /// - Throws: `unsupported` for a size or layout that changes; `io`.
    public func write(_ picture: PictureView, _ shown: Description) throws(MediaError) {
        if let description, description.width != shown.width || description.height != shown.height {
            guard case .png = form else {
                throw MediaError(
                    .unsupported,
                    "the picture's size changes from \(description.width)x\(description.height) to "
                        + "\(shown.width)x\(shown.height) at frame \(frames), which \(path) cannot hold")
            }
        }
        if let description, description.format != shown.format {
            guard case .png = form else {
                throw MediaError(.unsupported, "the pixel format changes at frame \(frames)")
            }
        }
        switch form {
        case .raw(let sink): try write(picture, after: "", sink)
        case .y4m(let sink):
            if description == nil {
                let line = try Y4MHeader.line(shown)
                try sink.write(line)
                bytes += line.count
            }
            try write(picture, after: "FRAME\n", sink)
        case .png(let series): try writePNG(picture, shown, series)
        }
        description = shown
        frames += 1
    }

    private func write(_ picture: PictureView, after head: StaticString, _ sink: ByteSink) throws(MediaError) {
        pieces.removeAll(keepingCapacity: true)
        pieces.append(UnsafeRawBufferPointer(start: head.utf8Start, count: head.utf8CodeUnitCount))
        picture.gather(in: &pieces)
        try sink.write(pieces)
        bytes += head.utf8CodeUnitCount + picture.packedSize
    }

    private func writePNG(
        _ picture: PictureView, _ shown: Description, _ series: Series?
    ) throws(MediaError) {
        if encoder?.description != shown { encoder = try PNGEncoder(shown) }
        guard let encoder else { return }
        let image = try encoder.encode(picture)
        let file: OutputFile
        if let first = single {
            file = first
            single = nil
        } else if let series {
            file = try OutputFile(path: series.path(frames + 1), inputs: inputs)
        } else {
            return
        }
        let sink = ByteSink.file(file)
        try sink.write(image)
        try sink.finish(sync: false)
        bytes += image.count
        if let series { written.append(series.path(frames + 1)) }
    }

    deinit {
        guard !isFinished else { return }
        for path in written { unlink(path) }
    }

    /// Gives the file its name.
    public func finish() throws(MediaError) {
        isFinished = true
        switch form {
        case .raw(let sink), .y4m(let sink): try sink.finish(sync: false)
        case .png: break
        }
    }
}

extension Y4MHeader {
    /// The line for frames of a form that Y4M has, with its line feed.
    static func line(_ shown: FrameWriter.Description) throws(MediaError) -> [UInt8] {
        let chroma: String
        switch (shown.format, shown.color.chromaLocation) {
        case (.yu12, 1?): chroma = "420jpeg"
        case (.yu12, 2?): chroma = "420paldv"
        case (.yu12, _): chroma = "420mpeg2"
        case (.i010, _): chroma = "420p10"
        default: throw MediaError(.usage, "Y4M holds planar samples, not \(shown.format.rawValue)")
        }
        let rate = shown.frameRate ?? Rational(25)
        let aspect = shown.sampleAspectRatio.map { "\($0.numerator):\($0.denominator)" } ?? "0:0"
        let range = shown.color.isFullRange ? "FULL" : "LIMITED"
        let text =
            "\(magic) W\(shown.width) H\(shown.height) F\(rate.numerator):\(rate.denominator) Ip A\(aspect) "
            + "C\(chroma) XYSCSS=\(shown.format == .i010 ? "420P10" : chroma.uppercased()) XCOLORRANGE=\(range)\n"
        return Array(text.utf8)
    }
}
