// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAV
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Converts a track of subtitles in text to the text of another container, cue by cue.
final class TextConverter: PacketConverter {
    let note: String
    /// Cues that cannot be read, or whose text cannot be written.
    private var damaged = 0

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
        guard damaged > 0 else { return nil }
        return "warning: \(damaged == 1 ? "1 cue" : "\(damaged) cues") of \(track.description) cannot be converted"
    }

    func describe(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        stream.pointee.time_base = timeBase
        guard let parameters = stream.pointee.codecpar,
            avcodec_parameters_from_context(parameters, encoder.pointer) >= 0
        else { return false }
        parameters.pointee.codec_tag = tag
        return true
    }

    /// One packet is one cue, or none.
    func convert(_ source: MediaPacket) throws(MediaError) -> [MediaPacket] {
        var cue = AVSubtitle()
        var isCue: Int32 = 0
        guard avcodec_decode_subtitle2(decoder.pointer, &cue, &isCue, source.packet) >= 0 else {
            damaged += 1
            return []
        }
        defer { if isCue != 0 { avsubtitle_free(&cue) } }
        guard isCue != 0, cue.num_rects > 0 else { return [] }
        // The packet has the times.
        cue.start_display_time = 0
        cue.end_display_time = UInt32(
            clamping: av_rescale_q(source.duration, timeBase, encoder.pointer.pointee.time_base))
        var bytes = [UInt8](repeating: 0, count: Self.maxSize)
        let count = avcodec_encode_subtitle(encoder.pointer, &bytes, Int32(bytes.count), &cue)
        guard count >= 0 else {
            damaged += 1
            return []
        }
        guard count > 0 else { return [] }
        guard let packet = source.replacing(bytes.prefix(Int(count))) else {
            throw MediaError(.io, "\(path): out of memory")
        }
        return [packet]
    }

    func finish() -> [MediaPacket] { [] }
}
