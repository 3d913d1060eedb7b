// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata

/// AAC of MPEG-TS and ADTS files without the header of each frame (ISO/IEC 14496-3 1.A.2.2), for formats that have raw frames,
/// and their configuration once.
final class ADTSFrames: PacketConverter {
    /// Frames are the same.
    let note: String? = nil
    var warning: String? {
        var faults: [String] = []
        if damaged > 0 { faults.append(damaged == 1 ? "1 frame is damaged" : "\(damaged) frames are damaged") }
        if other > 0 {
            faults.append(
                "\(other == 1 ? "1 frame has" : "\(other) frames have") another rate or other channels than the first ones, "
                    + "which the output's configuration cannot express; use --audio aac")
        }
        return faults.isEmpty ? nil : "warning: \(track.description): \(faults.joined(separator: "; "))"
    }

    private let track: OtherStream
    private let stream: AVStream
    private let configuration: [UInt8]
    private var damaged = 0
    /// Frames whose headers have another rate or other channels than the configuration.
    private var other = 0
    private let form: Form
    /// Whether the first frame leaves its channels to a program configuration element; nil before it.
    private var hasElement: Bool?

    private static let rates: [Int32] = [
        96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8000, 7350,
    ]
    /// Speakers by channelConfiguration (ISO/IEC 14496-3 table 1.19), as masks of libavutil, which reports configuration 7 as
    /// 7.1(wide) or as 7.1.
    private static let layouts: [[UInt64]] = [[], [0x4], [0x3], [0x7], [0x107], [0x37], [0x3F], [0xFF, 0x63F]]
    private static let (lowComplexity, spectral, parametric): (Int32, Int32, Int32) = (1, 4, 28)

    /// What a header of two bytes of configuration says.
    private struct Form {
        /// The object type less 1.
        var profile: Int32
        /// The number of the rate, and that of the channels.
        var (rate, channels): (UInt8, UInt8)

        /// nil for speakers that only a program configuration element describes.
        init?(_ parameters: AVCodecParameters) {
            // libavcodec reports the sound after spectral band replication and parametric stereo.
            let isSpectral = [spectral, parametric].contains(parameters.profile) || parameters.frame_size == 2048
            let rate = isSpectral ? parameters.sample_rate / 2 : parameters.sample_rate
            let layout = parameters.ch_layout
            guard layout.order == AV_CHANNEL_ORDER_NATIVE else { return nil }
            let speakers = parameters.profile == parametric ? layouts[1][0] : layout.u.mask
            profile = (0...3).contains(parameters.profile) ? parameters.profile : lowComplexity
            guard let rateIndex = rates.firstIndex(of: rate),
                let channelIndex = layouts.firstIndex(where: { $0.contains(speakers) })
            else { return nil }
            (self.rate, channels) = (UInt8(rateIndex), UInt8(channelIndex))
        }
    }

    /// Whether a track has its configuration in its packets alone, and not in a form that this class makes, while a format
    /// needs it in a header that is written before: Matroska where the output cannot be changed behind.
    static func comesLate(_ parameters: AVCodecParameters, _ format: OutputFormat) -> Bool {
        format == .matroska && parameters.codec_id == AV_CODEC_ID_AAC && parameters.extradata_size == 0
            && Form(parameters) == nil
    }

    /// nil for streams whose frames have no headers, for MPEG-TS, which has them, and for speakers that only a program
    /// configuration element describes: libavformat makes the configuration from that element.
    init?(_ track: OtherStream, _ stream: AVStream, for format: OutputFormat) {
        guard format != .mpegts, let parameters = stream.codecpar?.pointee,
            parameters.codec_id == AV_CODEC_ID_AAC, parameters.extradata_size == 0, let form = Form(parameters)
        else { return nil }
        (self.track, self.stream) = (track, stream)
        self.form = form
        // AudioSpecificConfig (ISO/IEC 14496-3 1.6.2.1): type, rate, channels, and three bits for a usual frame.
        let bits = UInt16(form.profile + 1) << 11 | UInt16(form.rate) << 7 | UInt16(form.channels) << 3
        configuration = [UInt8(bits >> 8), UInt8(bits & 255)]
    }

    func describe(_ stream: UnsafeMutablePointer<AVStream>) -> Bool {
        stream.pointee.time_base = self.stream.time_base
        guard let target = stream.pointee.codecpar, clibav_copy_parameters(target, self.stream.codecpar) >= 0,
            let memory = av_mallocz(configuration.count + Int(AV_INPUT_BUFFER_PADDING_SIZE))
        else { return false }
        configuration.withUnsafeBytes {
            UnsafeMutableRawBufferPointer(start: memory, count: $0.count).copyMemory(from: $0)
        }
        av_free(target.pointee.extradata)
        target.pointee.extradata = memory.assumingMemoryBound(to: UInt8.self)
        (target.pointee.extradata_size, target.pointee.codec_tag) = (Int32(configuration.count), 0)
        return true
    }

    func convert(_ source: MediaPacket) throws(MediaError) -> [MediaPacket] {
        let bytes = source.withBytes { Array($0) }
        guard let size = Self.headerSize(bytes) else { return [source] }
        guard bytes.count > size else {
            damaged += 1
            return []
        }
        let channels = bytes[2] << 2 & 4 | bytes[3] >> 6
        // With 0 channels a program configuration element in the frames describes them, which stays; the parameters are those
        // of the first one.
        let hasElement = hasElement ?? (channels == 0)
        self.hasElement = hasElement
        let isSame = channels == 0 ? hasElement : channels == form.channels
        if bytes[2] >> 2 & 15 != form.rate || !isSame { other += 1 }
        guard let frame = source.replacing(bytes.dropFirst(size)) else {
            throw MediaError(.io, "out of memory")
        }
        return [frame]
    }

    func finish() throws(MediaError) -> [MediaPacket] { [] }

    /// Bytes of a frame's header, with or without a checksum; nil where there is none.
    private static func headerSize(_ bytes: [UInt8]) -> Int? {
        guard bytes.count >= 7, bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 else { return nil }
        return bytes[1] & 1 == 1 ? 7 : 9
    }
}
