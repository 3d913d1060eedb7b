// SPDX-License-Identifier: GPL-2.0-or-later

// The types that `EncoderPolicy` and `DecoderPolicy` share.

/// An encoder or a decoder that failed to open for this session.
public struct CodecFailure: Hashable, Sendable {
    /// The value of `EncoderID` or `DecoderID`.
    public var codecID: String
    /// A clause without a full stop.
    public var reason: String
    /// Whether it may work later (busy, at its limit).
    public var isTransient: Bool

    public init(codecID: String, reason: String, isTransient: Bool) {
        self.codecID = codecID
        self.reason = reason
        self.isTransient = isTransient
    }
}

/// A picture's size in luma samples.
public struct PictureSize: Hashable, Sendable {
    public var width: Int
    public var height: Int

    public init(width: Int, height: Int) {
        self.width = width
        self.height = height
    }
}
