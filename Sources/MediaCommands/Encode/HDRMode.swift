// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser

/// What `hwctl encode --hdr` does with a source's HDR metadata and colors.
enum HDRMode: String, ExpressibleByArgument, CaseIterable {
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

    /// Whether this version implements the mode.
    var isAvailable: Bool { [.preserve, .drop].contains(self) }
}
