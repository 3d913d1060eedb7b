// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

/// Real processes over the real socket, one test after the other: timing counts, and x265 takes every core anyway.
@Suite(.serialized)
struct EndToEnd {}
