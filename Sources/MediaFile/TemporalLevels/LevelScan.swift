// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDLibAV
internal import HWDModel

/// What a file's temporal levels are: by its boxes where it has any, and by the headers of its pictures.
struct LevelScan {
    /// What the boxes say, compared with the pictures that were looked at; nil where there are no boxes.
    var annotations: TrackAnnotations?
    /// The pictures that were looked at, or that the boxes tell of.
    private(set) var rates = LevelRates()
    /// Whether `rates` is of all pictures.
    private(set) var isWhole = false
    /// Seconds a unit of the pictures' times.
    private(set) var tick = 0.0

    /// Looks into the boxes of a movie, and at its first `count` pictures.
    init?(_ file: InputFile, boxes: SourceBoxes, track: Int32, configuration: [UInt8], count: Int) {
        let subLayers = Self.subLayers(configuration)
        guard let scale = boxes.timeScale(track: track),
            var annotations = boxes.annotations(track: track, subLayers: subLayers)
        else { return nil }
        self.annotations = annotations
        // Nothing to look for where neither boxes nor parameter sets speak of levels.
        guard !annotations.kinds.isEmpty || subLayers ?? 2 > 1 else { return }
        guard let table = annotations.table else { return }
        let pictures = annotations.pictures(PositionedReader(file), SampleKind.framing(configuration), count: count)
        annotations.compare(with: pictures)
        tick = 1 / Double(scale)
        if let levels = annotations.levels {
            for (sample, level) in levels.enumerated() { rates.add(level: level, time: table.times[sample]) }
        } else {
            for (sample, picture) in pictures.enumerated() {
                if let picture { rates.add(level: picture.temporalID, time: table.times[sample]) }
            }
        }
        isWhole = annotations.levels != nil || pictures.count == table.count && !pictures.contains(nil)
        self.annotations = annotations
    }

    /// Reads the first `count` pictures of a stream; the context is of no other use afterwards.
    init(_ context: UnsafeMutablePointer<AVFormatContext>, stream: Int, configuration: [UInt8], count: Int) {
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let packet, let base = context.pointee.streams?[stream]?.pointee.time_base else { return }
        let framing = SampleKind.framing(configuration)
        tick = av_q2d(base)
        var seen = 0
        var others = 0
        while seen < count, others < 16 * count {
            guard av_read_frame(context, packet) >= 0 else {
                isWhole = true
                return
            }
            defer { av_packet_unref(packet) }
            guard Int(packet.pointee.stream_index) == stream, let data = packet.pointee.data else {
                others += 1
                continue
            }
            seen += 1
            let bytes = UnsafeRawBufferPointer(start: data, count: Int(packet.pointee.size))
            guard let picture = SampleKind(bytes, framing) else { continue }
            let told = packet.pointee.pts == clibav_no_pts() ? packet.pointee.dts : packet.pointee.pts
            if seen == 1, told == clibav_no_pts() { rates.isUntimed = true }
            rates.add(level: picture.temporalID, time: told == clibav_no_pts() ? nil : told)
        }
    }

    /// Temporal levels that the parameter sets speak of; nil where there are none.
    static func subLayers(_ configuration: [UInt8]) -> Int? {
        let record =
            configuration.first == 1 ? try? DecoderConfigurationRecord(bytes: configuration) : nil
        let units = record?.nalUnits ?? AnnexB.NALUnits(configuration).map { Array($0) }
        let sets = units.lazy.compactMap { try? SequenceParameterSet(nal: $0) }
        return sets.filter { $0.header.nuhLayerId == 0 }.map { $0.spsMaxSubLayersMinus1 + 1 }.max()
    }

    /// Levels that occur or are announced.
    func count(_ subLayers: Int?) -> Int { max(rates.count, subLayers ?? 1) }
}
