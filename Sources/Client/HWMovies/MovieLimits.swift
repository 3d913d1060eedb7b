// SPDX-License-Identifier: MIT

/// The most that a file may have of anything; what is larger is refused before memory is allocated.
public enum MovieLimits {
    /// Bytes of the `moov` box: a day of 240 frames a second needs about 200 MB.
    public static let movieSize: UInt64 = 256 << 20
    /// Bytes of all `moof` boxes.
    public static let fragmentSize: UInt64 = 256 << 20
    /// Boxes at the file's top level: a day of fragments of a tenth of a second.
    public static let topLevelBoxes = 1 << 21
    /// Runs of samples in fragments (`trun`): a day of fragments of half a second, in twelve tracks.
    public static let fragmentRuns = 1 << 21
    /// Tracks.
    public static let tracks = 256
    /// Samples of a track, as many as its box `stsz` can state.
    public static let samples = Int(UInt32.max)
    /// Sample entries of a track.
    public static let entries = 1024
    /// Edits of a track.
    public static let edits = 1 << 16
    /// Types of sample groups of a track.
    public static let groupTypes = 16
    /// Bytes of a packet.
    public static let packetSize: UInt64 = 256 << 20
    /// Remarks on what was ignored.
    public static let remarks = 16
}
