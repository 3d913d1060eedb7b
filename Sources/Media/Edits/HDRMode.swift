// SPDX-License-Identifier: GPL-2.0-or-later

/// What an encode does with a source's HDR metadata and colors.
public enum HDRMode: String, Hashable, Sendable, CaseIterable {
    /// Keeps the source's static and dynamic metadata, and adds none.
    case preserve
    /// Writes new dynamic metadata from the frames' samples.
    case regenerate
    /// Writes no HDR metadata.
    case drop
    /// Converts HDR to SDR (BT.709), tone-mapped to 203 cd/m² (BT.2390).
    case sdr
    /// Converts the colors to PQ (BT.2100); SDR white has 203 cd/m² (BT.2408).
    case pq
    /// Converts the colors to HLG (BT.2100), for a display of 1000 cd/m².
    case hlg

    /// Whether it is about colors.
    public var converts: Bool { targetTransfer != nil }

    /// The `transfer_characteristics` (H.273) that the colors are converted to; nil where they are kept.
    package var targetTransfer: UInt8? {
        switch self {
        case .preserve, .regenerate, .drop: nil
        case .sdr: 1
        case .pq: 16
        case .hlg: 18
        }
    }
}
