// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

extension VideoTrackInfo {
    /// The most pictures whose headers are read: an hour at 240 frames a second.
    private static let maxPictures = 1 << 20
    /// The same for files without a sample table, which have to be demuxed.
    private static let maxPackets = 4096

    /// Fills in an HEVC track's temporal levels and the annotations of its file's boxes.
    ///
    /// Without boxes, packets are read from `context`.
    mutating func addLevels(
        _ file: InputFile, _ context: UnsafeMutablePointer<AVFormatContext>, _ boxes: SourceBoxes?
    ) {
        guard let opened = context.pointee.streams?[stream]?.pointee, let parameters = opened.codecpar?.pointee,
            let start = parameters.extradata, parameters.extradata_size > 0
        else { return }
        let configuration = HEVCConfiguration(
            Array(UnsafeBufferPointer(start: start, count: Int(parameters.extradata_size))))
        let scan: LevelScan
        if let boxes {
            guard
                let found = LevelScan(
                    file, boxes: boxes, track: opened.id, configuration: configuration,
                    count: Self.maxPictures)
            else { return }
            scan = found
        } else {
            guard temporalLayers ?? 1 > 1 else { return }
            scan = LevelScan(context, stream: stream, framing: configuration.framing, count: Self.maxPackets)
        }
        annotations = scan.annotations.flatMap { $0.kinds.isEmpty ? nil : $0.kinds }
        annotationFaults = scan.annotations.flatMap { $0.faults.isEmpty ? nil : $0.faults }
        guard scan.rates.count > 1 else { return }
        let full = Rational(positive: opened.avg_frame_rate) ?? Rational(positive: opened.r_frame_rate)
        levels = (0..<scan.rates.count).map { level in
            TemporalLevelInfo(
                level: level, frames: scan.isWhole ? scan.rates.pictures[level] : nil,
                frameRate: scan.rates.rate(level, full: full, tick: scan.tick)?.description)
        }
    }
}
