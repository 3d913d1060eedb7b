// SPDX-License-Identifier: MIT

/// An encoder, decoder or converter that did not open.
public struct CodecFailure: Codable, Hashable, Sendable {
    /// The value of `EncoderID` or `DecoderID`.
    public var codecID: String
    /// The cause, without a full stop.
    public var reason: String
    /// Whether it may open later (busy, at its limit).
    public var isTransient: Bool

    public init(codecID: String, reason: String, isTransient: Bool) {
        self.codecID = codecID
        self.reason = reason
        self.isTransient = isTransient
    }
}
