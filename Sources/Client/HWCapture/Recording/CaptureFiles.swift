// SPDX-License-Identifier: MIT
internal import Glibc
internal import HWClient
internal import HWDBoxes
internal import HWDHEVC
internal import HWDSystem
package import HWMovies

/// The files of a recording, one after another.
///
/// For one thread, which alone waits for the disk.
package struct CaptureFiles: CaptureOutput {
    /// A file that was written.
    package struct Report: Encodable, Sendable {
        package var file: String
        package var frames = 0
        package var bytes: UInt64 = 0
        package var duration = 0.0
        /// Where in the recording it begins, in seconds; nil where each file begins with the end of the one before.
        package var begin: Double?

        enum CodingKeys: String, CodingKey {
            case file, frames, bytes
            case duration = "duration_s"
            case begin = "time_s"
        }
    }

    /// How files are named and ended.
    package struct Plan: Sendable {
        package var path: String
        package var replaces: Bool
        package var isNumbered: Bool
        package var maxSize: UInt64?
        package var color: MovieColor?
        /// nil for recordings without sound.
        package var sound: SoundTrackSettings?

        package init(
            path: String, replaces: Bool, isNumbered: Bool, maxSize: UInt64?, color: MovieColor?,
            sound: SoundTrackSettings? = nil
        ) {
            (self.path, self.replaces, self.isNumbered) = (path, replaces, isNumbered)
            (self.maxSize, self.color, self.sound) = (maxSize, color, sound)
        }

        /// The name of a file: with its number before the suffix, where there is more than one.
        package func name(_ number: Int) -> String {
            guard isNumbered || number > 1 else { return path }
            let digits = String(number)
            let text = String(repeating: "0", count: max(0, 3 - digits.count)) + digits
            let name = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
            let suffix = path[name...].lastIndex(of: ".") ?? path.endIndex
            return "\(path[..<suffix])-\(text)\(path[suffix...])"
        }
    }

    /// A packet with the times of the recording, in ticks.
    package struct Packet: Sendable {
        package var bytes: [UInt8]
        package var time: Int64
        package var decodeTime: Int64
        package var duration: Int64
        /// Whether a file begins with it.
        package var begins: Bool
        /// Whether decoding can begin with it.
        package var isKey: Bool

        package init(
            bytes: [UInt8], time: Int64, decodeTime: Int64, duration: Int64, begins: Bool, isKey: Bool = false
        ) {
            (self.bytes, self.time, self.decodeTime) = (bytes, time, decodeTime)
            (self.duration, self.begins, self.isKey) = (duration, begins, isKey)
        }
    }

    /// How packets are coded.
    package enum Configuration: Sendable {
        /// The body of `hvcC`, and the color of the pictures.
        case hevc([UInt8], color: MovieColor?)
        /// Another codec.
        case coded(CodedVideoTrackSettings)

        /// Bytes of parameter sets.
        package var size: Int {
            switch self {
            case .hevc(let record, _): record.count
            case .coded(let settings): settings.configuration.fields.count
            }
        }
    }

    /// Ticks a second of all times.
    package static let timeScale = CaptureSettings.timeScale

    /// The ticks that are nearest to nanoseconds.
    package static func ticks(_ nanoseconds: UInt64) -> Int64 { CaptureSettings.ticks(nanoseconds) }

    private enum Parsed {
        case hevc(DecoderConfigurationRecord)
        case coded(CodedVideoTrackSettings)
    }

    private var plan: Plan
    /// The number of the last file.
    package private(set) var number = 0
    private var recorder: MovieRecorder?
    private var track = 0
    private var configuration: Parsed?
    /// Whether the file has no room for the parameter sets of the packets that follow, so that another begins.
    private var isOutOfEntries = false
    /// The time of the file's first packet.
    private var base: Int64 = 0
    /// Bytes behind the last fragment that was written, and what was written then.
    private var pending: UInt64 = 0
    private var written: UInt64 = 0
    /// What of the file is in fragments that were written: the rest is lost where its own cannot be.
    private var settled: (frames: Int, duration: Double) = (0, 0)
    private var gaps = CaptureGaps()
    /// The beginning of a file, until its sound has come, which is later than the pictures.
    private var waiting: [Packet] = []
    /// The number of the sound's track, and the last packets before those that are written.
    private var soundTrack = 0
    private var recentSound: [WrittenPacket] = []
    /// Whether the file's first fragment was written without sound.
    private var isSoundLate = false
    private var isFull = false
    private var marks = CaptureMarks()

    /// Ticks that pictures wait for sound at most.
    private static let greatestWait = Int64(CaptureFiles.timeScale) * 3 / 2

    package private(set) var reports: [Report] = []
    /// Ticks between the two frames that are furthest apart.
    package var longestGap: Int64 { gaps.longest }
    package private(set) var frames = 0

    /// - Parameter number: that of the last file before.
    package init(_ plan: Plan, after number: Int = 0) { (self.plan, self.number) = (plan, number) }

    /// The parameter sets of the packets that follow, whose pictures may have another size: they get another sample entry.
    package mutating func configure(_ configuration: Configuration) throws(CaptureError) {
        // The frames before have the earlier ones.
        if !waiting.isEmpty { _ = try release(isSoundLate: true) }
        let parsed: Parsed
        switch configuration {
        case .hevc(let bytes, let color):
            plan.color = color
            do { parsed = .hevc(try DecoderConfigurationRecord(bytes: bytes)) } catch {
                throw CaptureError(
                    .session(.protocolViolation), "the session's format description is damaged: \(error)")
            }
        case .coded(let settings): parsed = .coded(settings)
        }
        self.configuration = parsed
        guard let recorder else { return }
        do throws(MovieError) {
            switch parsed {
            case .hevc(let record): try recorder.changeConfiguration(of: track, to: record, color: plan.color)
            case .coded(let settings): try recorder.changeConfiguration(of: track, to: settings)
            }
            isOutOfEntries = false
            settle()
        } catch {
            guard error.code == .limit else { throw CaptureError(error) }
            isOutOfEntries = true
        }
    }

    /// Writes a packet.
    /// - Returns: false where the file has no room for it, and ends before it.
    package mutating func append(_ packet: Packet) throws(CaptureError) -> Bool {
        var packet = packet
        if isOutOfEntries { (packet.begins, isOutOfEntries) = (true, false) }
        guard plan.sound != nil, !waiting.isEmpty || packet.begins || recorder == nil else {
            return try write(packet)
        }
        waiting.append(packet)
        return packet.time - waiting[0].time < Self.greatestWait ? true : try release(isSoundLate: true)
    }

    private mutating func write(_ packet: Packet) throws(CaptureError) -> Bool {
        if isFull { return false }
        if packet.begins { try finishFile(soundEnd: samples(packet.time), until: packet.time) }
        let recorder: MovieRecorder
        if let current = self.recorder {
            recorder = current
        } else {
            // One that has no room for a packet would replace a file for nothing.
            if let maxSize = plan.maxSize, UInt64(packet.bytes.count) + space(for: 1) > maxSize {
                isFull = true
                return false
            }
            recorder = try begin(packet)
        }
        if recorder.size != written { (written, pending) = (recorder.size, 0) }
        pending += UInt64(packet.bytes.count)
        if let maxSize = plan.maxSize, written + pending + overhead > maxSize {
            isFull = true
            return false
        }
        var sample = WrittenPacket(
            bytes: packet.bytes, time: packet.time - base, decodeTime: min(packet.decodeTime, packet.time) - base,
            duration: packet.duration)
        sample.isKeyFrame = packet.isKey
        try append(sample, to: track, recorder)
        gaps.add(packet.time, decodeTime: sample.decodeTime + base)
        frames += 1
        reports[reports.count - 1].frames += 1
        reports[reports.count - 1].duration = max(
            reports[reports.count - 1].duration,
            Double(packet.time - base + packet.duration) / Double(Self.timeScale))
        return true
    }

    private mutating func append(
        _ packet: WrittenPacket, to track: Int, _ recorder: MovieRecorder
    ) throws(CaptureError) {
        let size = recorder.size
        do throws(MovieError) { try recorder.append(packet, to: track) } catch { throw CaptureError(error) }
        // It begins the next fragment where one was written.
        if recorder.size != size { settle() }
    }

    /// Notes that all packets so far are written.
    private mutating func settle() {
        guard let report = reports.last else { return }
        settled = (report.frames, report.duration)
    }

    /// More than the boxes of the next fragment and of the end take: 64 bytes for each frame, and what is there once; both have chapters.
    private func space(for frames: Int) -> UInt64 { Self.smallestSize + UInt64(128 * frames + 2 * marks.size) }
    private var overhead: UInt64 { space(for: (reports.last?.frames ?? 0) + 1) }

    /// Bytes that a file has room for beside its packets.
    package static let smallestSize: UInt64 = 96 << 10

    private mutating func begin(_ packet: Packet) throws(CaptureError) -> MovieRecorder {
        guard let configuration else {
            throw CaptureError(
                .session(.protocolViolation), "the session sent a packet before its format description")
        }
        do throws(MovieError) {
            let (path, created) = try create()
            let track: Int
            switch configuration {
            case .hevc(let record):
                var settings = VideoTrackSettings(timeScale: Self.timeScale, configuration: record)
                settings.color = plan.color
                track = try created.addVideo(settings)
            case .coded(let settings): track = try created.addVideo(settings)
            }
            if let sound = plan.sound { soundTrack = try created.addSound(sound) }
            (recorder, base, self.track, written, pending) = (created, packet.time, track, 0, 0)
            settled = (0, 0)
            created.chapters = marks.chapters(from: base)
            reports.append(Report(file: path))
            return created
        } catch { throw CaptureError(error) }
    }

    /// Creates the next file; numbers whose files exist are skipped, unless files are replaced.
    ///
    /// What follows a file that is not numbered replaces nothing: nobody has named it.
    private mutating func create() throws(MovieError) -> (String, MovieRecorder) {
        while true {
            number += 1
            let path = plan.name(number)
            let replaces = plan.replaces && (plan.isNumbered || number == 1)
            if plan.isNumbered || number > 1, !replaces, access(FileName.bytes(path), F_OK) == 0 { continue }
            return (path, try MovieRecorder(path: path, replaces: replaces))
        }
    }

    /// Begins a chapter at a time of the recording, in ticks; its file is finished with it.
    package mutating func mark(_ title: String, at time: Int64) {
        marks.add(title, at: time)
        // So that the disk keeps space for them.
        recorder?.chapters = marks.chapters(from: base)
    }

    package mutating func save(at time: Int64) {}

    /// Writes the packets so far, where none may come for a while.
    package mutating func flush() throws(CaptureError) {
        if !waiting.isEmpty { _ = try release(isSoundLate: true) }
        guard let recorder else { return }
        do throws(MovieError) { try recorder.flush() } catch { throw CaptureError(error) }
        settle()
    }

    /// Ends the file that is being written, if there is one.
    package mutating func finish(soundEnd: Int64?) throws(CaptureError) {
        var failure: CaptureError?
        if !waiting.isEmpty {
            do throws(CaptureError) { _ = try release(isSoundLate: true) } catch { failure = error }
        }
        // What was written before a failure is kept.
        do throws(CaptureError) { try finishFile(soundEnd: soundEnd, until: .max) } catch {
            failure = failure ?? error
        }
        if let failure { throw failure }
    }

    /// - Parameters:
    ///   - soundEnd: where the file's sound ends, in samples of the recording.
    ///   - end: the time of the next file's first picture.
    private mutating func finishFile(soundEnd: Int64?, until end: Int64) throws(CaptureError) {
        guard let recorder else { return }
        self.recorder = nil
        recorder.chapters = marks.chapters(from: base, until: end, last: end == .max ? gaps.end ?? base : end)
        var failure: MovieError?
        do throws(MovieError) {
            if plan.sound != nil, let soundEnd {
                try recorder.end(track: soundTrack, at: max(0, soundEnd - samples(base)))
            }
            // Before the end, which says of no failure whether the last fragment is in the file.
            try recorder.flush()
            settle()
        } catch { failure = error }
        do throws(MovieError) { try recorder.finish() } catch { failure = failure ?? error }
        var report = reports.removeLast()
        frames -= report.frames - settled.frames
        (report.frames, report.duration) = settled
        var status = stat()
        if stat(FileName.bytes(report.file), &status) == 0 { report.bytes = UInt64(max(0, status.st_size)) }
        // A file without frames was removed.
        if report.frames > 0 { reports.append(report) }
        if let failure { throw CaptureError(failure) }
    }
}

extension CaptureFiles {
    /// Ticks as samples of the sound.
    private func samples(_ ticks: Int64) -> Int64 {
        let rate = Double(plan.sound?.timeScale ?? Self.timeScale)
        return Int64((Double(ticks) * rate / Double(Self.timeScale)).rounded())
    }

    /// Writes a packet of sound, whose times are those of the recording in samples.
    /// - Returns: as `append` of a frame's packet.
    package mutating func append(sound packet: WrittenPacket) throws(CaptureError) -> Bool {
        guard plan.sound != nil else { return true }
        defer { recentSound = recentSound.suffix(1) + [packet] }
        let end = packet.time + packet.duration
        // What ends a file's sound and begins that of the next one belongs to both.
        guard let next = waiting.first.map({ samples($0.time) }), end > next else { return try write(packet) }
        if packet.time < next, !(try write(packet)) { return false }
        guard try release(isSoundLate: false) else { return false }
        return try write(packet)
    }

    /// Begins a file with the frames that waited, and the sound before them, which a decoder needs first.
    private mutating func release(isSoundLate: Bool) throws(CaptureError) -> Bool {
        let packets = waiting
        waiting = []
        self.isSoundLate = isSoundLate
        for (index, packet) in packets.enumerated() {
            guard try write(packet) else { return false }
            guard index == 0 else { continue }
            for sound in recentSound where !(try write(sound)) { return false }
        }
        return true
    }

    private mutating func write(_ sound: WrittenPacket) throws(CaptureError) -> Bool {
        if isFull { return false }
        guard let recorder else { return true }
        var moved = sound
        moved.time -= samples(base)
        moved.decodeTime -= samples(base)
        // A track without sound in its first fragment begins with the movie.
        if isSoundLate, moved.time < 0 { return true }
        if recorder.size != written { (written, pending) = (recorder.size, 0) }
        pending += UInt64(sound.bytes.count)
        if let maxSize = plan.maxSize, written + pending + overhead > maxSize {
            isFull = true
            return false
        }
        try append(moved, to: soundTrack, recorder)
        return true
    }
}
