// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDPolicy
internal import HWDTransport
internal import HWDWire

/// The reply to `GetFeatures`.
enum ProtocolFeatures {
    static let encodedReply = VarlinkReply.constant(
        GetFeatures.Reply(
            features: names,
            limits: GetFeatures.Limits(
                maxCallBytes: CallReceiver.maxCall, maxPayloadBytes: MessageHeader.maxLength,
                maxFileDescriptors: MessageHeader.maxFDCount,
                maxPacketBytes: DecodeFrame.maxSize,
                timestampBound: Ticks.bound, maxDimension: CompressionRequest.maxDimension)))

    /// A name stays as long as its behaviour does; docs/protocol.md describes each.
    private static let names = [
        "alpha", "applied-hdr-metadata", "checked-members", "checked-reserved-fields", "complete-frames-until",
        "compression", "decompression", "dmabufs", "effects.changes", "effects.list", "effects.tables",
        "frame-alpha-mode", "frame-captions", "frame-counts",
        "frame-metadata",
        "hardware-support", "live-compression-properties", "max-temporal-level", "multi-pass", "pixel-transfer",
        "quality-metrics", "resumed-sessions", "rgb-frames", "rgb10-frames", "scaled-frames", "scaling",
        "session-priority", "still-support", "waiting-sessions",
    ]
}
