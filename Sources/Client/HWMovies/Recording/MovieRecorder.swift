// SPDX-License-Identifier: MIT
public import HWDBoxes
public import HWDHEVC

/// Records a .mov or .mp4 that survives: packets in, a file out that plays at any time up to half a second before its end.
///
/// The file has its final name from the first packet on, unlike that of `MovieWriter`, because a crash must leave it there. It
/// grows by fragments (ISO/IEC 14496-12 8.8), each with one write, which a thread of its own flushes to the disk. `finish`
/// makes it a plain movie in place, and moves no media. A file whose recorder died is finished by `MovieRepair`; all readers of
/// fragments read it without.
///
/// Disk blocks for the movie box are kept back: where a fragment does not fit on the disk, `append` fails with `io`, and `finish`
/// finishes what was written before.
public final class MovieRecorder {
    private let file: RecordedFile
    private let disk: DiskSync
    private let isQuickTime: Bool
    private let fragmentDuration: Double
    private var tracks: [WrittenTrack] = []
    private var fragments: [FragmentTrack] = []
    /// The first movie box and the space for its changes; nil before it is written.
    private var head: Range<UInt64>?
    private var sequence: UInt32 = 0
    /// Runs of samples in all fragments.
    private var runCount = 0
    /// Bytes of all fragments' boxes without the media.
    private var boxSize = 0
    /// Why nothing more is appended.
    private var failure: MovieError?
    private var isFinished = false
    private var pendingSize = 0
    /// Whether the next fragment has packets.
    private var isPending = false

    /// `udta` and `meta` of the movie, as they are.
    public var metadata: [Box] = []
    /// Its chapters, which `finish` writes.
    ///
    /// Each fragment has those that were added or changed before it, so that `MovieRepair` writes them where the recorder dies: what
    /// is removed later stays in a repaired file, whose titles end after 255 bytes.
    public var chapters: [MovieChapter] = []
    /// Those that fragments have.
    private var storedChapters: [MovieChapter] = []

    /// Bytes of the file behind the first movie box for sample entries of changed configurations.
    private static let headSpace = 4096
    /// Bytes of packets that are kept for a fragment.
    private static let greatestFragment = 32 << 20

    /// Creates a file under its final name; one that exists is emptied.
    ///
    /// - Parameters:
    ///   - container: nil for the one that the name's suffix says: .mov is QuickTime, others are MP4.
    ///   - replaces: false where a file that exists is an error.
    ///   - fragmentDuration: in seconds, at most 1; what a crash loses.
    /// - Throws: `cannotCreate`; `usage` for a duration that is not above 0 and at most 1; `io`.
    public init(
        path: String, container: MovieWriter.Container? = nil, replaces: Bool = true, fragmentDuration: Double = 0.5
    ) throws(MovieError) {
        guard fragmentDuration > 0, fragmentDuration <= 1 else {
            throw MovieError(.usage, "fragments last at most a second, not \(fragmentDuration) s")
        }
        isQuickTime = container.map { $0 == .quickTime } ?? path.lowercased().hasSuffix(".mov")
        self.fragmentDuration = fragmentDuration
        file = try RecordedFile(creating: path, replaces: replaces)
        disk = try DiskSync(file.descriptor, folder: file.folder)
    }

    deinit { close() }

    /// Bytes that were written so far.
    public var size: UInt64 { file.position }

    /// Adds a track before the first packet of any track, and returns its number for `append`.
    /// - Throws: `usage` for settings that no movie can hold, and after the first fragment.
    public func addVideo(_ settings: VideoTrackSettings) throws(MovieError) -> Int {
        try add(FragmentTrack(nextID, isVideo: true), try WrittenTrack(video: settings, isQuickTime: isQuickTime))
    }

    /// Adds a track before the first packet of any track, and returns its number for `append`.
    /// - Throws: `usage` for settings that no movie can hold, and after the first fragment.
    public func addVideo(_ settings: CodedVideoTrackSettings) throws(MovieError) -> Int {
        try add(
            FragmentTrack(nextID, isVideo: true, isHEVC: false),
            try WrittenTrack(coded: settings, isQuickTime: isQuickTime))
    }

    /// Adds a track before the first packet of any track, and returns its number for `append`.
    /// - Throws: `usage` for settings that no movie can hold, and after the first fragment.
    public func addSound(_ settings: SoundTrackSettings) throws(MovieError) -> Int {
        try add(
            FragmentTrack(nextID, isVideo: false, rollDistance: settings.rollDistance),
            try WrittenTrack(sound: settings, isQuickTime: isQuickTime))
    }

    private var nextID: UInt32 { UInt32(tracks.count + 1) }

    private func add(_ fragment: FragmentTrack, _ track: WrittenTrack) throws(MovieError) -> Int {
        if let failure { throw failure }
        guard head == nil, !isPending else {
            throw MovieError(.usage, "a track is added before the first packet")
        }
        tracks.append(track)
        fragments.append(fragment)
        return tracks.count - 1
    }

    /// Changes the parameter sets of a track's packets that follow: they get another sample entry.
    /// - Throws: `usage`; `limit` for more changes than the first movie box has space for; `io`.
    public func changeConfiguration(of track: Int, to record: DecoderConfigurationRecord) throws(MovieError) {
        try changeEntry(of: track) { track throws(MovieError) in try track.change(to: record) }
    }

    /// Changes the parameter sets of a track's packets that follow, and the color of their pictures, which may have another size.
    /// - Throws: as without a color.
    public func changeConfiguration(
        of track: Int, to record: DecoderConfigurationRecord, color: MovieColor?
    ) throws(MovieError) {
        try changeEntry(of: track) { track throws(MovieError) in try track.change(to: record, color: .some(color)) }
    }

    /// Changes how a track's packets that follow are coded, and the size of their pictures.
    /// - Throws: as for HEVC.
    public func changeConfiguration(
        of track: Int, to settings: CodedVideoTrackSettings
    ) throws(MovieError) {
        try changeEntry(of: track) { track throws(MovieError) in try track.change(to: settings) }
    }

    private func changeEntry(
        of track: Int, _ change: (inout WrittenTrack) throws(MovieError) -> Void
    ) throws(MovieError) {
        let number = try checked(track)
        try flush()
        var changed = tracks[number]
        try change(&changed)
        let previous = tracks[number]
        tracks[number] = changed
        guard let head else { return }
        do throws(MovieError) {
            var bytes = try openBox().bytes
            let space = Int(head.upperBound - head.lowerBound) - bytes.count
            guard space == 0 || space >= Box.headerSize else {
                throw MovieError(.limit, "the recording's parameter sets change too often for its first movie box")
            }
            if space > 0 { bytes += Self.space(space) }
            try file.replace(bytes, at: head.lowerBound)
        } catch {
            tracks[number] = previous
            throw error
        }
    }

    /// Ends a track at a time, before the end of its last packet: what follows is not shown once the file is finished.
    /// - Throws: `usage` for a track that does not exist.
    public func end(track: Int, at time: Int64) throws(MovieError) {
        guard (0..<greatestTime).contains(time) else {
            throw MovieError(.usage, "a track cannot end at \(time)")
        }
        guard tracks.indices.contains(track) else {
            throw MovieError(.usage, "the recording has no track \(track)")
        }
        tracks[track].end = time
    }

    /// Takes the next packet of a track in decoding order; it is written with its fragment.
    ///
    /// - Throws: `usage` for a packet that cannot be written, after which others can; `io`, after which only `finish` is left.
    public func append(_ packet: WrittenPacket, to track: Int) throws(MovieError) {
        let number = try checked(track)
        try tracks[number].check(packet, after: fragments[number].lastTime)
        if head != nil, packet.decodeTime < fragments[number].begin.decode {
            throw MovieError(.usage, "a track that begins after the first fragment cannot begin before 0")
        }
        // Each track's own length counts, because the tracks' packets may arrive out of step: sound that is fitted to a clock
        // comes later than the pictures of its time.
        let begin = fragments[number].packets.first?.decodeTime ?? packet.decodeTime
        let length = Double(packet.decodeTime - begin) / Double(tracks[number].timeScale)
        if isPending, length >= fragmentDuration || pendingSize + packet.bytes.count > Self.greatestFragment {
            try write(next: (number, packet.decodeTime))
        }
        isPending = true
        pendingSize += packet.bytes.count
        fragments[number].append(packet)
    }

    /// Writes the packets so far, where none may come for a while.
    /// - Throws: `io`, after which only `finish` is left.
    public func flush() throws(MovieError) {
        if let failure { throw failure }
        try write(next: nil)
    }

    /// Writes what is left and makes the file a plain movie, which is on the disk when this returns.
    ///
    /// - Throws: `usage` where no packet was written, or the file is finished; `io`: where that is because the last fragment did
    ///   not fit on the disk, the file is finished without it.
    public func finish() throws(MovieError) {
        guard !isFinished else { throw MovieError(.usage, "the recording is finished") }
        var last: MovieError?
        if failure == nil { do throws(MovieError) { try write(next: nil) } catch { last = error } }
        isFinished = true
        disk.stop()
        defer { file.close() }
        guard let head else {
            file.removeEmpty()
            throw last ?? failure ?? MovieError(.usage, "a movie needs a packet")
        }
        failure = MovieError(.usage, "the recording is finished")
        try file.finish([try movie()], over: head.lowerBound)
        if let last { throw last }
        if disk.failure != 0 {
            throw MovieError(.io, "\(file.path) was not flushed to the disk while it was recorded")
        }
    }

    /// Gives an empty file up, and leaves one with packets as it is.
    public func discard() { close() }

    private func close() {
        guard !isFinished else { return }
        isFinished = true
        disk.stop()
        file.removeEmpty()
        file.close()
    }

    private func checked(_ track: Int) throws(MovieError) -> Int {
        if let failure { throw failure }
        guard !isFinished else { throw MovieError(.usage, "the recording is finished") }
        guard disk.failure == 0 else {
            throw MovieError(.io, "\(file.path) cannot be flushed to the disk: what follows might be lost")
        }
        guard tracks.indices.contains(track) else {
            throw MovieError(.usage, "the recording has no track \(track)")
        }
        return track
    }
}

extension MovieRecorder {
    /// Writes the packets so far as a fragment.
    /// - Parameter next: the track of the packet that follows, and its decode time.
    private func write(next: (track: Int, time: Int64)?) throws(MovieError) {
        guard isPending else { return }
        let runs = fragments.reduce(0) { $0 + ($1.isEmpty ? 0 : 1) }
        guard runCount + runs <= MovieLimits.fragmentRuns, Int(sequence) < MovieLimits.topLevelBoxes / 2 - 8,
            boxSize + pendingBoxSize <= MovieLimits.fragmentSize
        else {
            let error = MovieError(.limit, "\(file.path) has as many fragments as its readers support")
            failure = error
            throw error
        }
        var bytes: [UInt8] = []
        let isFirst = head == nil
        var movie: Range<Int>?
        if isFirst {
            for number in tracks.indices { fragments[number].setBegin() }
            bytes = MovieWriter.typeBox(isQuickTime).bytes
            let start = bytes.count
            bytes += try openBox().bytes + Self.space(Self.headSpace)
            movie = start..<bytes.count
        }
        let (fragment, positions) = try self.fragment(at: file.position + UInt64(bytes.count), next)
        bytes += fragment
        do throws(MovieError) { try file.append(bytes, reserve: reserve) } catch {
            failure = error
            throw error
        }
        disk.request()
        storedChapters = chapters
        if let movie { head = UInt64(movie.lowerBound)..<UInt64(movie.upperBound) }
        sequence += 1
        runCount += runs
        boxSize += fragment.count - pendingSize
        for number in tracks.indices {
            var position = positions[number]
            for packet in fragments[number].packets {
                tracks[number].append(packet, at: position)
                position += UInt64(packet.bytes.count)
            }
            fragments[number].removeAll()
        }
        (isPending, pendingSize) = (false, 0)
    }

    /// The bytes of a `moof` with its `mdat`, and where the data of each track is.
    private func fragment(
        at position: UInt64, _ next: (track: Int, time: Int64)?
    ) throws(MovieError) -> (bytes: [UInt8], positions: [UInt64]) {
        var offsets = [Int](repeating: 0, count: tracks.count)
        let chapters = FragmentChapters.box(self.chapters, after: storedChapters)
        func box() throws(MovieError) -> Box {
            var children = [Box("mfhd", [UInt8](bigEndian: [0, sequence + 1]))]
            for number in tracks.indices where !fragments[number].isEmpty {
                children.append(
                    try fragments[number].box(
                        entry: tracks[number].entry, next: next?.track == number ? next?.time : nil,
                        offset: offsets[number], tracks[number].emptyAnnotations))
            }
            return Box("moof", children: children + (chapters.map { [$0] } ?? []))
        }
        // The box has the same size whatever the offsets are.
        var end = try box().size + Box.headerSize
        for number in tracks.indices {
            offsets[number] = end
            end += fragments[number].size
        }
        var bytes = try box().bytes
        bytes.reserveCapacity(end)
        let media = end - bytes.count
        bytes += [UInt8](bigEndian: [UInt32(media), ("mdat" as FourCC).rawValue])
        for fragment in fragments { for packet in fragment.packets { bytes += packet.bytes } }
        return (bytes, offsets.map { position + UInt64($0) })
    }

    /// More than the bytes of the next fragment's boxes: a sample's rows with those of its groups have less than 64.
    private var pendingBoxSize: Int {
        fragments.reduce(4096 + (FragmentChapters.box(chapters, after: storedChapters)?.size ?? 0)) {
            $0 + 1024 + 64 * $1.packets.count
        }
    }

    private static func space(_ size: Int) -> [UInt8] {
        Box("free", [UInt8](repeating: 0, count: size - Box.headerSize)).bytes
    }

    /// The most bytes that `finish` writes.
    private var reserve: UInt64 {
        let samples = zip(tracks, fragments).reduce(0) { $0 + $1.0.count + $1.1.packets.count }
        let texts = chapters.reduce(0) { $0 + 64 + $1.title.utf8.count } + metadata.reduce(0) { $0 + $1.size }
        // A sample's rows in all tables, each for this sample alone, are 61 bytes.
        return UInt64(samples * 64 + tracks.count * 8192 + texts + (64 << 10))
    }

    /// The movie box with which the file begins: it has no samples, and states what is known of them.
    private func openBox() throws(MovieError) -> Box {
        let scale = tracks[0].timeScale
        var children = [MovieWriter.header(scale: scale, duration: 0, nextTrack: nextID)]
        for (track, fragment) in zip(tracks, fragments) {
            children.append(try track.openBox(fragment.id, movieScale: scale, fragment.begin))
        }
        children.append(Box("mvex", children: fragments.map(\.defaults)))
        return Box("moov", children: children + metadata)
    }

    /// The movie box of the finished file.
    private func movie() throws(MovieError) -> Box {
        let written = tracks.filter { !$0.isEmpty }
        var all = written
        var references: UInt32?
        if let text = try chapterTrack(written) {
            all.append(text)
            references = UInt32(all.count)
        }
        return try MovieWriter.box(all, chapters: references, metadata)
    }

    /// Writes the titles of chapters as samples of a track of text.
    private func chapterTrack(_ written: [WrittenTrack]) throws(MovieError) -> WrittenTrack? {
        let end = written.map { Double($0.duration) / Double($0.timeScale) }.max() ?? 0
        guard
            let (track, media) = WrittenTrack.chapters(
                chapters, until: end, isQuickTime: isQuickTime, at: file.position),
            // Without space for them the movie is finished without chapters.
            (try? file.append(media.bytes, reserve: reserve)) != nil
        else { return nil }
        return track
    }
}
