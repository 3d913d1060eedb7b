// SPDX-License-Identifier: GPL-2.0-or-later
package import CHWDLibAV
public import HWDModel

/// One packet of coded data from a file.
public final class MediaPacket: @unchecked Sendable {
    // Immutable after init, so it may cross threads.
    package let packet: UnsafeMutablePointer<AVPacket>
    /// Seconds per tick of this packet's timestamps.
    public let timeBase: Rational

    /// Moves the references out of `source`; nil when memory runs out.
    package init?(moving source: UnsafeMutablePointer<AVPacket>, timeBase: Rational) {
        guard let packet = av_packet_alloc() else { return nil }
        av_packet_move_ref(packet, source)
        self.packet = packet
        self.timeBase = timeBase
    }

    /// The bytes of two packets, with the properties of the first; nil when memory runs out.
    init?(joining first: MediaPacket, _ second: MediaPacket) {
        guard let packet = av_packet_clone(first.packet) else { return nil }
        self.packet = packet
        timeBase = first.timeBase
        let (start, count) = (first.byteCount, second.byteCount)
        guard let size = Int32(exactly: count), av_grow_packet(packet, size) >= 0, let data = packet.pointee.data
        else {
            return nil
        }
        second.withBytes { bytes in
            UnsafeMutableRawBufferPointer(start: data + start, count: count).copyMemory(from: bytes)
        }
    }

    /// The same data at other times: moved, or where `pts` is given, shown and decoded then, for `duration`.
    func moved(by ticks: Int64, pts: Int64? = nil, duration: Int64? = nil) -> MediaPacket? {
        guard let copy = MediaPacket(copying: self) else { return nil }
        func moved(_ time: Int64?) -> Int64? { time.flatMap { Ticks.isPossible($0) ? $0 + ticks : nil } }
        copy.packet.pointee.pts = pts ?? moved(self.pts) ?? clibav_no_pts()
        copy.packet.pointee.dts = pts ?? moved(dts) ?? clibav_no_pts()
        if let duration { copy.packet.pointee.duration = duration }
        return copy
    }

    /// A packet with other data and this one's times, or later ones; nil when memory runs out.
    package func replacing(
        _ bytes: some Collection<UInt8>, later ticks: Int64 = 0, duration: Int64? = nil
    ) -> MediaPacket? {
        var made = av_packet_alloc()
        defer { av_packet_free(&made) }
        guard let made, let size = Int32(exactly: bytes.count), av_new_packet(made, size) >= 0,
            let data = made.pointee.data
        else { return nil }
        UnsafeMutableRawBufferPointer(start: data, count: bytes.count).copyBytes(from: bytes)
        func moved(_ time: Int64?) -> Int64 { time.map { $0 &+ ticks } ?? clibav_no_pts() }
        (made.pointee.pts, made.pointee.dts) = (moved(pts), moved(dts))
        (made.pointee.duration, made.pointee.flags) = (duration ?? packet.pointee.duration, packet.pointee.flags)
        made.pointee.stream_index = packet.pointee.stream_index
        return MediaPacket(moving: made, timeBase: timeBase)
    }

    /// Excludes its picture from what is shown; only for a packet that nobody else has.
    func hide() { packet.pointee.flags |= AV_PKT_FLAG_DISCARD }

    /// References the data of another packet; nil when memory runs out.
    init?(copying source: MediaPacket) {
        guard let packet = av_packet_clone(source.packet) else { return nil }
        self.packet = packet
        timeBase = source.timeBase
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    /// The number of its stream.
    public var streamIndex: Int { Int(packet.pointee.stream_index) }
    /// Presentation time in ticks; nil when the file has none.
    public var pts: Int64? { Self.timestamp(packet.pointee.pts) }
    /// Decoding time in ticks; nil when the file has none.
    public var dts: Int64? { Self.timestamp(packet.pointee.dts) }
    /// Duration in ticks; 0 when not known.
    public var duration: Int64 { packet.pointee.duration }
    /// Whether decoding can start with it.
    public var isSync: Bool { packet.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    /// Whether it is decoded as a reference and not shown, because of an edit list (ISO/IEC 14496-12 8.6.6).
    public var isDiscarded: Bool { packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }
    /// Whether the file ended, or was damaged, within it.
    public var isTorn: Bool { packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 }
    /// The codec's configuration record from this packet on, where it changes; nil where it stays.
    public var newConfiguration: [UInt8]? { Self.newConfiguration(packet) }
    /// Bytes of coded data.
    public var byteCount: Int { Int(packet.pointee.size) }

    /// Calls `body` with the coded data.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: packet.pointee.data, count: byteCount))
    }

    static func newConfiguration(_ packet: UnsafePointer<AVPacket>) -> [UInt8]? {
        var size = 0
        guard let data = av_packet_get_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, &size), size > 0 else {
            return nil
        }
        return Array(UnsafeBufferPointer(start: data, count: size))
    }

    /// Attaches a configuration to a packet that has none; false when memory runs out.
    static func set(newConfiguration bytes: [UInt8], of packet: UnsafeMutablePointer<AVPacket>) -> Bool {
        guard newConfiguration(packet) == nil else { return true }
        guard let data = av_packet_new_side_data(packet, AV_PKT_DATA_NEW_EXTRADATA, bytes.count) else {
            return false
        }
        bytes.withUnsafeBytes { UnsafeMutableRawBufferPointer(start: data, count: $0.count).copyMemory(from: $0) }
        return true
    }

    package static func timestamp(_ value: Int64) -> Int64? { value == clibav_no_pts() ? nil : value }
}
