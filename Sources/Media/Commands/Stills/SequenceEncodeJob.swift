// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWClient
internal import HWDControlCommands
internal import HWDHEIF
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDWire
internal import HWImages

/// One run of `hwctl encode` to an image sequence: pictures and videos → one session → a track, and alpha through another one.
struct SequenceEncodeJob {
    let request: StillEncodeJob.Request

    func run(_ interruption: Interruption) throws {
        interruption.onSignal {}
        let progress = Progress(total: nil)
        let profile = try request.profile()
        try checkCover()
        let daemon = try SessionRequest.findDaemon()
        let source = StillSource(daemon: daemon, options: request.source, interruption: interruption)
        let encoder = request.encoder(daemon, interruption)
        let series = PictureSeries(request.inputs, source, frameRate: request.frameRate)
        guard let first = try series.next() else {
            throw MediaError(.badInput, "\(request.inputs[0]): its picture cannot be decoded")
        }
        first.note(request.inputs[0])
        var (still, created) = try encoder.encode(sequence: first.canvas, color: first.color) {
            try series.next()?.canvas
        }
        first.describe(&still, profile)
        var contents = SequenceContents(
            still, timeScale: series.timeScale, durations: try series.durations())
        contents.alpha = try alpha(source, encoder)
        guard contents.durations.indices.contains(request.cover) else {
            throw coverFailure(contents.durations.count)
        }
        contents.cover = request.cover
        let bytes = try contents.write(to: request.output, inputs: request.readFiles)
        try StillEncodeSummary(request, created, contents, seconds: progress.seconds, bytes: bytes)
            .report(json: request.json)
    }

    /// Refuses, before any picture is coded, a cover beyond the number of the inputs' packets.
    private func checkCover() throws {
        // Each input has a picture.
        guard request.cover >= request.inputs.count else { return }
        var count = 0
        for path in request.inputs where count <= request.cover {
            if let still = try StillInput.open(path), !still.isSequence {
                count += 1
                continue
            }
            guard
                let packets = try StillReader.packets(
                    path, frameRate: request.frameRate, limit: request.cover + 1 - count)
            else {
                throw CommandFailure(
                    .usage,
                    "--cover \(request.cover + 1) cannot be checked: \(path) can be read only once, so its pictures cannot be counted first"
                )
            }
            count += packets
        }
        guard count > request.cover else { throw coverFailure(count) }
    }

    private func coverFailure(_ count: Int) -> CommandFailure {
        CommandFailure(.usage, "--cover is \(request.cover + 1), but there are \(count) pictures")
    }

    /// The alpha of all pictures, which are read again; nil if none is wanted.
    private func alpha(_ source: StillSource, _ encoder: StillEncoder) throws -> CodedStill? {
        guard request.source.alpha != nil else { return nil }
        let series = PictureSeries(request.inputs, source, frameRate: request.frameRate, isRepeated: true)
        func next() throws -> StillCanvas? { try series.next()?.alpha }
        guard let first = try next() else { return nil }
        return try request.alphaEncoder(encoder).encode(sequence: first, color: nil, next: next).still
    }
}

/// The pictures of several files one after another, upright and of one size, with their times.
private final class PictureSeries {
    private let paths: [String]
    private var source: StillSource
    /// As it was requested, and as it is.
    private let askedRate: Rational?
    private let frameRate: Rational
    /// Whether the files were read before, and what they lose was reported.
    private let isRepeated: Bool
    /// The index of the next file.
    private var place = 0
    private var reader: StillReader?
    /// Pictures of the open file, and its last picture's time and duration.
    private var (count, last) = (0, (pts: Int64?.none, duration: Int64(0)))
    private var orientation = Orientation.upright
    /// The size and the format of the first picture.
    private var first: (width: Int, height: Int, format: PixelFormat)?
    /// Pictures of all files.
    private var total = 0
    /// The duration of each picture in seconds.
    private var seconds: [Double] = []
    /// The time base of a single file; nil for several.
    private var timeBase: Rational?

    /// Ticks per second of several files.
    private static let defaultScale: UInt32 = 90_000
    /// Ticks per second that a time base may have.
    private static let maxScale = Int32(10_000_000)

    init(_ paths: [String], _ source: StillSource, frameRate: Rational?, isRepeated: Bool = false) {
        (self.paths, self.source, askedRate, self.frameRate) = (paths, source, frameRate, frameRate ?? Rational(25))
        self.isRepeated = isRepeated
    }

    /// Ticks per second of `durations`.
    var timeScale: UInt32 {
        if hasTimes, let timeBase, timeBase.numerator == 1, timeBase.denominator <= Self.maxScale {
            return UInt32(timeBase.denominator)
        }
        // A multiple of the rate, whose pictures have whole durations.
        let scale = Int64(frameRate.numerator) * (frameRate.denominator == 1 ? 1000 : 1)
        return !hasTimes && (1...Int64(Self.maxScale)).contains(scale) ? UInt32(scale) : Self.defaultScale
    }

    /// Whether a file states its pictures' times.
    private var hasTimes = false

    /// How long each picture is shown, in ticks of `timeScale`.
    ///
    /// - Throws: `unsupported` for a picture that is shown longer than 32 bits can say.
    func durations() throws(MediaError) -> [UInt32] {
        var (result, time, end) = ([UInt32](), 0.0, UInt64(0))
        for duration in seconds {
            time += duration
            let next = (time * Double(timeScale)).rounded()
            guard next < Double(UInt32.max) else {
                throw MediaError(.unsupported, "the sequence is too long for its ticks of 1/\(timeScale) s")
            }
            let length = max(1, UInt64(next) > end ? UInt64(next) - end : 1)
            result.append(UInt32(length))
            end += length
        }
        return result
    }

    /// The next picture; nil at the end.
    func next() throws -> StillPixels? {
        while true {
            if source.interruption.isSet { throw CommandFailure.interrupted }
            if let reader {
                if var pixels = try reader.next() {
                    note(reader)
                    return try fit(&pixels)
                }
                guard count > 0 else {
                    throw MediaError(.badInput, "\(paths[place - 1]): its picture cannot be decoded")
                }
                finishFile(reader)
                self.reader = nil
            }
            guard place < paths.count else { return nil }
            if var pixels = try open(paths[place]) {
                seconds.append(1 / frameRate.value)
                return try fit(&pixels)
            }
        }
    }

    /// Opens the next file; returns the picture of a HEIC file.
    private func open(_ path: String) throws -> StillPixels? {
        place += 1
        (count, last, orientation) = (0, (nil, 0), .upright)
        if let still = try StillInput.open(path), !still.isSequence { return try source.read(path).pixels }
        // Patterns of names and pipes have no Exif.
        if WholeFile.isFile(path) { orientation = try StillSource.exif(of: path, .drop).orientation }
        let reader = try StillReader(path, source.options, frameRate: askedRate)
        if !isRepeated { reader.noteSound(path) }
        self.reader = reader
        timeBase = paths.count == 1 ? reader.timeBase : nil
        return nil
    }

    /// Notes the time of a picture, which is the end of the one before.
    private func note(_ reader: StillReader) {
        if count > 0 { seconds.append(length(reader, until: reader.pts)) }
        (count, last) = (count + 1, (reader.pts, reader.duration))
    }

    /// The last picture of a file lasts as long as the file says, or as long as the one before it.
    private func finishFile(_ reader: StillReader) {
        if count > 1, last.duration == 0, let before = seconds.last { return seconds.append(before) }
        seconds.append(count > 1 ? length(reader, until: nil) : 1 / frameRate.value)
        hasTimes = hasTimes || count > 1
    }

    private func length(_ reader: StillReader, until end: Int64?) -> Double {
        let ticks = end.flatMap { end in last.pts.map { end &- $0 } } ?? last.duration
        // Times that are missing, or do not rise.
        guard (1..<1 << 40).contains(ticks) else { return 1 / frameRate.value }
        return Double(ticks) * reader.timeBase.value
    }

    /// Turns a picture as its Exif says, and checks that it is like the first one.
    private func fit(_ pixels: inout StillPixels) throws -> StillPixels {
        if orientation != .upright {
            pixels.canvas = try pixels.canvas.turned(orientation)
            pixels.alpha = try pixels.alpha?.turned(orientation)
        }
        total += 1
        guard total <= HEIFLimits.sequencePictures else {
            throw MediaError(.unsupported, "a sequence has at most \(HEIFLimits.sequencePictures) pictures")
        }
        let canvas = pixels.canvas
        guard let first else {
            first = (canvas.width, canvas.height, canvas.format)
            source.options.bitDepth = canvas.format.bitDepth
            return pixels
        }
        guard first == (canvas.width, canvas.height, canvas.format) else {
            throw MediaError(
                .unsupported,
                "\(paths[place - 1]): a picture of \(canvas.width)x\(canvas.height) with \(canvas.format.bitDepth) bits does not fit a sequence of \(first.width)x\(first.height) with \(first.format.bitDepth) bits"
            )
        }
        return pixels
    }
}
