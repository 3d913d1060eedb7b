// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC
internal import HWDLibAV
internal import HWDMetadata

/// Completes the access units of HEVC byte streams.
///
/// libavformat ends an access unit before an end of sequence or end of bitstream NAL unit, and returns it with what
/// follows, such as Dolby Vision's RPU, in front of the next picture. Such units cannot precede the first slice segment of
/// their own picture (H.265 7.4.2.4.4), so they are moved to the packet before. Packets stay in the file's order; the last
/// one of each byte stream waits for the next one.
final class AccessUnitQueue {
    private var packets: [UnsafeMutablePointer<AVPacket>] = []
    /// The streams whose packets may have to be completed.
    private let streams: Set<Int32>
    private var isEnded = false
    /// The error that ended reading; thrown after the packets before it.
    private var failure: MediaError?

    /// The most packets that wait, where a byte stream ends before the others do.
    private static let maxWaiting = 256

    /// - Parameter streams: the HEVC byte streams of the file; the packets of others do not wait.
    init(streams: Set<Int32>) { self.streams = streams }

    deinit { packets.forEach(Self.free) }

    /// Moves the next packet into `packet`; false at the end.
    ///
    /// - Parameter read: reads a packet of the file; false at its end.
    func next(
        into packet: UnsafeMutablePointer<AVPacket>,
        read: (UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool
    ) throws(MediaError) -> Bool {
        guard !streams.isEmpty else { return try read(packet) }
        while true {
            if let first = packets.first, isComplete(first) {
                packets.removeFirst()
                av_packet_move_ref(packet, first)
                Self.free(first)
                return true
            }
            if let failure { throw failure }
            if isEnded { return false }
            do throws(MediaError) {
                try add(read)
            } catch {
                if error.kind == .interrupted { throw error }
                failure = error
            }
        }
    }

    private func isComplete(_ first: UnsafeMutablePointer<AVPacket>) -> Bool {
        if isEnded || failure != nil || packets.count > Self.maxWaiting { return true }
        let index = first.pointee.stream_index
        return !streams.contains(index) || packets.dropFirst().contains { $0.pointee.stream_index == index }
    }

    private func add(_ read: (UnsafeMutablePointer<AVPacket>) throws(MediaError) -> Bool) throws(MediaError) {
        guard let packet = av_packet_alloc() else { throw MediaError(.io, "out of memory") }
        var isKept = false
        defer { if !isKept { Self.free(packet) } }
        guard try read(packet) else {
            isEnded = true
            return
        }
        let index = packet.pointee.stream_index
        if streams.contains(index), let last = packets.last(where: { $0.pointee.stream_index == index }) {
            let count = AccessUnitRemainder.byteCount(Self.bytes(packet))
            guard count > 0 else {
                isKept = true
                return packets.append(packet)
            }
            try Self.move(count, from: packet, to: last)
            // Nothing is left of an end of sequence behind the last picture.
            guard packet.pointee.size > 0 else { return }
        }
        isKept = true
        packets.append(packet)
    }

    private static func bytes(_ packet: UnsafeMutablePointer<AVPacket>) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(start: packet.pointee.data, count: Int(max(0, packet.pointee.size)))
    }

    /// Moves the first bytes of a packet to the end of another.
    private static func move(
        _ count: Int, from packet: UnsafeMutablePointer<AVPacket>, to last: UnsafeMutablePointer<AVPacket>
    ) throws(MediaError) {
        let end = Int(max(0, last.pointee.size))
        guard let size = Int32(exactly: count), let source = packet.pointee.data, av_grow_packet(last, size) >= 0,
            let data = last.pointee.data
        else { throw MediaError(.io, "out of memory") }
        UnsafeMutableRawBufferPointer(start: data + end, count: count)
            .copyMemory(from: UnsafeRawBufferPointer(start: source, count: count))
        packet.pointee.data = source + count
        packet.pointee.size -= size
    }

    private static func free(_ packet: UnsafeMutablePointer<AVPacket>) {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }
}

/// The part of a packet of a byte stream that belongs to the access unit before it.
enum AccessUnitRemainder {
    /// Bytes up to the start code of the first NAL unit that may begin an access unit; 0 where the packet begins with one.
    static func byteCount(_ bytes: UnsafeRawBufferPointer) -> Int {
        var (position, isRemainder) = (0, false)
        while position + 4 < bytes.count {
            guard bytes[position] == 0, bytes[position + 1] == 0, bytes[position + 2] == 1 else {
                position += 1
                continue
            }
            guard ends(bytes[position + 3] >> 1 & 63) else {
                // zero_byte belongs to the NAL unit that follows it (B.2.1).
                let start = position > 0 && bytes[position - 1] == 0 ? position - 1 : position
                return isRemainder ? start : 0
            }
            isRemainder = true
            position += 4
        }
        return isRemainder ? bytes.count : 0
    }

    /// Whether a NAL unit of this type cannot precede the first slice segment of its picture (H.265 7.4.2.4.4).
    private static func ends(_ type: UInt8) -> Bool {
        switch NALUnitType(rawValue: type) {
        case .eos, .eob, .suffixSEI: true
        default: type >= 56 || (45...47).contains(type)
        }
    }
}
