// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDLibAV
public import HWDMetadata
public import HWDModel
package import HWImages

/// Reads the pictures of any file that libavformat opens, as samples for still pictures.
///
/// RGB becomes full-range Y'CbCr with the matrix of BT.601, or of BT.2020 for its primaries; Y'CbCr keeps its range and matrix.
public final class StillReader {
    /// What is wanted of the pictures.
    public struct Options: Sendable {
        /// Bits of a sample, 8 or 10; nil for the source's, 10 where it has more than 8.
        public var bitDepth: Int?
        /// Code points of H.273 instead of the file's; nil keeps it.
        public var primaries: UInt8?
        public var transfer: UInt8?
        /// The mode of the colors beside alpha; nil leaves alpha out.
        public var alpha: AlphaChannelMode?
        /// Whether luma at full range alone is wanted, as auxiliary pictures have it.
        public var isGray = false

        public init() {}
    }

    private let path: String
    private let options: Options
    private let demuxer: Demuxer
    private let decoder: VideoDecoder
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>
    /// Whether packets may follow.
    private var isOpen = true
    /// The ticks of `pts`, in seconds.
    public let timeBase: Rational
    /// The last picture's time and duration, in ticks; nil and 0 where the file does not say.
    public private(set) var pts: Int64?
    public private(set) var duration: Int64 = 0

    /// The most packets that are read in search of a picture.
    private static let maxPackets = 256

    /// Reads the first picture of a file.
    ///
    /// - Throws: `badInput`, `unsupported` for a file without a picture that can be decoded or without the alpha that is wanted.
    package static func read(_ path: String, _ options: Options) throws(MediaError) -> StillPixels {
        try StillReader(path, options).first()
    }

    /// The first picture.
    ///
    /// - Throws: `badInput`, `unsupported` for a file without a picture that can be decoded or without the alpha that is wanted.
    package func first() throws(MediaError) -> StillPixels {
        guard let pixels = try next() else {
            throw MediaError(.badInput, LibAVLog.explain("\(path): its picture cannot be decoded"))
        }
        return pixels
    }

    /// The sound of the file, which pictures do not have.
    public var sound: [OtherStream] { demuxer.otherStreams.filter { $0.content == .audio } }

    /// Opens a file.
    ///
    /// - Parameter frameRate: that of a series of pictures and of raw streams; nil for libavformat's.
    /// - Throws: `badInput`, `unsupported` for a file without pictures that can be decoded.
    public init(_ path: String, _ options: Options, frameRate: Rational? = nil) throws(MediaError) {
        (self.path, self.options) = (path, options)
        demuxer = try Demuxer(try InputFile(path), cancelFlag: CancelFlag(), frameRate: frameRate)
        guard let stream = demuxer.video else { throw MediaError(.badInput, "\(path) has no picture") }
        let parameters = stream.codecpar.pointee
        try VideoDecoder.checkSize(width: Int(parameters.width), height: Int(parameters.height), path)
        decoder = try VideoDecoder(
            demuxer.decoder, stream, threads: 0, hooks: DecoderHooks(demuxer.tally), path: path)
        timeBase = Rational(stream.time_base.num, stream.time_base.den) ?? Rational(1)
        guard let packet = av_packet_alloc(), let frame = av_frame_alloc() else {
            throw MediaError(.io, "out of memory for a picture")
        }
        (self.packet, self.frame) = (packet, frame)
        demuxer.keepOnly([demuxer.videoIndex])
    }

    deinit {
        var (frame, packet): (UnsafeMutablePointer<AVFrame>?, UnsafeMutablePointer<AVPacket>?) = (frame, packet)
        av_frame_free(&frame)
        av_packet_free(&packet)
    }

    /// The next picture; nil at the end.
    ///
    /// - Throws: `badInput`, `unsupported` for one that cannot be read, and for a file that is cut off.
    package func next() throws(MediaError) -> StillPixels? {
        for _ in 0..<Self.maxPackets {
            switch decoder.receive(frame) {
            case .frame: return try takeFrame()
            case .ended:
                if let failure = demuxer.cutOff([demuxer.videoIndex]) { throw failure }
                return nil
            case .failed: throw damaged
            case .needsInput: try sendPacket()
            }
        }
        throw MediaError(.badInput, LibAVLog.explain("\(path): \(Self.maxPackets) packets give no picture"))
    }

    private var damaged: MediaError {
        MediaError(.badInput, LibAVLog.explain("\(path): a picture cannot be decoded"))
    }

    /// Sends the next packet to the decoder, or the end.
    private func sendPacket() throws(MediaError) {
        if isOpen { isOpen = try demuxer.read(into: packet) }
        defer { av_packet_unref(packet) }
        guard !isOpen || Int(packet.pointee.stream_index) == demuxer.videoIndex else { return }
        if case .failed = decoder.send(isOpen ? packet : nil) { throw damaged }
    }

    private func takeFrame() throws(MediaError) -> StillPixels {
        defer { av_frame_unref(frame) }
        guard frame.pointee.decode_error_flags == 0, frame.pointee.flags & AV_FRAME_FLAG_CORRUPT == 0 else {
            throw damaged
        }
        let time = frame.pointee.best_effort_timestamp
        pts = time == clibav_no_pts() ? nil : time
        duration = max(0, clibav_duration(frame))
        return try pixels(frame)
    }

    /// The packets of a file's pictures, which are not decoded; counting ends at `limit`.
    ///
    /// - Returns: nil for an input that can be read only once, which is not touched.
    /// - Throws: `badInput`, `unsupported` for a file that cannot be read.
    public static func packets(
        _ path: String, frameRate: Rational?, limit: Int
    ) throws(MediaError) -> Int? {
        guard !InputFile.isReadOnce(path) else { return nil }
        let input = try InputFile(path)
        let demuxer = try Demuxer(input, cancelFlag: CancelFlag(), frameRate: frameRate)
        demuxer.keepOnly([demuxer.videoIndex])
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let packet else { throw MediaError(.io, "out of memory for a packet") }
        var count = 0
        while count < limit, try demuxer.read(into: packet) {
            if Int(packet.pointee.stream_index) == demuxer.videoIndex { count += 1 }
            av_packet_unref(packet)
        }
        return count
    }

    private func pixels(_ frame: UnsafeMutablePointer<AVFrame>) throws(MediaError) -> StillPixels {
        let (width, height) = (Int(frame.pointee.width), Int(frame.pointee.height))
        try VideoDecoder.checkSize(width: width, height: height, path)
        let source = AVPixelFormat(rawValue: frame.pointee.format)
        let traits = SampleFormats.traits(source)
        guard sws_isSupportedInput(SampleFormats.withoutRange(source)) > 0 else {
            throw MediaError(.unsupported, "\(path): pictures of \(SampleFormats.name(source)) cannot be converted")
        }
        let depth = options.isGray ? 8 : options.bitDepth ?? (SampleFormats.bitDepth(source) > 8 ? 10 : 8)
        let (from, to) = colors(ColorDescription(frame.pointee), traits, height: height)
        var pixels = StillPixels(
            canvas: try Self.canvas(depth > 8 ? .i010 : .yu12, width: width, height: height), color: to)
        pixels.hasAlpha = traits.hasAlpha && !Self.isOpaque(frame, source)
        pixels.hasDeepAlpha = traits.hasAlpha && SampleFormats.bitDepth(source) > 8
        pixels.profile = Self.profile(frame)
        pixels.light = light(frame)
        let failure = MediaError(.unsupported, "\(path): the picture cannot be converted to 4:2:0")
        if let mode = options.alpha {
            guard let samples = AlphaSamples(source) else {
                throw MediaError(.badInput, "\(path) has no alpha: leave --alpha out")
            }
            let alpha = try Self.canvas(.yu12, width: width, height: height)
            alpha.makeGray()
            samples.read(frame, into: alpha.planes[0].base, alpha.planes[0].stride, (width, height))
            pixels.alpha = alpha
            if mode == .premultiplied {
                guard let multiplied = multiplied(frame, from) else { throw failure }
                guard convert(multiplied.pointer, AV_PIX_FMT_RGBA64LE, from, to, pixels.canvas) else {
                    throw failure
                }
                return pixels
            }
        }
        guard convert(frame, source, from, to, pixels.canvas) else { throw failure }
        if options.isGray { pixels.canvas.makeGray() }
        return pixels
    }

    /// Whether a picture whose format has alpha is opaque, as palettes without transparency and CMYK are.
    private static func isOpaque(_ frame: UnsafeMutablePointer<AVFrame>, _ source: AVPixelFormat) -> Bool {
        guard let samples = AlphaSamples(source) else { return false }
        let width = Int(frame.pointee.width)
        var row = [UInt16](repeating: 0, count: width)
        for number in 0..<Int(frame.pointee.height) {
            let isOpaque = row.withUnsafeMutableBufferPointer { row -> Bool in
                guard let start = row.baseAddress else { return true }
                samples.readDeep(frame, row: number, into: start, width)
                return row.allSatisfy { $0 == .max }
            }
            if !isOpaque { return false }
        }
        return true
    }

    private static func canvas(
        _ format: PixelFormat, width: Int, height: Int
    ) throws(MediaError) -> StillCanvas {
        do throws(ImageError) { return try StillCanvas(format, width: width, height: height) } catch {
            throw MediaError(error)
        }
    }

    /// The color of the file's samples, and of those that are made.
    private func colors(
        _ stated: ColorDescription, _ traits: SampleFormats.Traits, height: Int
    ) -> (from: ColorDescription, to: ColorDescription) {
        func known(_ value: UInt8, _ usual: UInt8) -> UInt8 {
            value == ColorDescription.unspecified ? usual : value
        }
        var from = stated
        if traits.isRGB || traits.isGray { from.isFullRange = true }
        from.primaries = options.primaries ?? known(from.primaries, 1)
        from.transfer = options.transfer ?? known(from.transfer, from.isFullRange ? 13 : 1)
        if traits.isRGB || traits.isGray {
            from.matrix = from.primaries == 9 ? 9 : 6
            // Readers of HEIF files take chroma to be in the center.
            from.chromaLocation = 1
        } else {
            from.matrix = from.conversionMatrix(height: height)
            // The same matrix, by the number that readers expect.
            if from.matrix == 5 { from.matrix = 6 }
        }
        var to = from
        if options.isGray { to.isFullRange = true }
        return (from, to)
    }

    private func convert(
        _ frame: UnsafeMutablePointer<AVFrame>, _ source: AVPixelFormat, _ from: ColorDescription,
        _ to: ColorDescription, _ canvas: StillCanvas
    ) -> Bool {
        if SampleFormats.native(source) == canvas.format, from.isFullRange == to.isFullRange {
            for (plane, target) in canvas.planes.enumerated() {
                target.copyRows(
                    of: PlaneView.planes(of: frame)[plane],
                    rowBytes: canvas.format.rowBytes(plane: plane, width: canvas.width),
                    rows: canvas.format.rows(plane: plane, height: canvas.height))
            }
            return true
        }
        let conversion = SampleConversion(fitting: source, from, to: canvas.format, to)
        return FrameConverter(conversion, width: canvas.width, height: canvas.height)?
            .convert(frame, to: canvas.planes) ?? false
    }

    /// The picture as RGBA of 16 bits whose colors are multiplied by alpha.
    private func multiplied(_ frame: UnsafeMutablePointer<AVFrame>, _ color: ColorDescription) -> ScratchFrame? {
        let (width, height) = (Int(frame.pointee.width), Int(frame.pointee.height))
        let source = AVPixelFormat(rawValue: frame.pointee.format)
        let conversion = SampleConversion(fitting: source, color, to: .yu12, color)
        guard let scratch = ScratchFrame(AV_PIX_FMT_RGBA64LE, width: width, height: height),
            let converter = FrameConverter(conversion, width: width, height: height, to: AV_PIX_FMT_RGBA64LE),
            converter.convert(frame, to: scratch.planes), let plane = scratch.planes.first
        else { return nil }
        for row in 0..<height {
            let line = (plane.base + row * plane.stride).assumingMemoryBound(to: UInt16.self)
            for column in 0..<width {
                let pixel = line + 4 * column
                let alpha = UInt32(pixel[3])
                for component in 0..<3 {
                    pixel[component] = UInt16((UInt32(pixel[component]) * alpha + 32767) / 65535)
                }
            }
        }
        return scratch
    }

    /// HDR static metadata of the picture, else of the file.
    private func light(_ frame: UnsafePointer<AVFrame>) -> [Box] {
        let display =
            FirstFrame.sideData(
                frame, AV_FRAME_DATA_MASTERING_DISPLAY_METADATA, AVMasteringDisplayMetadata.self
            ).flatMap(HDRStaticMetadata.bytes) ?? demuxer.video.flatMap(Demuxer.masteringDisplay)
        let level =
            FirstFrame.sideData(frame, AV_FRAME_DATA_CONTENT_LIGHT_LEVEL, AVContentLightMetadata.self)
            .flatMap(HDRStaticMetadata.bytes) ?? demuxer.video.flatMap(Demuxer.contentLight)
        return (display.map { [Box("mdcv", $0)] } ?? []) + (level.map { [Box("clli", $0)] } ?? [])
    }

    private static func profile(_ frame: UnsafePointer<AVFrame>) -> [UInt8]? {
        guard let data = av_frame_get_side_data(frame, AV_FRAME_DATA_ICC_PROFILE), data.pointee.size > 0,
            data.pointee.size <= 4 << 20, let bytes = data.pointee.data
        else { return nil }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(data.pointee.size)))
    }
}
