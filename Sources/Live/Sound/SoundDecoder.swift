// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDModel
internal import HWMovies

/// Decoded sound: interleaved samples, and the item time of the first in nanoseconds.
struct SoundBlock {
    var item: Int64
    var samples: [Float]
    var rate: Int
    /// The channels by libavutil's numbers.
    var channels: [UInt8]

    var frameCount: Int { samples.count / max(1, channels.count) }
}

/// A track of sound, decoded from any time on.
final class SoundDecoder {
    /// Packets that could not be decoded.
    private(set) var damaged = 0
    /// Why the sound ends before its track does.
    private(set) var failure: String?
    private let movie: Movie
    private let track: MovieTrack
    private var packets: MoviePackets
    private let codec: CodecContext
    private let packet: PacketOwner
    private let frame: FrameOwner
    private var isDraining = false
    /// Ticks that are not heard at the end of packets, by the packets' times.
    private var trims: [Int64: Int64] = [:]
    /// The item time behind the last block.
    private var next: Int64 = 0

    private static let second: Int64 = 1_000_000_000
    /// What decoders need before the first sample that is right.
    private static let preroll = second / 5

    /// - Throws: `unsupported` where the track cannot be decoded, and why its packets cannot be read.
    init(_ movie: Movie, _ track: MovieTrack) throws(MovieError) {
        LibAVLog.install()
        func refuse(_ reason: String) -> MovieError { MovieError(.unsupported, reason) }
        (self.movie, self.track) = (movie, track)
        packets = try movie.packets(of: track)
        guard let entry = track.entries.first else { throw refuse("it has no sample entry") }
        guard let format = SoundFormat(entry), let decoder = avcodec_find_decoder(format.codec) else {
            throw refuse("sound of the type \(entry.type) is not decoded")
        }
        guard let codec = CodecContext(decoder), let packet = PacketOwner(), let frame = FrameOwner(),
            format.configuration.count < 1 << 20,
            format.configuration.isEmpty || codec.setExtradata(format.configuration)
        else { throw refuse("there is no memory for a decoder") }
        (self.codec, self.packet, self.frame) = (codec, packet, frame)
        let context = codec.pointer
        context.pointee.pkt_timebase = AVRational(num: 1, den: Int32(clamping: track.timeScale))
        context.pointee.sample_rate = Int32(entry.sampleRate.isFinite ? min(384_000, max(0, entry.sampleRate)) : 0)
        av_channel_layout_default(&context.pointee.ch_layout, Int32(clamping: max(1, entry.channels)))
        let code = codec.open(decoder)
        guard code >= 0 else { throw refuse(LibAVError("its decoder does not open", code).description) }
    }

    /// Goes to an item time: blocks before it may come first.
    func seek(to item: Int64) {
        avcodec_flush_buffers(codec.pointer)
        (isDraining, failure, trims, next) = (false, nil, [:], 0)
        // From the start on, the packets that a decoder needs before it come first.
        if item <= Self.preroll, let first = try? movie.packets(of: track) {
            packets = first
        } else {
            // A file may have any time scale.
            let ticks = Int128(item - Self.preroll) * Int128(track.timeScale) / Int128(Self.second)
            packets.seek(to: Int64(clamping: ticks))
        }
    }

    /// The next block; nil at the end.
    func block() -> SoundBlock? {
        while true {
            switch codec.receive(frame.pointer) {
            case .frame:
                defer { av_frame_unref(frame.pointer) }
                if let block = read() { return block }
            case .ended: return nil
            case .failed:
                damaged += 1
                if isDraining { return nil }
                send()
            case .needsInput: send()
            }
        }
    }

    private func send() {
        let source: MoviePacket?
        do throws(MovieError) { source = try packets.next() } catch {
            failure = error.reason
            source = nil
        }
        guard let source else {
            isDraining = true
            _ = codec.send(nil)
            return
        }
        let pointer = packet.pointer
        guard av_new_packet(pointer, Int32(clamping: source.bytes.count)) >= 0, let data = pointer.pointee.data
        else {
            damaged += 1
            return
        }
        defer { av_packet_unref(pointer) }
        UnsafeMutableRawPointer(data).copyMemory(from: source.bytes, byteCount: source.bytes.count)
        (pointer.pointee.pts, pointer.pointee.dts) = (source.time, source.time)
        if source.trimmedEnd > 0 { trims[source.time] = source.trimmedEnd }
        if trims.count > 64 { trims = [:] }
        if case .failed = codec.send(pointer) { damaged += 1 }
    }

    private func read() -> SoundBlock? {
        let picture = frame.pointer.pointee
        var count = Int(picture.nb_samples)
        let (rate, channels) = (Int(picture.sample_rate), Int(picture.ch_layout.nb_channels))
        guard count > 0, rate > 0, channels > 0, channels <= 64, picture.extended_data != nil else { return nil }
        let ticks = picture.best_effort_timestamp
        let scale = Int128(max(1, track.timeScale))
        var item = next
        if ticks != clibav_no_pts() {
            item = Int64(clamping: Int128(ticks) * Int128(Self.second) / scale)
            if let trim = trims.removeValue(forKey: ticks) {
                count -= Int(clamping: Int128(trim) * Int128(rate) / scale)
            }
        }
        guard count > 0 else { return nil }
        next = item &+ Int64(count) * Self.second / Int64(rate)
        guard let samples = interleaved(count, channels) else {
            damaged += 1
            return nil
        }
        let layout = withUnsafePointer(to: picture.ch_layout) { layout in
            (0..<UInt32(channels)).map { channel in
                UInt8(clamping: av_channel_layout_channel_from_index(layout, channel).rawValue)
            }
        }
        return SoundBlock(item: item, samples: samples, rate: rate, channels: layout)
    }

    /// The samples as floats; nil for formats that no decoder of sound in movies has.
    private func interleaved(_ count: Int, _ channels: Int) -> [Float]? {
        let picture = frame.pointer.pointee
        let format = AVSampleFormat(rawValue: picture.format)
        guard let planes = picture.extended_data else { return nil }
        let isPlanar = av_sample_fmt_is_planar(format) == 1
        func convert<Sample>(_ type: Sample.Type, _ value: (Sample) -> Float) -> [Float]? {
            var result = [Float](repeating: 0, count: count * channels)
            for channel in 0..<channels {
                guard let plane = planes[isPlanar ? channel : 0] else { return nil }
                let source = UnsafeRawPointer(plane).assumingMemoryBound(to: type)
                let (start, step) = isPlanar ? (0, 1) : (channel, channels)
                for index in 0..<count {
                    // Devices and other programs expect numbers up to full scale.
                    let sample = value(source[start + index * step])
                    result[index * channels + channel] = sample.isFinite ? min(1, max(-1, sample)) : 0
                }
            }
            return result
        }
        switch av_get_packed_sample_fmt(format) {
        case AV_SAMPLE_FMT_U8: return convert(UInt8.self) { (Float($0) - 128) / 128 }
        case AV_SAMPLE_FMT_S16: return convert(Int16.self) { Float($0) / 32768 }
        case AV_SAMPLE_FMT_S32: return convert(Int32.self) { Float($0) / 2_147_483_648 }
        case AV_SAMPLE_FMT_FLT: return convert(Float.self) { $0 }
        case AV_SAMPLE_FMT_DBL: return convert(Double.self) { Float($0) }
        default: return nil
        }
    }
}
