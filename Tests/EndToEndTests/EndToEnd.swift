// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

/// Real processes over the real socket, one test after the other: timing counts, and x265 takes every core anyway.
@Suite(.serialized)
struct EndToEnd {}

/// Drivers that hang, crash and lie, where more is waited for than computed: beside the others, for the sake of the clock.
@Suite(.serialized)
struct EndToEndFaults {
    typealias Hardware = EndToEnd.Hardware
}
