// SPDX-License-Identifier: GPL-2.0-or-later

/// What happens to subtitles; nil copies what the container holds and converts other text.
public enum TextForm: String, CaseIterable, Hashable, Sendable {
    /// Their packets are copied; those that the container does not hold are left out.
    case copy
    /// They are left out.
    case none
}
