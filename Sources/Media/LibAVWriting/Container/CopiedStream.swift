// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAVReading

/// What became of the packets of one stream beside the video.
struct CopiedStream {
    var times: CopiedTimes
    /// Packets that the muxer got, and that it wrote, which is known at the end.
    var (sent, written) = (0, 0)
    /// Packets that the muxer refused.
    var refused: Int { max(0, sent - written) }
    /// Why the stream ends before the source's; nil where it does not.
    var failure: String?

    /// - Parameters:
    ///   - stream: the output's.
    ///   - isStrict: whether no two of its packets may have one decoding time.
    init(_ stream: AVStream?, _ format: OutputFormat, isStrict: Bool) {
        let parameters = stream?.codecpar?.pointee
        times = CopiedTimes(
            isSound: parameters?.codec_type == AVMEDIA_TYPE_AUDIO, isStrict: isStrict,
            offset: stream.map { Self.delay(of: $0, format) } ?? 0)
    }

    /// The ticks by which Matroska's times of Opus are later than those of the sound (RFC 9559 5.1.4.1.26, CodecDelay).
    ///
    /// libavformat's muxer writes the delay, and before version 60 not the times that belong to it.
    private static func delay(of stream: AVStream, _ format: OutputFormat) -> Int64 {
        guard format == .matroska, let parameters = stream.codecpar?.pointee,
            parameters.codec_id == AV_CODEC_ID_OPUS, parameters.initial_padding > 0, avformat_version() >> 16 < 60
        else { return 0 }
        return av_rescale_q(
            Int64(parameters.initial_padding), AVRational(num: 1, den: 48_000), stream.time_base)
    }

    /// Warnings about the stream, one line each.
    func warnings(_ description: String) -> [String] {
        var warnings: [String] = []
        if times.overlapping > 0 { warnings.append("warning: \(description) \(CopiedTimes.overlap)") }
        if refused > 0 {
            let (packets, verb) = refused == 1 ? ("1 packet", "is") : ("\(refused) packets", "are")
            warnings.append("warning: \(packets) of \(description) cannot be written and \(verb) left out")
        }
        if let failure {
            warnings.append(
                "warning: \(description) \(written == 0 ? "is left out" : "ends early"): \(failure)")
        }
        return warnings
    }
}
