// SPDX-License-Identifier: GPL-2.0-or-later

/// The version of hwctl.
package enum HWCtlVersion {
    /// The output of `hwctl --version`.
    package static let text = "0.2.0"
}
