// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDHEVC
public import HWDModel

/// Finds closed captions in the packets of an HEVC video that is decoded elsewhere: decompression sessions return none.
public struct CaptionReader: Sendable {
    private var framing: SampleKind.Framing

    /// Reads packets of a stream with this configuration record, or start of a byte stream.
    public init(_ configuration: [UInt8]) { framing = HEVCConfiguration(configuration).framing }

    /// Adopts the configuration of the packets that follow.
    public mutating func change(to configuration: [UInt8]) { framing = HEVCConfiguration(configuration).framing }

    /// The captions of a packet's picture in one message; nil without any.
    public func captions(in packet: UnsafeRawBufferPointer) -> FrameSideData? {
        var payloads: [[UInt8]] = []
        for unit in unsafe SampleKind.prefixMessages(packet, framing) {
            for message in (try? SEI(nal: unit))?.messages ?? []
            where message.payloadType == SEIPayloadType.registeredUserData
                && message.payload.starts(with: ClosedCaptions.identifier)
            { payloads.append(message.payload) }
        }
        guard payloads.count > 1 else { return payloads.first.map { FrameSideData(.closedCaptions, $0) } }
        let constructs = payloads.compactMap { try? ClosedCaptions(payload: $0) }.flatMap(\.constructs)
        let joined = ClosedCaptions(constructs: Array(constructs.prefix(ClosedCaptions.maxConstructs)))
        return (try? joined.payload()).map { FrameSideData(.closedCaptions, $0) }
    }
}
