// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// Splits samples of speech into their frames: phones store several in one sample (3GPP TS 26.244 6.7), and libavformat
/// returns each sample as one packet, of which decoders and muxers take the first frame.
struct FrameSplitter {
    /// Bytes of a frame with its header by its type (3GPP TS 26.101 A.4, TS 26.201 A.4; RFC 4867 5.3).
    private let sizes: [Int]
    /// A frame's duration of 20 ms in ticks, as a ratio.
    private let timeBase: Rational

    private static let narrowband = [13, 14, 16, 18, 20, 21, 27, 32, 6, 1, 1, 1, 1, 1, 1, 1]
    private static let wideband = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6, 1, 1, 1, 1, 1, 1]
    private static let frameDuration: Int64 = 20_000
    /// The most frames of a sample that is split; phones store about ten.
    static let maxFrames = 1024

    /// nil for codecs whose packets are frames already.
    init?(_ parameters: AVCodecParameters, timeBase: Rational) {
        switch parameters.codec_id {
        case AV_CODEC_ID_AMR_NB: sizes = Self.narrowband
        case AV_CODEC_ID_AMR_WB: sizes = Self.wideband
        default: return nil
        }
        self.timeBase = timeBase
    }

    /// The frames of a packet; nil where it is one frame, too many, or no whole number of them.
    func frames(of packet: MediaPacket) -> [MediaPacket]? {
        let bytes = packet.withBytes { Array($0) }
        guard let ranges = ranges(bytes), ranges.count > 1 else { return nil }
        var frames: [MediaPacket] = []
        for (number, range) in ranges.enumerated() {
            let (begin, end) = (ticks(number), ticks(number + 1))
            guard let frame = packet.replacing(bytes[range], later: begin, duration: end - begin) else {
                return nil
            }
            frames.append(frame)
        }
        return frames
    }

    /// The positions of the frames; nil where the last one is not whole, or there are too many.
    func ranges(_ bytes: [UInt8]) -> [Range<Int>]? {
        var (ranges, position) = ([Range<Int>](), 0)
        while position < bytes.count {
            let end = position + sizes[Int(bytes[position] >> 3 & 15)]
            guard end <= bytes.count, ranges.count < Self.maxFrames else { return nil }
            ranges.append(position..<end)
            position = end
        }
        return ranges
    }

    private func ticks(_ frames: Int) -> Int64 {
        av_rescale_q(Int64(frames) * Self.frameDuration, clibav_time_base(), timeBase.libAV)
    }
}

extension Demuxer {
    /// The splitters of the streams that need one.
    func splitters(_ streams: Set<Int>) -> [Int: FrameSplitter] {
        streams.reduce(into: [:]) { found, index in
            guard let stream = stream(index)?.pointee, let parameters = stream.codecpar?.pointee,
                let base = Rational(positive: stream.time_base)
            else { return }
            found[index] = FrameSplitter(parameters, timeBase: base)
        }
    }
}
