// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

/// Real processes over the real socket, one test after the other.
///
/// Tests of `EndToEndFaults` run beside these, so that two are under way at a time, whatever the number of cores: each
/// starts a daemon of its own, and x265 uses every core there is. No test measures how long something takes: it waits
/// for an event, and `hangLimit` ends the wait for one that never comes.
/// Suites named `Long` are left out of `make test`; `make check` runs them.
@Suite(.serialized)
struct EndToEnd {}

/// Drivers, clients and files that misbehave: much of the time these tests wait rather than compute.
@Suite(.serialized)
struct EndToEndFaults {
    typealias Alpha = EndToEnd.Alpha
    typealias Hardware = EndToEnd.Hardware
    typealias StandardStreams = EndToEnd.StandardStreams
    typealias Transfers = EndToEnd.Transfers
}
