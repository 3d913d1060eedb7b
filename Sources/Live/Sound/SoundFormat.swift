// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDBoxes
internal import HWMovies

/// How libavcodec decodes the samples of an entry.
struct SoundFormat {
    let codec: AVCodecID
    /// What libavcodec's decoder expects as its extradata.
    private(set) var configuration: [UInt8] = []

    /// Nil for codecs that are not known, and where the configuration is damaged.
    init?(_ entry: MovieSampleEntry) {
        func body(_ type: FourCC) -> [UInt8]? { entry.boxes.first { $0.type == type }?.fields }
        let isLittle = body("enda").map { $0.last == 1 } ?? false
        switch entry.type {
        case "mp4a":
            guard let (codec, bytes) = Self.elementaryStream(body("esds") ?? []) else { return nil }
            (self.codec, configuration) = (codec, bytes)
        case "alac":
            guard let box = entry.boxes.first(where: { $0.type == "alac" }) else { return nil }
            (codec, configuration) = (AV_CODEC_ID_ALAC, box.bytes)
        case "fLaC":
            // The version, the header of a metadata block, and STREAMINFO (Encapsulation of FLAC in ISOBMFF, 3.3.2).
            guard let block = body("dfLa"), block.count >= 42 else { return nil }
            (codec, configuration) = (AV_CODEC_ID_FLAC, Array(block[8..<42]))
        case "Opus":
            guard let head = Self.opusHead(body("dOps") ?? []) else { return nil }
            (codec, configuration) = (AV_CODEC_ID_OPUS, head)
        case "ac-3": codec = AV_CODEC_ID_AC3
        case "ec-3": codec = AV_CODEC_ID_EAC3
        case ".mp3": codec = AV_CODEC_ID_MP3
        case "sowt": codec = AV_CODEC_ID_PCM_S16LE
        case "twos": codec = AV_CODEC_ID_PCM_S16BE
        case "in24": codec = isLittle ? AV_CODEC_ID_PCM_S24LE : AV_CODEC_ID_PCM_S24BE
        case "in32": codec = isLittle ? AV_CODEC_ID_PCM_S32LE : AV_CODEC_ID_PCM_S32BE
        case "fl32": codec = isLittle ? AV_CODEC_ID_PCM_F32LE : AV_CODEC_ID_PCM_F32BE
        case "fl64": codec = isLittle ? AV_CODEC_ID_PCM_F64LE : AV_CODEC_ID_PCM_F64BE
        case "ulaw": codec = AV_CODEC_ID_PCM_MULAW
        case "alaw": codec = AV_CODEC_ID_PCM_ALAW
        case "lpcm":
            // QuickTime File Format, sound sample description (version 2): bits and flags.
            let fields = entry.box.fields
            guard let bits = fields.bigEndian(at: 48, 4), let flags = fields.bigEndian(at: 52, 4),
                let codec = Self.samples(bits: Int(bits), isFloat: flags & 1 != 0, isLittle: flags & 2 == 0)
            else { return nil }
            self.codec = codec
        case "ipcm", "fpcm":
            // ISO/IEC 23003-5 6.2: flags, bits.
            guard let fields = body("pcmC"), fields.count >= 6,
                let codec = Self.samples(
                    bits: Int(fields[5]), isFloat: entry.type == "fpcm", isLittle: fields[4] & 1 != 0)
            else { return nil }
            self.codec = codec
        default: return nil
        }
    }

    private static func samples(bits: Int, isFloat: Bool, isLittle: Bool) -> AVCodecID? {
        switch (bits, isFloat) {
        case (16, false): isLittle ? AV_CODEC_ID_PCM_S16LE : AV_CODEC_ID_PCM_S16BE
        case (24, false): isLittle ? AV_CODEC_ID_PCM_S24LE : AV_CODEC_ID_PCM_S24BE
        case (32, false): isLittle ? AV_CODEC_ID_PCM_S32LE : AV_CODEC_ID_PCM_S32BE
        case (32, true): isLittle ? AV_CODEC_ID_PCM_F32LE : AV_CODEC_ID_PCM_F32BE
        case (64, true): isLittle ? AV_CODEC_ID_PCM_F64LE : AV_CODEC_ID_PCM_F64BE
        default: nil
        }
    }

    /// The codec and the decoder's configuration of an `esds` (ISO/IEC 14496-1 7.2.6).
    private static func elementaryStream(_ box: [UInt8]) -> (AVCodecID, [UInt8])? {
        var rest = box.dropFirst(4)
        // A descriptor's tag, then its size in groups of 7 bits.
        func descriptor(_ tag: UInt8, _ bytes: inout ArraySlice<UInt8>) -> ArraySlice<UInt8>? {
            guard bytes.popFirst() == tag else { return nil }
            var size = 0
            for _ in 0..<4 {
                guard let byte = bytes.popFirst() else { return nil }
                size = size << 7 | Int(byte & 0x7F)
                if byte & 0x80 == 0 { break }
            }
            guard size <= bytes.count else { return nil }
            defer { bytes = bytes.dropFirst(size) }
            return bytes.prefix(size)
        }
        guard var stream = descriptor(3, &rest), stream.count >= 3 else { return nil }
        let flags = stream[stream.startIndex + 2]
        stream = stream.dropFirst(3)
        if flags & 0x80 != 0 { stream = stream.dropFirst(2) }
        if flags & 0x40 != 0 { stream = stream.dropFirst(1 + Int(stream.first ?? 0)) }
        if flags & 0x20 != 0 { stream = stream.dropFirst(2) }
        guard var configuration = descriptor(4, &stream), configuration.count >= 13,
            let type = configuration.first
        else { return nil }
        configuration = configuration.dropFirst(13)
        let specific = Array(descriptor(5, &configuration) ?? [])
        switch type {
        case 0x40, 0x66, 0x67, 0x68: return (AV_CODEC_ID_AAC, specific)
        case 0x69, 0x6B: return (AV_CODEC_ID_MP3, [])
        case 0xA5: return (AV_CODEC_ID_AC3, [])
        case 0xA6: return (AV_CODEC_ID_EAC3, [])
        default: return nil
        }
    }

    /// The header of Opus (RFC 7845 5.1) of a `dOps`, which has other numbers of its version and big-endian fields.
    private static func opusHead(_ fields: [UInt8]) -> [UInt8]? {
        guard fields.count >= 11, fields[0] == 0 else { return nil }
        return Array("OpusHead".utf8) + [1, fields[1]] + fields[2..<4].reversed() + fields[4..<8].reversed()
            + fields[8..<10].reversed() + fields[10...]
    }
}
