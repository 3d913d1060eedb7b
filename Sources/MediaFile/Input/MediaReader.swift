// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDLibAV
public import HWDModel

/// Reads a media file: its video as frames in presentation order, its other streams as packets.
///
/// Use it from one thread at a time; `cancel()` may come from any. For "-" and for names that end in `.y4m` it reads
/// Y4M itself, straight into the caller's memory; everything else goes through libavformat and libavcodec.
public final class MediaReader: @unchecked Sendable {
    /// How to read.
    public struct Options: Sendable {
        /// Decoder threads; 0 is one a core.
        public var threads = 0
        /// Whether `next()` also hands out the packets of audio and subtitle streams, for `MediaWriter.write(copied:)`.
        public var includesOtherStreams = false
        /// Whether video comes as the file's own packets instead of decoded frames.
        public var decodesVideo = true
        /// Whether HEVC of a kind that the daemon decodes comes as packets, whatever `decodesVideo` says.
        public var leavesHEVC = false
        /// Keeps the alpha channel, so that frames come as `yuva`, and what becomes of it; nil drops it.
        ///
        /// An input without one is then refused.
        public var alpha: AlphaConversion?
        /// Frames a second of pictures and raw streams, which do not tell; nil is 25, and other inputs refuse one.
        public var frameRate: Rational?

        /// The highest temporal level of HEVC that is read, 0…6; nil reads all.
        public var maxLevel: Int?
        /// Whether levels that the file does not annotate are read all the same, for a session to drop.
        public var keepsUnsignaledLevels = false

        /// Decoded video alone, one thread a core.
        public init() {}
    }

    /// What `next()` hands out.
    public enum Item: Sendable {
        /// The next frame in presentation order.
        case frame(DecodedFrame)
        /// The next packet of a stream that is not decoded, in the file's order.
        case packet(MediaPacket)
    }

    /// The path it was opened with, or "-".
    public let path: String
    /// The stream whose frames are handed out.
    public let video: VideoDescription
    /// What a person should know of the input before it is used, one line each.
    public let warnings: [String]
    /// The file's other streams.
    public let otherStreams: [OtherStream]
    /// The most slots the decoder may hold besides the frames that are handed out.
    ///
    /// A pool needs more than that, or every slot may be the decoder's and none left to copy a frame to.
    public let slotsHeldByDecoder: Int
    /// Bytes a slot must have to be decoded or copied into.
    public let slotByteCount: Int

    let source: Source
    private let cancelFlag: CancelFlag

    enum Source {
        case y4m(Y4MSource)
        case libAV(LibAVSource)
    }

    private var y4mReport = DecodeReport()

    /// Opens `path`, Y4M on standard input for "-", or a series of pictures for a name like `frame-%04d.png`.
    ///
    /// Frames lie in the reader's own memory until `use(_:)` names another.
    /// - Throws: `noInput`, `noPermission`, `badInput` or `unsupported`.
    public init(path: String, options: Options = Options()) throws(MediaError) {
        self.path = path
        let cancelFlag = CancelFlag()
        self.cancelFlag = cancelFlag
        let packedSize: Int
        if path == "-" || path.lowercased().hasSuffix(".y4m") {
            guard options.frameRate == nil else {
                throw MediaError(.usage, "\(path) is Y4M, which has a frame rate of its own")
            }
            guard options.maxLevel == nil else { throw MediaError.noLevels(path, codec: "Y4M") }
            let y4m = try Y4MSource(path: path, keepsAlpha: options.alpha != nil, cancelFlag: cancelFlag)
            guard options.alpha == nil || y4m.header.format == .yuva else {
                throw MediaError(.badInput, "\(path) has no alpha channel: it is Y4M with C\(y4m.header.chroma)")
            }
            source = .y4m(y4m)
            var video = VideoDescription(y4m.header)
            video.alphaMode = options.alpha?.source
            self.video = video
            otherStreams = []
            warnings =
                (y4m.header.frameRate == nil
                    ? ["warning: the Y4M header names no frame rate: 25 a second are taken"] : [])
                + (y4m.dropsAlpha ? ["warning: the input's alpha (C\(y4m.header.chroma)) is left out"] : [])
            slotsHeldByDecoder = 0
            packedSize = y4m.header.frameByteCount
        } else {
            let libAV = try LibAVSource(path: path, options: options, cancelFlag: cancelFlag)
            source = .libAV(libAV)
            video = libAV.video
            otherStreams = libAV.otherStreams
            warnings = libAV.warnings
            slotsHeldByDecoder = libAV.slotsHeldByDecoder
            packedSize = libAV.directByteCount
        }
        slotByteCount = max(
            packedSize, FrameLayout.packed(video.format, width: video.width, height: video.height).size)
    }

    /// Has frames put into `memory` where they fit as they are; comes before the first `next()`.
    ///
    /// Apart from `init` because a pool is made to the measure of `slotByteCount` and `slotsHeldByDecoder`.
    public func use(_ memory: any FrameMemory) {
        switch source {
        case .y4m(let y4m): y4m.memory = memory
        case .libAV(let libAV): libAV.use(memory)
        }
    }

    /// The next frame or packet; nil at the end.
    ///
    /// Damage inside the stream is counted in `report` and decoding goes on behind it.
    /// - Throws: `badInput` when the file ends too early or nothing in it can be decoded, `unsupported` when the
    ///   picture's size changes, `io`, `interrupted`.
    public func next() throws(MediaError) -> Item? {
        switch source {
        case .libAV(let libAV): return try libAV.next()
        case .y4m(let y4m):
            let index = y4m.frameIndex
            guard let (samples, direct) = try y4m.next() else { return nil }
            y4mReport.frames += 1
            if direct != nil { y4mReport.directFrames += 1 }
            return .frame(
                DecodedFrame(
                    index: index, pts: Int64(index), duration: 1, isKeyFrame: true, format: video.format,
                    width: video.width, height: video.height, direct: direct, samples: .tight(samples)))
        }
    }

    /// How decoding went so far.
    public var report: DecodeReport {
        switch source {
        case .libAV(let libAV): libAV.report
        case .y4m: y4mReport
        }
    }

    /// Whether `next()` hands out the video's packets instead of its frames.
    public var handsOutPackets: Bool {
        switch source {
        case .libAV(let libAV): !libAV.decodes
        case .y4m: false
        }
    }

    /// How temporal levels were dropped so far; nil without `Options.maxLevel`.
    public var levels: LevelReport? {
        switch source {
        case .libAV(let libAV): libAV.levels?.report
        case .y4m: nil
        }
    }

    /// Whether the file stores no timestamps, as elementary streams do not.
    public var isUntimed: Bool {
        switch source {
        case .libAV(let libAV): libAV.demuxer.isUntimed
        case .y4m: true
        }
    }

    /// Whether the file can be read a second time, as a pipe cannot.
    public var canReopen: Bool {
        guard case .libAV(let libAV) = source else { return false }
        return libAV.demuxer.canReopen
    }

    /// What a copy takes over of the video's sample entry.
    var sampleEntryBoxes: [Box] {
        guard case .libAV(let input) = source, input.demuxer.isMovie, input.demuxer.canReopen,
            let track = input.demuxer.video?.id
        else { return [] }
        return SourceBoxes(path: path)?.carried(track: track) ?? []
    }

    /// A clock for frames that somebody else decodes from the video's packets.
    public var presentationClock: PresentationClock { PresentationClock(video, isUntimed: isUntimed) }

    /// Makes the call that is under way, and every later one, throw `interrupted`; safe from any thread.
    public func cancel() { cancelFlag.set() }
}

extension VideoDescription {
    /// What a Y4M header tells; without a rate it is 25, as libavformat has it.
    init(_ header: Y4MHeader) {
        let rate = header.frameRate ?? Rational(25)
        self.init(
            streamIndex: 0, codec: "rawvideo", codecConfiguration: [], width: header.width, height: header.height,
            sourceFormat: header.format == .i010
                ? "yuv420p10le" : header.format == .yuva ? "yuva420p" : "yuv420p",
            sourceBitDepth: header.format.bitDepth, format: header.format, conversion: nil, isInterlaced: false,
            color: ColorDescription(isFullRange: header.isFullRange, chromaLocation: header.chromaLocation),
            averageFrameRate: rate, baseFrameRate: rate, timeBase: rate.inverse ?? Rational(1), duration: nil,
            frameCount: nil, sampleAspectRatio: header.sampleAspectRatio, displayMatrix: nil, rotation: 0)
    }
}
