// SPDX-License-Identifier: MIT

/// A packet of a track: one sample, or some consecutive ones of sound that is not compressed.
///
/// Times are on the movie's time line, after the track's edits, in ticks of the track.
public struct MoviePacket: Hashable, Sendable {
    /// The bytes; empty where only `MoviePackets.next(reading: false)` was asked for.
    public var bytes: [UInt8]
    /// `track_ID`.
    public let track: UInt32
    /// The number of the first sample, from 0, in decoding order.
    public let sample: Int
    /// When it is shown or heard.
    public let time: Int64
    /// When it is decoded: never after `time`.
    public let decodeTime: Int64
    /// 0 is possible; a sample that an edit stands on has that edit's duration.
    public let duration: Int64
    /// Whether decoding can begin with it.
    public let isKey: Bool
    /// Whether any of it is shown: what is not must be decoded only where shown packets depend on it.
    public let isShown: Bool
    /// Ticks at its start that are not shown: it appears at `time` + `trimmedStart`.
    public let trimmedStart: Int64
    /// Ticks at its end that are not shown.
    public let trimmedEnd: Int64
    /// The temporal level that its sample group states, from 0; nil without one.
    public let level: Int?
    /// The dependencies that the file states.
    public let dependencies: SampleDependencies
    /// The index of its sample entry in `MovieTrack.entries`.
    public let entry: Int
    /// The position in the file.
    public let position: UInt64
    /// The number of bytes.
    public let size: Int
    /// Ticks from the end of the packet before to the decode time of this one, within an edit; negative where they overlap.
    public let gap: Int64
}

/// The dependencies of a sample, from `sdtp` or a fragment (ISO/IEC 14496-12 8.6.4); 0 is unknown.
public struct SampleDependencies: Hashable, Sendable {
    /// 2 bits each: is_leading, depends_on, is_depended_on, has_redundancy.
    public let byte: UInt8

    public init(byte: UInt8) { self.byte = byte }

    /// Whether no other sample depends on it.
    public var isDisposable: Bool { byte >> 2 & 3 == 2 }
    /// Whether it depends on no other sample.
    public var isIndependent: Bool { byte >> 4 & 3 == 2 }
}

/// A time at which decoding can begin.
public struct SeekPoint: Hashable, Sendable {
    /// When the packet is shown, in ticks of the track on the movie's time line.
    public let time: Int64
    /// Its number, from 0, in decoding order.
    public let sample: Int
}
