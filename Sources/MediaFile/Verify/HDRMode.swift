// SPDX-License-Identifier: GPL-2.0-or-later

/// What an encode does with a source's HDR metadata and colors.
public enum HDRMode: String, Hashable, Sendable, CaseIterable {
    /// Keeps the source's static and dynamic metadata, and adds none.
    case preserve
    /// Writes new dynamic metadata from the frames' samples.
    case regenerate
    /// Writes no HDR metadata.
    case drop
    /// Converts the colors to SDR (BT.709).
    case sdr
    /// Converts the colors to PQ.
    case pq
    /// Converts the colors to HLG.
    case hlg

    /// The `transfer_characteristics` (H.273) that the colors are converted to; nil where they are kept.
    var targetTransfer: UInt8? {
        switch self {
        case .preserve, .regenerate, .drop: nil
        case .sdr: 1
        case .pq: 16
        case .hlg: 18
        }
    }
}
