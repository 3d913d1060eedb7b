// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
public import HWDModel

/// One packet of coded data as it came out of a file.
public final class MediaPacket: @unchecked Sendable {
    // Never changed after init, so it may cross threads.
    let packet: UnsafeMutablePointer<AVPacket>
    /// Seconds a tick of this packet's timestamps stands for.
    public let timeBase: Rational

    /// Takes over the references `source` holds and leaves it empty; nil when memory ran out.
    init?(moving source: UnsafeMutablePointer<AVPacket>, timeBase: Rational) {
        guard let packet = av_packet_alloc() else { return nil }
        av_packet_move_ref(packet, source)
        self.packet = packet
        self.timeBase = timeBase
    }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = packet
        av_packet_free(&packet)
    }

    /// The number of the stream it belongs to.
    public var streamIndex: Int { Int(packet.pointee.stream_index) }
    /// When its contents are shown, in ticks; nil when the file does not say.
    public var pts: Int64? { Self.timestamp(packet.pointee.pts) }
    /// When it is decoded, in ticks; nil when the file does not say.
    public var dts: Int64? { Self.timestamp(packet.pointee.dts) }
    /// How long its contents last, in ticks; 0 when not known.
    public var duration: Int64 { packet.pointee.duration }
    /// Whether decoding can begin with it.
    public var isSync: Bool { packet.pointee.flags & AV_PKT_FLAG_KEY != 0 }
    /// Whether the file says that it is decoded for others' sake and not shown (an edit list, ISO/IEC 14496-12 8.6.6).
    public var isDiscarded: Bool { packet.pointee.flags & AV_PKT_FLAG_DISCARD != 0 }
    /// Whether the file ended, or was damaged, within it.
    public var isTorn: Bool { packet.pointee.flags & AV_PKT_FLAG_CORRUPT != 0 }
    /// Bytes of coded data.
    public var byteCount: Int { Int(packet.pointee.size) }

    /// Lends the coded data.
    public func withBytes<Result, Failure: Error>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(UnsafeRawBufferPointer(start: packet.pointee.data, count: byteCount))
    }

    private static func timestamp(_ value: Int64) -> Int64? { value == clibav_no_pts() ? nil : value }
}
