// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// A packet of audio or subtitles, reduced to what a receipt compares.
struct PacketRecord: Hashable {
    /// Seconds; nil where the file has no time.
    var time: Double?
    /// Seconds.
    var duration: Double
    var digest: UInt64
}

/// Reduces the packets of a stream to records that do not depend on the container.
struct PacketReduction {
    private let isPCM: Bool
    private let isAAC: Bool
    private let isSubtitle: Bool
    /// PCM whose record is not complete, and its time.
    private var pending: [UInt8] = []
    private var pendingTime: Double?
    private var secondsPerByte = 0.0

    /// Bytes of PCM in a record: containers divide it into packets as they like.
    private static let pcmSize = 4096

    init(_ stream: OtherStream) {
        isPCM = stream.codec.hasPrefix("pcm_")
        isAAC = stream.codec == "aac"
        isSubtitle = stream.content == .subtitle
    }

    /// The records that a packet completes.
    mutating func add(_ packet: MediaPacket) -> [PacketRecord] {
        let tick = packet.timeBase.value
        let time = (packet.pts ?? packet.dts).map { Double($0) * tick }
        let duration = Double(max(0, packet.duration)) * tick
        return packet.withBytes { bytes in
            if isPCM { return addPCM(bytes, time, duration) }
            var payload = bytes[...]
            if isAAC {
                payload = payload.dropFirst(Self.adtsHeaderSize(bytes))
                payload = payload.dropFirst(Self.programConfigSize(payload))
            }
            // A muxer of QuickTime text fills gaps with empty samples.
            if isSubtitle, !payload.contains(where: { $0 != 0 }) { return [] }
            return [PacketRecord(time: time, duration: duration, digest: FNV1a(payload).value)]
        }
    }

    /// The record of the rest.
    mutating func finish() -> [PacketRecord] { pending.isEmpty ? [] : [takePending(pending.count)] }

    private mutating func addPCM(
        _ bytes: UnsafeRawBufferPointer, _ time: Double?, _ duration: Double
    ) -> [PacketRecord] {
        guard !bytes.isEmpty else { return [] }
        if duration > 0 { secondsPerByte = duration / Double(bytes.count) }
        if pending.isEmpty { pendingTime = time }
        pending += bytes
        var records: [PacketRecord] = []
        while pending.count >= Self.pcmSize { records.append(takePending(Self.pcmSize)) }
        return records
    }

    private mutating func takePending(_ count: Int) -> PacketRecord {
        let duration = Double(count) * secondsPerByte
        let record = PacketRecord(
            time: pendingTime, duration: duration, digest: FNV1a(pending[..<count]).value)
        pending.removeFirst(count)
        pendingTime = pendingTime.map { $0 + duration }
        return record
    }

    /// Bytes of the ADTS header (ISO/IEC 14496-3 1.A.2.2) that MPEG-TS has before each AAC frame; 0 without one.
    private static func adtsHeaderSize(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count > 7, bytes[0] == 0xFF, bytes[1] & 0xF6 == 0xF0 else { return 0 }
        let length = Int(bytes[3] & 3) << 11 | Int(bytes[4]) << 3 | Int(bytes[5]) >> 5
        guard length == bytes.count else { return 0 }
        return bytes[1] & 1 == 1 ? 7 : 9
    }
    /// Bytes of the `program_config_element` (ISO/IEC 14496-3 4.4.1.1) with which an AAC frame begins, 0 without one: containers
    /// whose header has the configuration leave it out of the first frame.
    private static func programConfigSize(_ frame: Slice<UnsafeRawBufferPointer>) -> Int {
        // id_syn_ele ID_PCE; the element has at most 31 + 8 + 255 bytes.
        guard let first = frame.first, first >> 5 == 5 else { return 0 }
        var bits = BitReader(Array(frame.prefix(320)))
        do {
            // id_syn_ele, element_instance_tag, object_type, sampling_frequency_index.
            try bits.skip(3 + 4 + 2 + 4)
            // Front, side and back elements have a flag beside their tags, as coupling elements have.
            let flagged = try bits.readBits(4) + bits.readBits(4) + bits.readBits(4)
            let plain = try bits.readBits(2) + bits.readBits(3)
            let coupling = try bits.readBits(4)
            // The numbers of mixdown elements, and the matrix's index with its flag.
            for size in [4, 4, 3] where try bits.readFlag() { try bits.skip(size) }
            try bits.skip(5 * Int(flagged + coupling) + 4 * Int(plain))
            try bits.skip((8 - bits.position & 7) & 7)
            try bits.skip(8 * Int(bits.readBits(8)))
        } catch {
            return 0
        }
        return bits.position / 8
    }
}
