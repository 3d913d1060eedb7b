// SPDX-License-Identifier: MIT
public import HWDModel

extension AsyncCompressionSession {
    /// A coded picture.
    public struct Packet: Sendable {
        /// NAL units with 4-byte lengths, without parameter sets (ISO/IEC 14496-15, 8.3.2).
        public let bytes: [UInt8]
        /// The hvcC record of this packet and those that follow, where it is another than before; the first packet has one.
        public let newFormatDescription: [UInt8]?
        /// The frame's presentation time, in units of the session's time base.
        public let pts: Int64
        /// Decoding time, in the same units; rises from packet to packet.
        public let dts: Int64
        /// The frame's duration.
        public let duration: Int64
        /// Whether decoding can start here.
        public let isSync: Bool
        /// Whether no other picture refers to it.
        public let isDisposable: Bool
        /// `TemporalId` (H.265, 7.4.2.2), 0…6.
        public let temporalID: Int
        /// Nil unless `CalculateMeanSquaredError` is set and the encoder measures it.
        public let meanSquaredError: MeanSquaredError?

        init(_ packet: CompressionSession.ReceivedPacket, _ newFormat: [UInt8]?) {
            let description = packet.description
            bytes = Array(packet.bytes)
            newFormatDescription = newFormat
            (pts, dts, duration) = (description.pts, description.dts, description.duration)
            isSync = description.flags.contains(.sync)
            isDisposable = description.flags.contains(.disposable)
            temporalID = Int(description.temporalID)
            meanSquaredError = packet.meanSquaredError
        }

        /// The packet as a part of a byte stream (H.265, annex B), parameter sets first where they are new.
        ///
        /// The parts of all packets, in order, are a file that any HEVC decoder reads.
        /// - Throws: `VideoEncoderMalfunction` if lengths in the packet or its record are wrong.
        public var byteStream: [UInt8] {
            get throws(ClientError) {
                let sets = try newFormatDescription.map { (record) throws(ClientError) in
                    try ByteStream.parameterSets(of: record)
                }
                return (sets ?? []) + (try ByteStream.accessUnit(bytes))
            }
        }
    }

    /// The packets of a session, in decoding order.
    ///
    /// The sequence ends after `finish`, throws why the session failed, and throws `CancellationError` when its task is
    /// canceled. Each packet is returned once, whatever the number of iterators.
    public struct Packets: AsyncSequence, Sendable {
        public struct AsyncIterator: AsyncIteratorProtocol {
            let session: AsyncCompressionSession
            public mutating func next() async throws -> Packet? { try await session.nextPacket() }
        }

        let session: AsyncCompressionSession
        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(session: session) }
    }

    /// The packets, as the encoder returns them.
    public nonisolated var packets: Packets { Packets(session: self) }
}
