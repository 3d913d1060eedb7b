// SPDX-License-Identifier: MIT

/// Whether a picture's colors are multiplied by its alpha.
public enum AlphaChannelMode: String, CaseIterable, Hashable, Sendable {
    /// Colors are multiplied by alpha: fully transparent parts are black.
    case premultiplied
    /// Colors are independent of alpha.
    case straight
}
