// SPDX-License-Identifier: MIT
public import HWDBoxes
public import HWDHEVC
internal import HWDSystem

/// Writes a .mov or .mp4: HEVC, and sound that the app brings.
///
/// The file appears under its name only when `finish` has written all of it; without that, nothing remains. Packets are written
/// in the order of the calls: an app alternates between its tracks, at least twice a second.
public final class MovieWriter {
    /// The kind of file.
    public enum Container: Hashable, Sendable {
        case quickTime
        case mp4
    }

    private let file: AtomicFile
    private let container: Container
    private var tracks: [WrittenTrack] = []
    private let mediaStart: UInt64
    private var position: UInt64
    /// Why nothing more is written.
    private var failure: MovieError?
    /// `udta` and `meta` of the movie, as they are.
    public var metadata: [Box] = []

    /// Opens a file.
    ///
    /// - Parameters:
    ///   - container: nil for the one that the name's suffix says: .mov is QuickTime, others are MP4.
    ///   - inputs: files that it must not replace.
    ///   - replaces: whether it replaces a file that has the name when it is complete.
    /// - Throws: `cannotCreate`; `usage` for a name of `inputs`; `io`.
    public init(
        path: String, container: Container? = nil, inputs: [String] = [], replaces: Bool = true
    ) throws(MovieError) {
        let isQuickTime = container.map { $0 == .quickTime } ?? path.lowercased().hasSuffix(".mov")
        self.container = isQuickTime ? .quickTime : .mp4
        do throws(AtomicFile.Failure) {
            file = try AtomicFile(path, inputs: inputs, replaces: replaces)
        } catch {
            throw MovieError(error)
        }
        let head = Self.typeBox(isQuickTime).bytes
        mediaStart = UInt64(head.count)
        position = mediaStart + UInt64(Box.largeHeaderSize)
        try write(head + Self.mediaHeader(size: UInt64(Box.largeHeaderSize)), at: 0)
    }

    /// Adds a track before its first packet, and returns its number for `append`.
    /// - Throws: `usage` for settings that no movie can hold.
    public func addVideo(_ settings: VideoTrackSettings) throws(MovieError) -> Int {
        tracks.append(try WrittenTrack(video: settings, isQuickTime: container == .quickTime))
        return tracks.count - 1
    }

    /// Adds a track before its first packet, and returns its number for `append`.
    /// - Throws: `usage` for settings that no movie can hold.
    public func addSound(_ settings: SoundTrackSettings) throws(MovieError) -> Int {
        tracks.append(try WrittenTrack(sound: settings, isQuickTime: container == .quickTime))
        return tracks.count - 1
    }

    /// Changes the parameter sets of a track's packets that follow: they get another sample entry.
    /// - Throws: `usage`; `limit` for too many changes.
    public func changeConfiguration(of track: Int, to record: DecoderConfigurationRecord) throws(MovieError) {
        try tracks[checked(track)].change(to: record)
    }

    /// Ends a track at a time, before the end of its last packet: what follows is not shown.
    /// - Throws: `usage` for a track that does not exist.
    public func end(track: Int, at time: Int64) throws(MovieError) {
        guard (0..<greatestTime).contains(time) else {
            throw MovieError(.usage, "a track cannot end at \(time)")
        }
        tracks[try checked(track)].end = time
    }

    /// Writes the next packet of a track in decoding order; key packets and levels of HEVC are read from its NAL units.
    ///
    /// - Throws: `usage` for a packet that cannot be written, after which others can; `io`, after which none can.
    public func append(_ packet: WrittenPacket, to track: Int) throws(MovieError) {
        let number = try checked(track)
        try tracks[number].check(packet)
        try write(packet.bytes, at: position)
        tracks[number].append(packet, at: position)
        position += UInt64(packet.bytes.count)
    }

    /// Writes the movie box and gives the file its name.
    ///
    /// - Parameter sync: whether it waits until the bytes are on the disk.
    /// - Throws: `usage` where no packet was written, or the file is finished; `io` and `cannotCreate`.
    public func finish(sync: Bool = true) throws(MovieError) {
        if let failure { throw failure }
        let written = tracks.filter { !$0.isEmpty }
        guard !written.isEmpty else { throw MovieError(.usage, "a movie needs a packet") }
        let movie = try Self.box(written, metadata)
        try write(movie.bytes, at: position)
        try write(Self.mediaHeader(size: position - mediaStart), at: mediaStart)
        failure = MovieError(.usage, "the movie is finished")
        do throws(AtomicFile.Failure) { try file.complete(sync: sync) } catch { throw MovieError(error) }
    }

    /// Gives the file up: nothing remains of it.
    public func discard() {
        failure = MovieError(.usage, "the movie is discarded")
        file.discard()
    }

    private func checked(_ track: Int) throws(MovieError) -> Int {
        if let failure { throw failure }
        guard tracks.indices.contains(track) else { throw MovieError(.usage, "the movie has no track \(track)") }
        return track
    }

    /// The `ftyp` box of a container.
    static func typeBox(_ isQuickTime: Bool) -> Box {
        let brands: [FourCC] = isQuickTime ? ["qt  ", "qt  "] : ["isom", "isom", "iso6", "mp41"]
        var type = [UInt8](bigEndian: [brands[0].rawValue, 0x200])
        for brand in brands.dropFirst() { type.appendBigEndian(brand.rawValue) }
        return Box("ftyp", type)
    }

    /// The `mvhd` box.
    static func header(scale: UInt32, duration: UInt64, nextTrack: UInt32) -> Box {
        var header = TrackBoxes.times(0, duration, [scale])
        // Speed and volume 1.
        header += [UInt8](bigEndian: [0x1_0000, 0x0100_0000, 0, 0] + Box.identityMatrix)
        header += [UInt8](repeating: 0, count: 24) + [UInt8](bigEndian: [nextTrack])
        return Box("mvhd", header)
    }

    /// The movie box of tracks that are written.
    ///
    /// - Parameters:
    ///   - written: the first of them gives the movie its time scale.
    ///   - chapters: the number of the track with the chapters of the first video.
    static func box(
        _ written: [WrittenTrack], chapters: UInt32? = nil, _ metadata: [Box]
    ) throws(MovieError) -> Box {
        let scale = written[0].timeScale
        let duration = written.map { $0.movieTicks($0.duration, scale) }.max() ?? 0
        var children = [header(scale: scale, duration: duration, nextTrack: UInt32(written.count + 1))]
        let video = written.firstIndex { $0.isVideo }
        for (number, track) in written.enumerated() {
            children.append(
                try track.box(
                    UInt32(number + 1), movieScale: scale, chapters: number == video ? chapters : nil))
        }
        return Box("moov", children: children + metadata)
    }

    private static func mediaHeader(size: UInt64) -> [UInt8] {
        var bytes = [UInt8](bigEndian: [1, ("mdat" as FourCC).rawValue])
        bytes.appendBigEndian(size)
        return bytes
    }

    private func write(_ bytes: [UInt8], at position: UInt64) throws(MovieError) {
        let failure = bytes.withUnsafeBytes { PositionedIO.write(file.descriptor, $0, at: Int64(position)) }
        guard failure == 0 else {
            let error = MovieError(AtomicFile.Failure.writing(file.path, errno: failure))
            self.failure = error
            file.discard()
            throw error
        }
    }
}

extension MovieError {
    fileprivate init(_ failure: AtomicFile.Failure) {
        let code: Code =
            switch failure.kind {
            case .cannotCreate: .cannotCreate
            case .io: .io
            case .usage: .usage
            }
        self.init(code, failure.reason)
    }
}
