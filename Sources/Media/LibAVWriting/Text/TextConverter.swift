// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Converts a track of subtitles in text to the text of another container, cue by cue.
final class TextConverter: PacketConverter {
    let note: String?
    /// Cues that cannot be read, or whose text cannot be written.
    private var damaged = 0
    /// Drawings that are left out.
    private var drawings = 0
    /// The cues of a format that shows one sample at a time; nil for others.
    private var queue: CueQueue?
    /// The last packet with a cue, and the fields before its text.
    private var last: (source: MediaPacket, fields: String)?
    /// Ticks for which a cue without a duration is shown.
    private let defaultDuration: Int64

    private let track: OtherStream
    private let path: String
    private let decoder: CodecContext
    private let encoder: CodecContext
    private let timeBase: AVRational
    private let tag: UInt32

    /// Bytes of a cue that are written; ffmpeg's limit.
    private static let maxSize = 1 << 20

    /// The text that a format has; nil for formats without.
    static func codec(of format: OutputFormat) -> AVCodecID? {
        switch format {
        case .mov, .mp4, .fmp4: AV_CODEC_ID_MOV_TEXT
        case .matroska: AV_CODEC_ID_SUBRIP
        case .mpegts, .nut, .hevc: nil
        }
    }

    /// Whether a codec's cues are text, and not pictures.
    static func isText(_ codec: AVCodecID) -> Bool {
        guard let properties = avcodec_descriptor_get(codec)?.pointee.props else { return false }
        return properties & AV_CODEC_PROP_TEXT_SUB != 0
    }

    /// Opens the decoder and the encoder.
    /// - Throws: `unsupported` where the libraries lack one, or the parameters are damaged.
    init(_ track: OtherStream, _ stream: AVStream, for format: OutputFormat, path: String) throws(MediaError) {
        (self.track, self.path, timeBase) = (track, path, stream.time_base)
        guard let target = Self.codec(of: format) else {
            throw MediaError(.unsupported, "\(format.title) holds no text")
        }
        decoder = try CodecContext.decoder(
            of: track, stream, orThrow: MediaError(.io, "\(path): out of memory"))
        encoder = try Self.encoder(target, after: decoder, path)
        queue = target == AV_CODEC_ID_MOV_TEXT ? CueQueue(joins: ASSText.joined) : nil
        defaultDuration = max(1, av_rescale_q(4_000_000, clibav_time_base(), stream.time_base))
        // QuickTime's own text has another sample description than 3GPP's timed text.
        tag = target == AV_CODEC_ID_MOV_TEXT ? clibav_tag(0x74, 0x78, 0x33, 0x67) : 0  // tx3g
        let name = String(cString: avcodec_get_name(target))
        note =
            "\(track.description) is converted to \(name), without positions and fonts: \(format.title) holds no "
            + track.codec
    }

    private static func encoder(
        _ id: AVCodecID, after decoder: CodecContext, _ path: String
    ) throws(MediaError) -> CodecContext {
        let name = String(cString: avcodec_get_name(id))
        guard let codec = avcodec_find_encoder(id), let owner = CodecContext(codec) else {
            throw MediaError(.unsupported, "libavcodec has no \(name) encoder")
        }
        owner.pointer.pointee.time_base = AVRational(num: 1, den: 1000)
        // The styles of the cues, in the form of ASS, as all decoders of text return them.
        let size = Int(decoder.pointer.pointee.subtitle_header_size)
        if size > 0, let header = decoder.pointer.pointee.subtitle_header {
            guard let copy = av_mallocz(size + 1) else { throw MediaError(.io, "\(path): out of memory") }
            copy.copyMemory(from: header, byteCount: size)
            owner.pointer.pointee.subtitle_header = copy.assumingMemoryBound(to: UInt8.self)
            owner.pointer.pointee.subtitle_header_size = Int32(size)
        }
        let code = owner.open(codec)
        guard code >= 0 else {
            throw MediaError(.unsupported, "\(name) cannot be written: \(MediaError.text(ofLibAV: code))")
        }
        return owner
    }

    var warning: String? {
        var faults: [String] = []
        func cues(_ count: Int) -> String { count == 1 ? "1 cue" : "\(count) cues" }
        if damaged > 0 { faults.append("\(cues(damaged)) of \(track.description) cannot be converted") }
        if drawings > 0 { faults.append("drawings in \(cues(drawings)) of \(track.description) are left out") }
        if let excess = queue?.excess, excess > 0 {
            let verb = excess == 1 ? "is" : "are"
            faults.append("\(cues(excess)) of \(track.description) \(verb) left out: too many are shown at a time")
        }
        return faults.isEmpty ? nil : "warning: \(faults.joined(separator: "; "))"
    }

    func describe(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        stream.pointee.time_base = timeBase
        guard let parameters = stream.pointee.codecpar,
            avcodec_parameters_from_context(parameters, encoder.pointer) >= 0
        else { return false }
        parameters.pointee.codec_tag = tag
        return true
    }

    /// One packet is one cue, or none; cues wait in a format that shows one at a time.
    func convert(_ source: MediaPacket) throws(MediaError) -> [MediaPacket] {
        var cue = AVSubtitle()
        var isCue: Int32 = 0
        guard avcodec_decode_subtitle2(decoder.pointer, &cue, &isCue, source.packet) >= 0 else {
            damaged += 1
            return []
        }
        defer { if isCue != 0 { avsubtitle_free(&cue) } }
        guard isCue != 0, cue.num_rects > 0 else { return [] }
        guard let (fields, text) = text(of: cue) else { return [] }
        guard var queue, let start = source.pts ?? source.dts, Ticks.isPossible(start) else {
            return try packet(fields + text, source, duration: source.duration).map { [$0] } ?? []
        }
        last = (source, fields)
        let isKnown = source.duration > 0 && Ticks.isPossible(source.duration)
        let length = isKnown ? source.duration : defaultDuration
        let parts = queue.add(CueQueue.Part(start: start, end: start + length, text: text))
        self.queue = queue
        return try packets(parts)
    }

    func finish() throws(MediaError) -> [MediaPacket] {
        let parts = queue?.finish() ?? []
        return try packets(parts)
    }

    /// The fields and the text of a cue without its drawings; nil where nothing is left.
    private func text(of cue: AVSubtitle) -> (fields: String, text: String)? {
        var (fields, texts) = ("", [String]())
        for index in 0..<Int(cue.num_rects) {
            guard let line = cue.rects?[index]?.pointee.ass, let cue = ASSText(String(cString: line)) else {
                continue
            }
            if cue.hadDrawing { drawings += 1 }
            if !cue.isBlank { texts.append(cue.text) }
            if fields.isEmpty { fields = cue.fields }
        }
        return texts.isEmpty ? nil : (fields, ASSText.joined(texts))
    }

    private func packets(_ parts: [CueQueue.Part]) throws(MediaError) -> [MediaPacket] {
        guard let last else { return [] }
        var packets: [MediaPacket] = []
        let time = last.source.pts ?? last.source.dts ?? 0
        for part in parts {
            guard
                let made = try packet(
                    last.fields + part.text, last.source, later: part.start - time, duration: part.end - part.start)
            else { continue }
            packets.append(made)
        }
        return packets
    }

    /// A packet of the output with a text; nil where the encoder cannot write it.
    private func packet(
        _ line: String, _ source: MediaPacket, later ticks: Int64 = 0, duration: Int64
    ) throws(MediaError) -> MediaPacket? {
        guard let cue = TextCue(line) else { throw MediaError(.io, "\(path): out of memory") }
        // The packet has the times.
        cue.subtitle.end_display_time = UInt32(
            clamping: av_rescale_q(duration, timeBase, encoder.pointer.pointee.time_base))
        var bytes = [UInt8](repeating: 0, count: Self.maxSize)
        let count = avcodec_encode_subtitle(encoder.pointer, &bytes, Int32(bytes.count), &cue.subtitle)
        guard count > 0 else {
            damaged += count < 0 ? 1 : 0
            return nil
        }
        guard let packet = source.replacing(bytes.prefix(Int(count)), later: ticks, duration: duration) else {
            throw MediaError(.io, "\(path): out of memory")
        }
        return packet
    }
}

/// A cue with one text for libavcodec's encoders.
private final class TextCue {
    var subtitle = AVSubtitle()

    /// nil when memory runs out.
    init?(_ line: String) {
        guard
            let rectangle = av_mallocz(MemoryLayout<AVSubtitleRect>.size)?.bindMemory(
                to: AVSubtitleRect.self, capacity: 1),
            let list = av_mallocz(MemoryLayout<UnsafeMutablePointer<AVSubtitleRect>?>.size)
        else { return nil }
        subtitle.rects = list.bindMemory(to: UnsafeMutablePointer<AVSubtitleRect>?.self, capacity: 1)
        subtitle.rects[0] = rectangle
        subtitle.num_rects = 1
        rectangle.pointee.type = SUBTITLE_ASS
        rectangle.pointee.ass = av_strdup(line)
        guard rectangle.pointee.ass != nil else { return nil }
    }

    deinit { avsubtitle_free(&subtitle) }
}
