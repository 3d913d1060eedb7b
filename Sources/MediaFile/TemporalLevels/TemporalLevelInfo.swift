// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel

/// A temporal level of a video track: what is shown when all above it are dropped.
public struct TemporalLevelInfo: Hashable, Sendable, Encodable {
    /// TemporalId, from 0 on.
    public var level: Int
    /// Frames of this level alone; nil when not all of the track was looked at.
    public var frames: Int?
    /// Frames a second of the levels from 0 to this one, as `n/d`; nil when not known.
    public var frameRate: String?

    enum CodingKeys: String, CodingKey {
        case level, frames
        case frameRate = "frame_rate"
    }
}

extension VideoTrackInfo {
    /// Pictures whose headers are looked at: all of an hour at 240 frames a second.
    private static let picturesLookedAt = 1 << 20
    /// The same of a file without a table of samples, which has to be read through.
    private static let packetsLookedAt = 4096

    /// Looks at an HEVC track's temporal levels, and at what its file's boxes say of them.
    ///
    /// `context` is read on from where it stands, if the file has no boxes.
    mutating func takeLevels(
        _ file: InputFile, _ context: UnsafeMutablePointer<AVFormatContext>, _ boxes: SourceBoxes?
    ) {
        guard let opened = context.pointee.streams?[stream]?.pointee, let parameters = opened.codecpar?.pointee,
            let start = parameters.extradata, parameters.extradata_size > 0
        else { return }
        let configuration = Array(UnsafeBufferPointer(start: start, count: Int(parameters.extradata_size)))
        let scan: LevelScan
        if let boxes {
            guard
                let found = LevelScan(
                    file, boxes: boxes, track: opened.id, configuration: configuration,
                    count: Self.picturesLookedAt)
            else { return }
            scan = found
        } else {
            guard temporalLayers ?? 1 > 1 else { return }
            scan = LevelScan(
                context, stream: stream, configuration: configuration, count: Self.packetsLookedAt)
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
