// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// Selects the packets of an HEVC track that belong to the requested temporal levels.
///
/// Annotations of the file (`tscl`) are used without parsing the bitstream, until one contradicts a picture's NAL unit
/// header; from there on, and in files without annotations, the headers decide.
final class LevelFilter {
    private(set) var report: LevelReport
    /// Whether the kept pictures are known to have another frame rate than the whole stream.
    private(set) var changesRate = false

    private let limit: UInt8
    private var keepsAll: Bool
    private var framing: SampleKind.Framing
    /// The annotated level of each sample; nil without annotations, and once they proved wrong.
    private var levels: [UInt8]?
    private let offsets: [UInt64]
    /// Sample numbers by file position; empty where the positions ascend, which a binary search uses.
    private let samplesByOffset: [UInt64: Int]
    /// The sample that is expected next.
    private var cursor = 0

    /// The most pictures whose headers are parsed ahead, to find the rates and to check the annotations.
    static let maxScannedSamples = 4096

    /// A filter for the levels 0…`limit` of a stream.
    ///
    /// - Parameters:
    ///   - annotations: the file's sample groups, compared with its first pictures; nil where it has none.
    ///   - levelCount: how many levels the stream has; nil when not known.
    ///   - keepsUnsignaled: whether all pictures are kept where no annotations exist, for a session to drop.
    init(
        limit: Int, framing: SampleKind.Framing, annotations: TrackAnnotations?, levelCount: Int?,
        keepsUnsignaled: Bool
    ) {
        keepsAll = keepsUnsignaled && annotations?.levels == nil
        self.limit = UInt8(clamping: limit)
        self.framing = framing
        levels = annotations?.levels
        offsets = levels == nil ? [] : annotations?.table?.offsets ?? []
        let isSorted = zip(offsets, offsets.dropFirst()).allSatisfy { $0 < $1 }
        samplesByOffset = isSorted ? [:] : Dictionary(zip(offsets, offsets.indices)) { first, _ in first }
        report = LevelReport(limit: limit, levels: levelCount)
        report.isLeftToSession = keepsAll
        if levels != nil {
            report.source = .annotations
        } else if let annotations, annotations.areLevelsDamaged {
            let fault = annotations.faults.first ?? "damaged"
            report.warning =
                "the file's temporal levels are read from NAL unit headers, its annotations are wrong: \(fault)"
        }
    }

    /// The filter that `options` request; nil when they keep all levels.
    ///
    /// `video` then describes the kept pictures: their frame rate and count.
    /// - Throws: `unsupported` for a codec other than HEVC.
    convenience init?(
        _ options: MediaReader.Options, _ demuxer: Demuxer, _ boxes: SourceBoxes?, leavesUnsignaled: Bool,
        _ video: inout VideoDescription
    ) throws(MediaError) {
        guard let limit = options.maxLevel else { return nil }
        guard demuxer.video?.codecpar?.pointee.codec_id == AV_CODEC_ID_HEVC else {
            throw .noLevels(demuxer.path, codec: video.codec)
        }
        let configuration = HEVCConfiguration(video.codecConfiguration)
        let subLayers = configuration.subLayerCount
        let scan = Self.scan(demuxer, boxes, configuration, frameRate: options.frameRate)
        self.init(
            limit: limit, framing: configuration.framing, annotations: scan?.annotations,
            levelCount: scan.map { $0.count(subLayers) } ?? subLayers, keepsUnsignaled: leavesUnsignaled)
        guard let scan, limit < scan.rates.count - 1 else { return }
        changesRate = true
        video.frameCount = scan.isWhole ? scan.rates.total(limit) : nil
        let full = video.averageFrameRate ?? video.baseFrameRate
        guard let rate = scan.rates.rate(limit, full: full, tick: scan.tick) else { return }
        video.averageFrameRate = rate
        video.baseFrameRate = rate
        // The time base of elementary streams is one frame.
        if demuxer.isUntimed, let ticks = rate.inverse { video.timeBase = ticks }
    }

    /// Reads the levels from the boxes of a movie, else from the first pictures through a separate demuxer.
    private static func scan(
        _ demuxer: Demuxer, _ boxes: SourceBoxes?, _ configuration: HEVCConfiguration, frameRate: Rational?
    ) -> LevelScan? {
        let file = demuxer.file
        guard file.isSeekable else { return nil }
        let boxed = boxes.flatMap { boxes in
            LevelScan(
                file, boxes: boxes, track: demuxer.video?.id ?? 0, configuration: configuration,
                count: maxScannedSamples)
        }
        guard boxed?.rates.count ?? 0 == 0, configuration.subLayerCount ?? 2 > 1,
            let second = try? Demuxer(file, cancelFlag: demuxer.cancelFlag, frameRate: frameRate)
        else { return boxed }
        var scan = LevelScan(
            second.context, stream: second.videoIndex, framing: configuration.framing, count: maxScannedSamples)
        scan.annotations = boxed?.annotations
        return scan
    }

    /// Drops pictures without annotations too, by their headers, where no session can.
    func dropUnsignaled() {
        keepsAll = false
        report.isLeftToSession = false
    }

    /// Reads the packets that follow in another configuration's framing.
    func change(to configuration: HEVCConfiguration) { framing = configuration.framing }

    /// Whether a packet of the video is kept; counts it.
    func keeps(_ packet: UnsafePointer<AVPacket>) -> Bool {
        let bytes = UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(max(0, packet.pointee.size)))
        let picture = SampleKind(bytes, framing)
        var level = picture?.temporalID
        if let annotated = annotatedLevel(at: packet.pointee.pos) {
            if let level, level != annotated {
                rejectAnnotations(annotated, level)
            } else {
                level = annotated
            }
        }
        // A packet without a level goes to the decoder, which reports its damage.
        let isKept = keepsAll || level.map { $0 <= limit } ?? true
        if isKept { report.kept += 1 } else { report.dropped += 1 }
        let (pts, duration) = (packet.pointee.pts, packet.pointee.duration)
        if pts != clibav_no_pts(), Ticks.isPossible(pts), (0..<(1 << 40)).contains(duration) {
            report.end = max(report.end ?? .min, pts + duration)
        }
        return isKept
    }

    private func rejectAnnotations(_ annotated: UInt8, _ level: UInt8) {
        levels = nil
        report.source = .headers
        report.warning =
            "the file's annotations place picture \(report.kept + report.dropped + 1) in temporal level \(annotated), "
            + "its NAL unit header in level \(level): NAL unit headers decide from there on"
    }

    /// The annotated level of the sample at file position `position`; nil without one.
    private func annotatedLevel(at position: Int64) -> UInt8? {
        guard let levels, position >= 0 else { return nil }
        let position = UInt64(position)
        if cursor < offsets.count, offsets[cursor] == position {
            cursor += 1
            return levels[cursor - 1]
        }
        guard let sample = samplesByOffset.isEmpty ? search(position) : samplesByOffset[position] else {
            return nil
        }
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
