// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel

/// Which packets of an HEVC track belong to the temporal levels that are wanted.
///
/// A file that annotates its samples (`tscl`) is believed without a look at the bitstream, until an annotation
/// contradicts a picture's own header: from there on the headers decide. Every other file is filtered by headers.
final class LevelFilter {
    /// What is wanted and what came of it.
    private(set) var report: LevelReport

    private let limit: UInt8
    private var leavesAll: Bool
    private let framing: SampleKind.Framing
    private var levels: [UInt8]?
    private let offsets: [UInt64]
    private let places: [UInt64: Int]
    private var cursor = 0
    /// Whether what is left is known to be shown at another rate.
    private(set) var changesRate = false

    /// Pictures whose headers are looked at before anything is dropped, to tell rates and whether the boxes lie.
    static let samplesLookedAt = 4096

    /// A filter for the levels 0…`limit` of a stream.
    ///
    /// - Parameters:
    ///   - annotations: what the file's boxes say, compared with its first pictures; nil where it has none.
    ///   - levelCount: how many levels the stream has; nil when not known.
    ///   - keepsUnsignaled: whether pictures of which no annotation tells are all kept, for somebody else to drop.
    init(
        limit: Int, framing: SampleKind.Framing, annotations: TrackAnnotations?, levelCount: Int?,
        keepsUnsignaled: Bool
    ) {
        leavesAll = keepsUnsignaled && annotations?.levels == nil
        self.limit = UInt8(clamping: limit)
        self.framing = framing
        levels = annotations?.levels
        offsets = levels == nil ? [] : annotations?.table?.offsets ?? []
        let isSorted = zip(offsets, offsets.dropFirst()).allSatisfy { $0 < $1 }
        places = isSorted ? [:] : Dictionary(zip(offsets, offsets.indices)) { first, _ in first }
        report = LevelReport(limit: limit, levels: levelCount)
        report.isLeftToSession = leavesAll
        if levels != nil {
            report.source = .annotations
        } else if let annotations, annotations.areLevelsDamaged {
            let why = annotations.faults.first ?? "damaged"
            report.warning =
                "the file's temporal levels are told by its NAL units, its annotations are wrong: \(why)"
        }
    }

    /// The filter that `options` ask for; nil when they want all levels.
    ///
    /// `video` then tells of what is left: its rate, and how many frames.
    /// - Throws: `unsupported` for a codec without levels.
    convenience init?(
        _ options: MediaReader.Options, _ demuxer: Demuxer, _ boxes: SourceBoxes?, leavesUnsignaled: Bool,
        _ video: inout VideoDescription
    ) throws(MediaError) {
        guard let limit = options.maxLevel else { return nil }
        guard demuxer.video?.codecpar?.pointee.codec_id == AV_CODEC_ID_HEVC else {
            throw .noLevels(demuxer.path, codec: video.codec)
        }
        let configuration = video.codecConfiguration
        let subLayers = LevelScan.subLayers(configuration)
        let scan = Self.scan(demuxer, boxes, configuration, subLayers, frameRate: options.frameRate)
        self.init(
            limit: limit, framing: SampleKind.framing(configuration), annotations: scan?.annotations,
            levelCount: scan.map { $0.count(subLayers) } ?? subLayers, keepsUnsignaled: leavesUnsignaled)
        guard let scan, limit < scan.rates.count - 1 else { return }
        changesRate = true
        video.frameCount = scan.isWhole ? scan.rates.total(limit) : nil
        let full = video.averageFrameRate ?? video.baseFrameRate
        guard let rate = scan.rates.rate(limit, full: full, tick: scan.tick) else { return }
        video.averageFrameRate = rate
        video.baseFrameRate = rate
        // Elementary streams count frames.
        if demuxer.isUntimed, let ticks = rate.inverse { video.timeBase = ticks }
    }

    /// The levels of the file's first pictures: by the boxes of a movie, else read through a demuxer of its own.
    private static func scan(
        _ demuxer: Demuxer, _ boxes: SourceBoxes?, _ configuration: [UInt8], _ subLayers: Int?, frameRate: Rational?
    ) -> LevelScan? {
        let file = demuxer.file
        guard file.isSeekable else { return nil }
        let boxed = boxes.flatMap { boxes in
            LevelScan(
                file, boxes: boxes, track: demuxer.video?.id ?? 0, configuration: configuration,
                count: samplesLookedAt)
        }
        guard boxed?.rates.count ?? 0 == 0, subLayers ?? 2 > 1,
            let second = try? Demuxer(file, cancelFlag: demuxer.cancelFlag, frameRate: frameRate)
        else { return boxed }
        var scan = LevelScan(
            second.context, stream: second.videoIndex, configuration: configuration, count: samplesLookedAt)
        scan.annotations = boxed?.annotations
        return scan
    }

    /// Drops what no annotation describes too, from the headers: no session is left to do that.
    func dropUnsignaled() {
        leavesAll = false
        report.isLeftToSession = false
    }

    /// Whether a packet of the video is wanted; counts it.
    func keeps(_ packet: UnsafePointer<AVPacket>) -> Bool {
        let bytes = UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(max(0, packet.pointee.size)))
        let picture = SampleKind(bytes, framing)
        var level = picture?.temporalID
        if let told = told(at: packet.pointee.pos) {
            if let level, level != told {
                contradict(told, level)
            } else {
                level = told
            }
        }
        // What cannot be told is left to the decoder, which tells of damage.
        let isKept = leavesAll || level.map { $0 <= limit } ?? true
        if isKept { report.kept += 1 } else { report.dropped += 1 }
        let (pts, duration) = (packet.pointee.pts, packet.pointee.duration)
        if pts != clibav_no_pts(), Ticks.isPossible(pts), (0..<(1 << 40)).contains(duration) {
            report.end = max(report.end ?? .min, pts + duration)
        }
        return isKept
    }

    private func contradict(_ told: UInt8, _ level: UInt8) {
        levels = nil
        report.source = .headers
        report.warning =
            "the file's annotations say that the picture \(report.kept + report.dropped + 1) is of temporal level "
            + "\(told), and its NAL units say \(level): the NAL units are believed from there on"
    }

    /// What the file says of the sample that lies at `position`.
    private func told(at position: Int64) -> UInt8? {
        guard let levels, position >= 0 else { return nil }
        let position = UInt64(position)
        if cursor < offsets.count, offsets[cursor] == position {
            cursor += 1
            return levels[cursor - 1]
        }
        guard let sample = places.isEmpty ? search(position) : places[position] else { return nil }
        cursor = sample + 1
        return levels[sample]
    }

    private func search(_ position: UInt64) -> Int? {
        var (low, high) = (0, offsets.count)
        while low < high {
            let middle = (low + high) / 2
            if offsets[middle] < position { low = middle + 1 } else { high = middle }
        }
        return low < offsets.count && offsets[low] == position ? low : nil
    }
}

/// How a reader dropped temporal levels.
public struct LevelReport: Hashable, Sendable {
    /// What told the level of a picture.
    public enum Source: String, Hashable, Sendable {
        /// The file's sample groups (`tscl`, ISO/IEC 14496-15 8.4).
        case annotations
        /// The pictures' NAL unit headers.
        case headers = "nal-headers"
    }

    /// The highest level that is wanted.
    public let limit: Int
    /// How many levels the stream has; nil when not known.
    public let levels: Int?
    /// What told the levels, in the end.
    public internal(set) var source = Source.headers
    /// Whether every packet is passed on: the file does not annotate its levels, and a session drops them.
    public internal(set) var isLeftToSession = false
    /// Packets that were handed on.
    public internal(set) var kept = 0
    /// Packets that were left out.
    public internal(set) var dropped = 0
    /// Whether the stream is known to have levels above the limit, or may have.
    public var dropsSome: Bool { levels.map { $0 > limit + 1 } ?? true }
    /// When the last picture ends, left out or not, in ticks of the video; nil when the file tells no times.
    public internal(set) var end: Int64?
    /// What is wrong with the file's annotations; nil where they agree with the pictures, or are not there.
    public internal(set) var warning: String?

    init(limit: Int, levels: Int?) {
        self.limit = limit
        self.levels = levels
    }

    /// What a person should know before it begins; nil where the levels are dropped as the file itself tells.
    public var note: String? {
        if let levels, levels <= 1 { return "the stream has one temporal level: nothing can be dropped" }
        if let levels, levels <= limit + 1 {
            return "the stream has \(levels) temporal levels, 0 to \(levels - 1): nothing is dropped"
        }
        return source == .headers && warning == nil
            ? "the file does not annotate its temporal levels: its NAL units tell them" : nil
    }
}
