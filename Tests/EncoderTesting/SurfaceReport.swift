// SPDX-License-Identifier: GPL-2.0-or-later

/// What `hwd-vaapi-tool NODE surfaces` found about one decoded surface.
public struct SurfaceReport: Codable, Hashable, Sendable {
    /// The DRM modifier of each exported plane.
    public var modifiers: [UInt64]
    /// Whether the exported memory, read as rows, holds the picture.
    public var isLinear: Bool
    /// The picture's samples as they are copied to memory: NV12 or P010 without gaps between rows.
    public var samples: [UInt8]

    /// A report with these values.
    public init(modifiers: [UInt64], isLinear: Bool, samples: [UInt8]) {
        (self.modifiers, self.isLinear, self.samples) = (modifiers, isLinear, samples)
    }
}
