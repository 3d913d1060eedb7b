// SPDX-License-Identifier: MIT

/// What the daemon's protocol offers, for clients of other versions.
public enum GetFeatures: ControlMethod {
    public static let method = "\(Interface.name).GetFeatures"

    public typealias Parameters = Empty

    /// The protocol's limits.
    public struct Limits: Codable, Hashable, Sendable {
        /// Bytes of a Varlink call, without its NUL.
        public var maxCallBytes: Int
        /// Bytes of a session message's payload.
        public var maxPayloadBytes: Int
        /// File descriptors of a session's message.
        public var maxFileDescriptors: Int
        /// Bytes of a packet that is sent to a decoder.
        public var maxPacketBytes: Int
        /// Timestamps and durations are smaller in magnitude, in units of the time base.
        public var timestampBound: Int64
        /// Width and height of frames, in luma samples.
        public var maxDimension: Int

        public init(
            maxCallBytes: Int, maxPayloadBytes: Int, maxFileDescriptors: Int, maxPacketBytes: Int,
            timestampBound: Int64, maxDimension: Int
        ) {
            self.maxCallBytes = maxCallBytes
            self.maxPayloadBytes = maxPayloadBytes
            self.maxFileDescriptors = maxFileDescriptors
            self.maxPacketBytes = maxPacketBytes
            self.timestampBound = timestampBound
            self.maxDimension = maxDimension
        }

        enum CodingKeys: String, CodingKey {
            case maxCallBytes = "max_call_bytes"
            case maxPayloadBytes = "max_payload_bytes"
            case maxFileDescriptors = "max_file_descriptors"
            case maxPacketBytes = "max_packet_bytes"
            case timestampBound = "timestamp_bound"
            case maxDimension = "max_dimension"
        }
    }

    public struct Reply: Codable, Sendable {
        /// Names, which docs/protocol.md lists; sorted.
        public var features: [String]
        public var limits: Limits

        public init(features: [String], limits: Limits) {
            self.features = features
            self.limits = limits
        }
    }
}
