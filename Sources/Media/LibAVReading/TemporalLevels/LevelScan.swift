// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// A file's temporal levels, from its boxes where it has any, and from the headers of its pictures.
struct LevelScan {
    /// The boxes' annotations, compared with the pictures that were scanned; nil where there are no boxes.
    var annotations: TrackAnnotations?
    /// The pictures that were scanned or annotated.
    private(set) var rates = LevelRates()
    /// Whether `rates` covers all pictures.
    private(set) var isWhole = false
    /// Seconds per tick of the pictures' times.
    private(set) var tick = 0.0

    /// Reads the boxes of a movie and the headers of its first `count` pictures.
    init?(_ file: InputFile, boxes: SourceBoxes, track: Int32, configuration: HEVCConfiguration, count: Int) {
        let subLayers = configuration.subLayerCount
        guard let scale = boxes.timeScale(track: track),
            var annotations = boxes.annotations(track: track, subLayers: subLayers)
        else { return nil }
        self.annotations = annotations
        // Without sample groups and with one sub-layer there is nothing to find.
        guard !annotations.kinds.isEmpty || subLayers ?? 2 > 1 else { return }
        guard let table = annotations.table else { return }
        let pictures = annotations.pictures(PositionedReader(file), configuration.framing, count: count)
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

    /// Reads the first `count` pictures of a stream, which moves the context's read position.
    init(
        _ context: UnsafeMutablePointer<AVFormatContext>, stream: Int, framing: SampleKind.Framing, count: Int
    ) {
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let packet, let base = context.pointee.streams?[stream]?.pointee.time_base else { return }
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
            let time = packet.pointee.pts == clibav_no_pts() ? packet.pointee.dts : packet.pointee.pts
            if seen == 1, time == clibav_no_pts() { rates.isUntimed = true }
            rates.add(level: picture.temporalID, time: time == clibav_no_pts() ? nil : time)
        }
    }

    /// The number of levels: those that occur, or the `subLayers` of the parameter sets where these are more.
    func count(_ subLayers: Int?) -> Int { max(rates.count, subLayers ?? 1) }
}
