// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDModel

/// HDR10+ in packets of AV1 and VP9, which libavcodec 5.1 does not return with their frames.
struct PacketMetadata {
    /// The payloads of packets whose frames have not come, by presentation time.
    private var payloads: [Int64: [UInt8]] = [:]
    private let isAV1: Bool
    /// More than any decoder holds: packets of a damaged stream may give no frame.
    private static let maxCount = 256

    /// nil for other codecs.
    init?(_ codec: AVCodecID) {
        guard codec == AV_CODEC_ID_AV1 || codec == AV_CODEC_ID_VP9 else { return nil }
        isAV1 = codec == AV_CODEC_ID_AV1
    }

    /// Notes a packet that is sent to the decoder.
    mutating func note(_ packet: AVPacket) {
        guard let payload = Self.blockAddition(packet) ?? (isAV1 ? Self.metadataUnit(packet) : nil) else { return }
        if payloads.count >= Self.maxCount { payloads = [:] }
        payloads[packet.pts] = payload
    }

    /// Removes and returns the payload for a frame: that of SEI 4, from its country code on.
    mutating func take(pts: Int64) -> [UInt8]? { payloads.removeValue(forKey: pts) }

    /// BlockAdditional with BlockAddIDType 4, ITU-T T.35 (Matroska, block addition mappings).
    private static func blockAddition(_ packet: AVPacket) -> [UInt8]? {
        for index in 0..<Int(packet.side_data_elems) {
            guard let data = packet.side_data?[index], data.type == AV_PKT_DATA_MATROSKA_BLOCKADDITIONAL,
                let bytes = data.data, data.size > 8
            else { continue }
            // libavformat writes the BlockAddID before the contents.
            return hdr10Plus(Array(UnsafeBufferPointer(start: bytes + 8, count: data.size - 8)))
        }
        return nil
    }

    /// The contents of the first metadata OBU with HDR10+ (AV1 specification 5.3, 5.8.2).
    private static func metadataUnit(_ packet: AVPacket) -> [UInt8]? {
        guard let data = packet.data, packet.size > 0 else { return nil }
        let bytes = UnsafeBufferPointer(start: data, count: Int(packet.size))
        var position = 0
        while position < bytes.count {
            let header = bytes[position]
            // obu_type, obu_extension_flag, obu_has_size_field.
            let (type, hasExtension, hasSize) = (header >> 3 & 15, header & 4 != 0, header & 2 != 0)
            position += hasExtension ? 2 : 1
            guard hasSize, let size = leb128(bytes, &position), size <= bytes.count - position else { return nil }
            let end = position + size
            if type == 5, let kind = leb128(bytes, &position), kind == 4, position <= end,
                let payload = hdr10Plus(Array(bytes[position..<end]))
            {
                return payload
            }
            position = end
        }
        return nil
    }

    /// leb128(): up to 8 bytes of 7 bits, the lowest first (AV1 specification 4.10.5); nil past the end.
    private static func leb128(_ bytes: UnsafeBufferPointer<UInt8>, _ position: inout Int) -> Int? {
        var value = 0
        for index in 0..<8 {
            guard position < bytes.count else { return nil }
            let byte = bytes[position]
            position += 1
            value |= Int(byte & 0x7F) << (7 * index)
            if byte & 0x80 == 0 { return value }
        }
        return nil
    }

    /// The payload without the trailing bits of an OBU; nil for other registered user data.
    private static func hdr10Plus(_ bytes: [UInt8]) -> [UInt8]? {
        guard bytes.starts(with: HDR10PlusMetadata.identifier) else { return nil }
        guard var metadata = try? HDR10PlusMetadata(payload: bytes) else { return bytes }
        // An OBU ends with a bit of 1 and zeros, which Matroska's block has not.
        let rest = metadata.remainder.reversed().drop { $0 == 0 }
        if rest.first == 0x80 { metadata.remainder = rest.dropFirst().reversed() }
        return (try? metadata.payload()) ?? bytes
    }
}
