// SPDX-License-Identifier: MIT
// A libFuzzer target over the decoders of everything that comes over the socket: they may throw but not trap. Built
// by scripts/fuzz.

/// Feeds one input to the message header, to every binary payload and to the Varlink decoders.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    let span = bytes.span.bytes
    _ = try? MessageHeader(decoding: span)
    round(EncodeFrame.self, bytes)
    round(EncodeFrameWithMetadata.self, bytes)
    round(AddPool.self, bytes)
    round(RemovePool.self, bytes)
    round(CompleteFrames.self, bytes)
    round(ReleasePacket.self, bytes)
    round(Packet.self, bytes)
    round(AddArena.self, bytes)
    round(FrameReleased.self, bytes)
    round(DecodeFrame.self, bytes)
    round(ReleaseFrame.self, bytes)
    round(FrameDecoded.self, bytes)
    round(RemoveArena.self, bytes)
    round(TransferFrame.self, bytes)
    round(FrameTransferred.self, bytes)
    round(Reply.self, bytes)
    round(End.self, bytes)
    round(PacketReport.self, bytes)
    round(QualityMetrics.self, bytes)
    if let picture = try? FrameDecoded(decoding: span) {
        _ = try? picture.layout.validate(
            picture.format, width: Int(picture.width), height: Int(picture.height), poolSize: 1 << 24)
    }
    if let frame = try? EncodeFrame(decoding: span) {
        for format in PixelFormat.allCases {
            _ = try? frame.layout.validate(format, width: 1920, height: 1080, poolSize: 1 << 24)
        }
    }
    if let call = try? VarlinkCall(decoding: bytes) {
        _ = try? call.checkedParameters(CreateCompressionSession.Parameters.self)
        if let decode = try? call.checkedParameters(CreateDecompressionSession.Parameters.self),
            let bytes = Hexadecimal.bytes(decode.formatDescription)
        {
            precondition(Hexadecimal.bytes(Hexadecimal.text(bytes)) == bytes)
        }
        _ = try? call.checkedParameters(CreateTransferSession.Parameters.self)
        _ = try? call.checkedParameters(GetSessionResult.Parameters.self)
        _ = try? call.checkedParameters(Probe.Parameters.self)
    }
    _ = try? VarlinkReply.decode(ProbeSnapshot.self, from: bytes)
    _ = try? JSON.decode(WorkerReport.self, from: bytes)
    return 0
}

/// Checks that an accepted payload round-trips, except for reserved fields.
private func round<P: SessionPayload & Equatable>(_ type: P.Type, _ bytes: [UInt8]) {
    guard let value = try? P(decoding: bytes.span.bytes) else { return }
    var writer = ByteWriter()
    value.encode(into: &writer)
    let again = try? P(decoding: writer.bytes.span.bytes)
    // Unlike a precondition, this prints its message in an optimized build.
    if again != value { fatalError("\(type) does not round-trip") }
}
