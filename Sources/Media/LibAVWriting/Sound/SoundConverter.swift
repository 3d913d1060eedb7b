// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Converts one track of sound to another codec.
final class SoundConverter: PacketConverter {
    /// The codec of the packets that are made.
    let codec: SoundCodec
    let note: String?
    /// Packets that cannot be decoded; silence takes their place.
    private var damaged = 0

    private let track: OtherStream
    private let path: String
    private let decoder: CodecContext
    private let encoder: SoundEncoder
    private let buffer: SoundBuffer
    private let frame: UnsafeMutablePointer<AVFrame>
    private let packet: UnsafeMutablePointer<AVPacket>
    private let timeBase: Rational
    private var (packetsRead, packetsMade) = (0, 0)

    /// Opens the decoder, and the first of `codecs` that can code the track.
    /// - Throws: `unsupported` where there is none, `badInput` for damaged parameters.
    init(
        _ track: OtherStream, _ stream: AVStream, to codecs: [SoundCodec], because reason: String, bitRate: Int64?,
        path: String
    ) throws(MediaError) {
        (self.track, self.path) = (track, path)
        let decoder = try CodecContext.decoder(
            of: track, stream,
            orThrow: MediaError(.badInput, "\(path): the parameters of \(track.description) are damaged"))
        let context = decoder.pointer.pointee
        let bits = Self.bits(context, stream)
        let (codec, encoder) = try Self.encoder(codecs, context, bits, bitRate)
        (self.codec, self.encoder, self.decoder) = (codec, encoder, decoder)
        buffer = try SoundBuffer(encoder.context)
        let rate = encoder.context.pointee.bit_rate / 1000
        note =
            "\(track.description) is converted to \(codec.name)\(codec == .aac ? ", \(rate) kbit/s" : "")"
            + "\(encoder.changes): \(reason)"
        guard let base = Rational(positive: encoder.context.pointee.time_base), let frame = av_frame_alloc() else {
            throw MediaError(.io, "\(path): out of memory")
        }
        guard let packet = av_packet_alloc() else {
            var frame: UnsafeMutablePointer<AVFrame>? = frame
            av_frame_free(&frame)
            throw MediaError(.io, "\(path): out of memory")
        }
        (timeBase, self.frame, self.packet) = (base, frame, packet)
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = frame
        av_frame_free(&frame)
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    /// Bits of the source's samples.
    private static func bits(_ context: AVCodecContext, _ stream: AVStream) -> Int32 {
        if context.bits_per_raw_sample > 0 { return context.bits_per_raw_sample }
        return 8 * av_get_bytes_per_sample(context.sample_fmt)
    }

    private static func encoder(
        _ codecs: [SoundCodec], _ context: AVCodecContext, _ bits: Int32, _ bitRate: Int64?
    ) throws(MediaError) -> (SoundCodec, SoundEncoder) {
        var failure = MediaError(.unsupported, "no codec is given")
        // All channels in the second codec are better than some in the first.
        for reducesChannels in [false, true] {
            for codec in codecs {
                do throws(MediaError) {
                    let encoder = try SoundEncoder(
                        codec, for: context.ch_layout, rate: context.sample_rate, bits: bits, bitRate: bitRate,
                        reducesChannels: reducesChannels)
                    return (codec, encoder)
                } catch {
                    failure = error
                }
            }
        }
        throw failure
    }

    var warning: String? {
        var faults: [String] = []
        if damaged > 0 { faults.append("is damaged in \(damaged) places, which are silent") }
        if buffer.overlaps > 0 { faults.append(CopiedTimes.overlap) }
        return faults.isEmpty ? nil : "warning: \(track.description) \(faults.joined(separator: ", and "))"
    }

    func describe(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        stream.pointee.time_base = encoder.context.pointee.time_base
        return avcodec_parameters_from_context(stream.pointee.codecpar, encoder.context) >= 0
    }

    func convert(_ source: MediaPacket) throws(MediaError) -> [MediaPacket] {
        packetsRead += 1
        var made: [MediaPacket] = []
        try decode(source.packet, &made)
        return made
    }

    /// The last packets.
    /// - Throws: `badInput` where no packet of the track could be decoded: the sound would be lost.
    func finish() throws(MediaError) -> [MediaPacket] {
        var made: [MediaPacket] = []
        try decode(nil, &made)
        try buffer.finish()
        try encode(isLast: true, &made)
        guard packetsRead == 0 || packetsMade > 0 else {
            throw MediaError(
                .badInput, LibAVLog.explain("\(path): no packet of \(track.description) can be decoded"))
        }
        return made
    }

    private func decode(_ source: UnsafeMutablePointer<AVPacket>?, _ made: inout [MediaPacket]) throws(MediaError) {
        if case .failed = decoder.send(source) { damaged += 1 }
        while true {
            switch decoder.receive(frame) {
            case .needsInput, .ended: return
            case .failed(let code):
                guard code != clibav_error(ENOMEM) else { throw MediaError(.io, "\(path): out of memory") }
                damaged += 1
                return
            case .frame:
                defer { av_frame_unref(frame) }
                let time = MediaPacket.timestamp(frame.pointee.best_effort_timestamp)
                let position = time.flatMap { Ticks.isPossible($0) ? $0 : nil }.map {
                    av_rescale_q($0, decoder.pointer.pointee.pkt_timebase, timeBase.libAV)
                }.flatMap { Ticks.isPossible($0) ? $0 : nil }
                do throws(MediaError) {
                    try buffer.add(frame, at: position)
                } catch {
                    throw MediaError(error.kind, "\(path): \(track.description): \(error.reason)")
                }
                try encode(isLast: false, &made)
            }
        }
    }

    /// Encodes the frames that are complete, and at the end the rest.
    private func encode(isLast: Bool, _ made: inout [MediaPacket]) throws(MediaError) {
        var packets: [MediaPacket] = []
        let take = { () throws(MediaError) in
            self.packet.pointee.stream_index = Int32(self.track.index)
            guard let packet = MediaPacket(moving: self.packet, timeBase: self.timeBase) else {
                throw MediaError(.io, "\(self.path): out of memory")
            }
            packets.append(packet)
        }
        while buffer.count >= encoder.frameSize || isLast && buffer.count > 0 {
            try buffer.take(encoder.frameSize, into: frame)
            defer { av_frame_unref(frame) }
            try encoder.encode(frame, packet, take)
        }
        if isLast, packetsRead > 0 { try encoder.encode(nil, packet, take) }
        packetsMade += packets.count
        made += packets
    }
}
