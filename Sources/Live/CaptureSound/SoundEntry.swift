// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDEdits
internal import HWMovies

/// The sample entry of a track of sound.
struct SoundEntry {
    var codec: SoundCodec
    /// Of AAC the AudioSpecificConfig (ISO/IEC 14496-3 1.6.2.1), of ALAC the whole `alac` box.
    var configuration: [UInt8]
    var channels: Int
    /// Samples per second.
    var rate: Int
    /// Samples of a packet.
    var frameSize: Int
    /// Bits per second; 0 where it is not known.
    var bitRate: Int
    /// Whether it is for a .mov, whose entries have a version 1 and `wave` (QuickTime File Format, "Sound Sample Description
    /// Extensions").
    var isQuickTime: Bool

    /// The settings of the track.
    var settings: SoundTrackSettings {
        var settings = SoundTrackSettings(timeScale: UInt32(rate), entry: box)
        settings.rollDistance = codec == .aac ? -1 : nil
        return settings
    }

    private var box: Box {
        let type: FourCC = codec == .aac ? "mp4a" : "alac"
        var fields: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 1]
        // Version, revision, vendor.
        fields += [0, isQuickTime ? 1 : 0, 0, 0, 0, 0, 0, 0]
        fields += [UInt8(truncatingIfNeeded: channels >> 8), UInt8(truncatingIfNeeded: channels), 0, 16]
        // QuickTime's compression −2 says that packets have variable sizes.
        fields += isQuickTime ? [0xFF, 0xFE, 0, 0] : [0, 0, 0, 0]
        fields.appendBigEndian(UInt32(clamping: rate <= 0xFFFF ? rate << 16 : 0))
        let record =
            codec == .aac
            ? Box("esds", [0, 0, 0, 0] + elementaryStream)
            : Box("alac", Array(configuration.dropFirst(Box.headerSize)))
        guard isQuickTime else { return Box(type, fields: fields, children: [record]) }
        // Samples of a packet, bytes of a packet, of a frame and of a sample.
        fields += [UInt8](bigEndian: [UInt32(clamping: frameSize), 0, 0, 2])
        var parts = [Box("frma", [UInt8](bigEndian: [type.rawValue]))]
        if codec == .aac { parts.append(Box("mp4a", [0, 0, 0, 0])) }
        parts += [record, Box(FourCC(rawValue: 0), [])]
        return Box(type, fields: fields, children: [Box("wave", children: parts)])
    }

    /// The ES_Descriptor of AAC (ISO/IEC 14496-1 7.2.6.5).
    private var elementaryStream: [UInt8] {
        func descriptor(_ tag: UInt8, _ body: [UInt8]) -> [UInt8] {
            let size = body.count
            return [tag, 0x80 | UInt8(size >> 21 & 127), 0x80 | UInt8(size >> 14 & 127)]
                + [0x80 | UInt8(size >> 7 & 127), UInt8(size & 127)] + body
        }
        let rate = [UInt8](bigEndian: [UInt32(clamping: bitRate)])
        // AAC (0x40), an audio stream, no size of a buffer.
        let decoder = descriptor(4, [0x40, 0x15, 0, 0, 0] + rate + rate + descriptor(5, configuration))
        return descriptor(3, [0, 0, 0] + decoder + descriptor(6, [2]))
    }
}
