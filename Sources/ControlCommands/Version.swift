// SPDX-License-Identifier: GPL-2.0-or-later

/// What all of hwctl shares.
package enum HWCtlVersion {
    /// The version that `hwctl --version` tells.
    package static let text = "0.1.0"
}
