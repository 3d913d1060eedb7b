// SPDX-License-Identifier: MIT
internal import HWDHEVC
public import HWDModel
public import HWMovies

/// A packet of a video: one access unit.
///
/// Times are in ticks of the source.
public struct VideoPacket: Hashable, Sendable {
    /// Framed as `formatDescription` says.
    public var bytes: [UInt8]
    /// When its picture is shown.
    public var time: Int64
    /// When it is decoded: never after `time`, and never before that of the packet before it.
    public var decodeTime: Int64
    /// 0 where it is not known.
    public var duration: Int64
    /// Whether decoding can begin with it.
    public var isKey: Bool
    /// Whether it is shown, and not only decoded.
    public var isShown: Bool
    /// The record that it was coded with: `hvcC`, or parameter sets as a byte stream.
    public var formatDescription: [UInt8]

    /// A packet with the times that it has in the source.
    public init(
        bytes: [UInt8], time: Int64, decodeTime: Int64, duration: Int64 = 0, isKey: Bool, isShown: Bool = true,
        formatDescription: [UInt8]
    ) {
        (self.bytes, self.time, self.decodeTime, self.duration) = (bytes, time, decodeTime, duration)
        (self.isKey, self.isShown, self.formatDescription) = (isKey, isShown, formatDescription)
    }
}

/// Where a source begins after a seek.
public struct VideoSeekPoint: Hashable, Sendable {
    /// The time of the key frame, in ticks.
    public var time: Int64
    /// Whether the stream has none before it.
    public var isFirst: Bool

    /// The key frame of a time.
    public init(time: Int64, isFirst: Bool) { (self.time, self.isFirst) = (time, isFirst) }
}

/// A video's packets, with times at which decoding can begin.
///
/// An output reads it on a thread of its own.
public protocol VideoSource: Sendable {
    /// The unit of its times, in seconds.
    var timeBase: Rational { get }
    /// The record of the first packets.
    var formatDescription: [UInt8] { get }

    /// The next packet in decoding order; nil at the end.
    /// - Throws: what an output reports as `cutShort`: it shows what came before.
    mutating func next() throws -> VideoPacket?

    /// Goes to the last key frame at or before a time, else to the first; nil where there is none.
    mutating func seek(to time: Int64) throws -> VideoSeekPoint?

    /// The time of the first key frame behind a time; nil where that is not known.
    func seekPoint(after time: Int64) -> Int64?
}

/// The packets of a movie's track: times are those behind its edits.
public struct MovieVideo: VideoSource {
    public let timeBase: Rational
    public let formatDescription: [UInt8]
    /// The track that is read.
    public let track: MovieTrack
    private let records: [[UInt8]]
    private var packets: MoviePackets

    /// Reads a track of HEVC.
    ///
    /// - Parameters:
    ///   - movie: the file that has it.
    ///   - track: nil for the first enabled one with video.
    /// - Throws: `malformed` for a movie without such a track, and why its packets cannot be read.
    public init(_ movie: Movie, track: MovieTrack? = nil) throws(MovieError) {
        func isVideo(_ track: MovieTrack) -> Bool {
            track.kind == .video && track.entries.contains { $0.isHEVC && $0.configuration != nil }
        }
        let found =
            track ?? movie.tracks.first { $0.isEnabled && isVideo($0) } ?? movie.tracks.first(where: isVideo)
        guard let found, isVideo(found) else { throw MovieError(.malformed, "the movie has no video of HEVC") }
        guard let scale = Int32(exactly: found.timeScale), let timeBase = Rational(1, scale) else {
            throw MovieError(.malformed, "track \(found.id) has a time scale of \(found.timeScale)")
        }
        self.timeBase = timeBase
        self.track = found
        records = found.entries.map { $0.configuration?.bytes ?? [] }
        formatDescription = records.first { !$0.isEmpty } ?? []
        packets = try movie.packets(of: found)
    }

    /// Reads the first track of HEVC of a file.
    /// - Throws: as `Movie(path:)` and `init(_:track:)`.
    public init(path: String) throws(MovieError) { try self.init(try Movie(path: path)) }

    public mutating func next() throws -> VideoPacket? {
        guard let packet = try packets.next() else { return nil }
        let record = records.indices.contains(packet.entry) ? records[packet.entry] : []
        guard !record.isEmpty else {
            throw MovieError(.malformed, "sample \(packet.sample + 1) of track \(packet.track) is not HEVC")
        }
        return VideoPacket(
            bytes: packet.bytes, time: packet.time, decodeTime: packet.decodeTime,
            duration: packet.duration - packet.trimmedEnd, isKey: packet.isKey, isShown: packet.isShown,
            formatDescription: record)
    }

    public mutating func seek(to time: Int64) -> VideoSeekPoint? {
        guard let point = packets.seek(to: time) else { return nil }
        return VideoSeekPoint(time: point.time, isFirst: packets.seekPoint(atOrBefore: point.time - 1) == nil)
    }

    public func seekPoint(after time: Int64) -> Int64? { packets.seekPoint(after: time)?.time }
}

extension PacketFacts {
    /// What the choice of pictures needs to know of a packet; its level and type come from its first slice.
    init(_ packet: VideoPacket) {
        self.init(
            time: packet.time, decodeTime: min(packet.time, packet.decodeTime), duration: max(0, packet.duration),
            isKey: packet.isKey, isShown: packet.isShown)
        guard let header = Self.firstSlice(packet) else { return }
        level = header.temporalID
        isReference = !header.nalUnitType.isSubLayerNonReference
    }

    /// Bytes of a decoded picture's samples; 0 for a record that says nothing of them.
    static func pictureBytes(_ record: [UInt8]) -> Int {
        let units: [[UInt8]]
        if record.first == 1 {
            units = (try? DecoderConfigurationRecord(bytes: record).nalUnits) ?? []
        } else {
            units = AnnexB.NALUnits(record).map { Array($0) }
        }
        guard
            let sps = units.lazy.compactMap({ try? SequenceParameterSet(nal: $0) }).first(where: {
                $0.header.nuhLayerId == 0
            }), (1...65536).contains(sps.width), (1...65536).contains(sps.height)
        else { return 0 }
        // H.265 table 6-1: samples of all planes in half the samples of luma.
        let halves = [2, 3, 4, 6][min(3, max(0, sps.chromaFormatIdc))]
        return sps.width * sps.height * halves / 2 * (sps.bitDepthLumaMinus8 > 0 ? 2 : 1)
    }

    fileprivate static func firstSlice(_ packet: VideoPacket) -> NALUnitHeader? {
        func header(_ nal: ArraySlice<UInt8>) -> NALUnitHeader? {
            guard let header = try? NALUnitHeader(nal: nal.prefix(2)), header.nalUnitType.isVCL,
                header.nuhLayerId == 0
            else { return nil }
            return header
        }
        let record = packet.formatDescription
        // ISO/IEC 14496-15 8.3.3.1: the version, and the size of a length.
        guard record.first == 1, record.count > 22 else {
            for nal in AnnexB.NALUnits(packet.bytes) { if let found = header(nal) { return found } }
            return nil
        }
        guard var units = try? LengthPrefixedNALUnits(packet.bytes[...], lengthSize: Int(record[21] & 3) + 1) else {
            return nil
        }
        while let nal = try? units.next() { if let found = header(nal) { return found } }
        return nil
    }
}

extension VideoPacket {
    /// The temporal level of its first slice, 0…6; nil where it has none.
    package var temporalLevel: Int? { PacketFacts.firstSlice(self)?.temporalID }
}
