// SPDX-License-Identifier: MIT

/// How the colours of a picture stand to its alpha.
public enum AlphaChannelMode: String, CaseIterable, Hashable, Sendable {
    /// Colours are multiplied by alpha: transparent parts are black.
    case premultiplied
    /// Colours are as they were before anything was made transparent.
    case straight
}
