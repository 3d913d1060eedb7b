// SPDX-License-Identifier: GPL-2.0-or-later
public import ArgumentParser
public import HWDMediaFile

/// The values of `hwctl encode --hdr`.
extension HDRMode: ExpressibleByArgument {
    /// Whether this version implements the mode.
    var isAvailable: Bool {
        switch self {
        case .preserve, .drop, .sdr, .pq, .hlg: true
        case .regenerate: false
        }
    }
}
