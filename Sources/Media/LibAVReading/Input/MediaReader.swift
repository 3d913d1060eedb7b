// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
package import HWDBoxes
public import HWDLibAV
public import HWDMetadata
public import HWDModel

/// Reads a media file: its video as frames in presentation order, its other streams as packets.
///
/// Use it from one thread at a time; `cancel()` may come from any. Y4M is read by this module, straight into the
/// caller's memory; everything else goes through libavformat and libavcodec. The file is opened once.
public final class MediaReader: @unchecked Sendable {
    /// Who decodes the video.
    public enum Decoding: Hashable, Sendable {
        /// libavcodec in this process: `next()` returns frames.
        case inProcess
        /// The daemon, where it can decode such a stream: `next()` returns packets, and temporal levels that the file
        /// does not annotate are left to the session. Everything else is decoded in this process.
        case daemonIfPossible
        /// The video is not decoded: `next()` returns packets.
        case disabled
    }

    /// What is read, and how.
    public struct Options: Sendable {
        /// Who decodes the video.
        public var decoding = Decoding.inProcess
        /// Decoder threads; 0 is one per core.
        public var threads = 0
        /// Whether `next()` also returns the packets of audio and subtitle streams, for `MediaWriter.write(copied:)`.
        public var includesOtherStreams = false
        /// Keeps the alpha channel, so that frames are `yuva`, and how colors relate to it; nil drops it.
        ///
        /// An input without alpha is then refused, unless `isAlphaOptional`. An HEVC alpha layer is left to the daemon.
        public var alpha: AlphaConversion?
        /// Whether an input without alpha is read as it is where `alpha` is set.
        public var isAlphaOptional = false
        /// Frames per second of pictures and raw streams, which store no rate; nil is 25, and other inputs refuse one.
        public var frameRate: Rational?
        /// The highest temporal level of HEVC that is read, 0…6; nil reads all.
        public var maxLevel: Int?

        /// Pictures before this time, in microseconds, may be left out; reading then begins at a key frame before it.
        public var start: Int64?

        /// Whether pictures of another size than the first are scaled to it; otherwise they are refused.
        public var scalesToFirstSize = false

        /// Whether an input that can be read only once is refused, before it is opened.
        public var requiresFile = false

        /// Video decoded in this process, with one thread per core.
        public init() {}
    }

    /// What `next()` returns.
    public enum Item {
        /// The next frame in presentation order.
        case frame(SourceFrame)
        /// The next packet of a stream that is not decoded, in the file's order.
        case packet(MediaPacket)
    }

    /// The open file.
    public let file: InputFile
    /// The stream whose frames or packets are returned.
    public let video: VideoDescription
    /// Notices about the input to show before it is used, one line each.
    public let warnings: [String]
    /// The file's other streams.
    public let otherStreams: [OtherStream]

    private let input: any InputReader
    /// The input where libavformat reads it; nil for others.
    package let libAV: LibAVSource?
    private let cancelFlag = CancelFlag()

    /// Opens `path`, standard input for "-", or a series of pictures for a name like `frame-%04d.png`.
    /// - Throws: `noInput`, `noPermission`, `badInput` or `unsupported`.
    public convenience init(path: String, options: Options = Options()) throws(MediaError) {
        if options.requiresFile { try InputFile.requireFile(path) }
        try self.init(try InputFile(path), options: options)
    }

    /// Reads an open file from its beginning; standard input from where it is.
    ///
    /// Frames are in the reader's own memory until `use(_:)` names another.
    /// - Throws: `badInput`, `unsupported`, `usage` for options that do not fit the input.
    public init(_ file: InputFile, options: Options = Options()) throws(MediaError) {
        self.file = file
        let input = try Self.open(file, options, cancelFlag)
        self.input = input
        libAV = input as? LibAVSource
        (video, otherStreams, warnings) = (input.video, input.otherStreams, input.warnings)
    }

    private static func open(
        _ file: InputFile, _ options: Options, _ cancelFlag: CancelFlag
    ) throws(MediaError) -> any InputReader {
        switch file.kind {
        case .y4m: try Y4MSource(file, options: options, cancelFlag: cancelFlag)
        case .media, .pictures: try LibAVSource(file, options: options, cancelFlag: cancelFlag)
        }
    }

    /// The path the file was opened with; "standard input" for "-".
    public var path: String { file.name }

    /// The most slots the decoder may hold besides the frames that were returned.
    ///
    /// A pool needs more than that, or the decoder may occupy every slot and leave none to copy a frame to.
    public var slotsHeldByDecoder: Int { input.slotsHeld }

    /// Bytes a slot needs for a frame to be decoded or copied into it.
    public var slotByteCount: Int {
        max(input.directByteCount, FrameLayout.packed(video.format, width: video.width, height: video.height).size)
    }

    /// Decodes in this process a video left to the daemon; call it before `use(_:)` and the first `next()`.
    /// - Throws: `badInput` when libavcodec does not open its decoder.
    public func decodeInProcess() throws(MediaError) { try input.decodeInProcess() }

    /// Sets the memory for frames that need no conversion; call it before the first `next()`.
    ///
    /// Not part of `init`, because a pool's size depends on `slotByteCount` and `slotsHeldByDecoder`.
    public func use(_ memory: any FrameMemory) { input.use(memory) }

    /// The next frame or packet; nil at the end.
    ///
    /// Damage inside the stream is counted in `report`, and decoding continues after it.
    /// - Throws: `badInput` when the file ends too early or nothing in it can be decoded, `unsupported` when the
    ///   picture's size changes and it is not scaled, `io`, `interrupted`.
    public func next() throws(MediaError) -> Item? { try input.next() }

    /// The counters of decoding so far.
    public var report: DecodeReport { input.report }

    /// Whether `next()` returns the video's frames; else its packets.
    public var decodesInProcess: Bool { input.decodes }

    /// The number of temporal levels, their source and what was dropped so far; nil without `Options.maxLevel`.
    public var levels: LevelReport? { input.levelReport }

    /// Whether the file stores no timestamps, as elementary streams do not.
    public var isUntimed: Bool { input.isUntimed }

    /// Boxes of the video's sample entry that a copy keeps as they are.
    package var carriedBoxes: [Box] { libAV?.carriedBoxes ?? [] }

    /// What the file holds that nothing here knows, by its type.
    package var unknownContents: [String] { libAV?.unknownContents ?? [] }

    /// What `MediaWriter.annotate` wrote under a key; nil without.
    public func annotation(_ key: String) -> String? {
        libAV.flatMap { LibAVDictionary.value($0.demuxer.context.pointee.metadata, key) }
    }

    /// The boxes of the first sample's entry; nil for files without sample entries.
    package var firstEntryBoxes: [Box]? {
        (libAV?.entryRuns.first ?? libAV?.sampleEntries.first)?.children
    }

    /// A warning about a copy of Dolby Vision of profile 5, whose sample entry is `hvc1` and not `dvh1`; nil for others.
    public var dolbyVisionWarning: String? {
        guard carriedBoxes.contains(where: DolbyVisionBox.needsDolbyVision) else { return nil }
        return
            "warning: Dolby Vision profile 5 is copied as hvc1: players without Dolby Vision show it in wrong colors"
    }

    /// The end of the video's edit list in seconds; nil without one.
    public var editListEnd: Double? { libAV?.editListEnd }

    /// The end of the file in microseconds, as it declares it; nil when it does not.
    public var declaredEnd: Int64? {
        guard let libAV else { return nil }
        let duration = libAV.demuxer.context.pointee.duration
        return duration > 0 && Ticks.isPossible(duration) ? duration : nil
    }

    /// A clock for frames that are decoded elsewhere from the video's packets.
    public var presentationClock: PresentationClock { PresentationClock(video, isUntimed: isUntimed) }

    /// Makes the current call, and every later one, throw `interrupted`; safe from any thread.
    public func cancel() { cancelFlag.set() }
}
