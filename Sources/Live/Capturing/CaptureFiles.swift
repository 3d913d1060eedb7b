// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
package import HWDControlCommands
internal import HWDHEVC
internal import HWDSystem
package import HWMovies

/// The files of a recording, one after another.
///
/// For one thread, which alone waits for the disk.
package struct CaptureFiles {
    /// A file that was written.
    package struct Report: Encodable, Sendable {
        package var file: String
        package var frames = 0
        package var bytes: UInt64 = 0
        package var duration = 0.0

        enum CodingKeys: String, CodingKey {
            case file, frames, bytes
            case duration = "duration_s"
        }
    }

    /// How files are named and ended.
    package struct Plan: Sendable {
        package var path: String
        package var replaces: Bool
        package var isNumbered: Bool
        package var maxSize: UInt64?
        package var color: MovieColor?

        package init(path: String, replaces: Bool, isNumbered: Bool, maxSize: UInt64?, color: MovieColor?) {
            (self.path, self.replaces, self.isNumbered) = (path, replaces, isNumbered)
            (self.maxSize, self.color) = (maxSize, color)
        }

        /// The name of a file: with its number before the suffix.
        package func name(_ number: Int) -> String {
            guard isNumbered else { return path }
            let digits = String(number)
            let text = String(repeating: "0", count: max(0, 3 - digits.count)) + digits
            return "\(path.dropLast(4))-\(text)\(path.suffix(4))"
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

        package init(bytes: [UInt8], time: Int64, decodeTime: Int64, duration: Int64, begins: Bool) {
            (self.bytes, self.time, self.decodeTime) = (bytes, time, decodeTime)
            (self.duration, self.begins) = (duration, begins)
        }
    }

    /// Ticks a second of all times.
    package static let timeScale: UInt32 = 90_000

    private let plan: Plan
    private var number = 0
    private var recorder: MovieRecorder?
    private var track = 0
    private var configuration: DecoderConfigurationRecord?
    /// The time of the file's first packet.
    private var base: Int64 = 0
    /// Bytes behind the last fragment that was written, and what was written then.
    private var pending: UInt64 = 0
    private var written: UInt64 = 0
    private var lastTime: Int64?
    /// The file up to the end of its last fragment.
    private var committed: Report?

    package private(set) var reports: [Report] = []
    /// Ticks between the two frames that are furthest apart.
    package private(set) var longestGap: Int64 = 0
    /// Frames in all files.
    package private(set) var frames = 0

    package init(_ plan: Plan) { self.plan = plan }

    /// The parameter sets of the packets that follow.
    package mutating func configure(_ record: [UInt8]) throws(CommandFailure) {
        let parsed: DecoderConfigurationRecord
        do { parsed = try DecoderConfigurationRecord(bytes: record) } catch {
            throw CommandFailure(.protocolError, "the session's format description is damaged: \(error)")
        }
        configuration = parsed
        if let recorder {
            do throws(MovieError) { try recorder.changeConfiguration(of: track, to: parsed) } catch {
                throw CommandFailure(error)
            }
        }
    }

    /// Writes a packet.
    /// - Returns: false where the file has no room for it, and ends before it.
    package mutating func append(_ packet: Packet) throws(CommandFailure) -> Bool {
        if packet.begins { try finish() }
        let recorder: MovieRecorder
        if let current = self.recorder { recorder = current } else { recorder = try begin(packet) }
        let size = UInt64(packet.bytes.count)
        if let maxSize = plan.maxSize, written + pending + size + overhead > maxSize { return false }
        do throws(MovieError) {
            try recorder.append(
                WrittenPacket(
                    bytes: packet.bytes, time: packet.time - base,
                    decodeTime: min(packet.decodeTime, packet.time) - base, duration: packet.duration),
                to: track)
        } catch { throw CommandFailure(error) }
        if recorder.size != written {
            (written, pending) = (recorder.size, 0)
            committed = reports[reports.count - 1]
        }
        pending += size
        if let lastTime { longestGap = max(longestGap, packet.time - lastTime) }
        lastTime = packet.time
        frames += 1
        reports[reports.count - 1].frames += 1
        reports[reports.count - 1].duration =
            Double(packet.time - base + packet.duration) / Double(Self.timeScale)
        return true
    }

    /// More than the boxes of the next fragment and of the end take: 64 bytes for each frame, and what is there once.
    private var overhead: UInt64 { UInt64(128 * ((reports.last?.frames ?? 0) + 1) + (96 << 10)) }

    private mutating func begin(_ packet: Packet) throws(CommandFailure) -> MovieRecorder {
        guard let configuration else {
            throw CommandFailure(.protocolError, "the session sent a packet before its format description")
        }
        var settings = VideoTrackSettings(timeScale: Self.timeScale, configuration: configuration)
        settings.color = plan.color
        do throws(MovieError) {
            let (path, created) = try create()
            let track = try created.addVideo(settings)
            (recorder, base, self.track, written, pending) = (created, packet.time, track, 0, 0)
            committed = nil
            reports.append(Report(file: path))
            return created
        } catch { throw CommandFailure(error) }
    }

    /// Creates the next file; numbers whose files exist are passed over, unless files are replaced.
    private mutating func create() throws(MovieError) -> (String, MovieRecorder) {
        while true {
            number += 1
            let path = plan.name(number)
            if plan.isNumbered, !plan.replaces, access(FileName.bytes(path), F_OK) == 0 { continue }
            return (path, try MovieRecorder(path: path, replaces: plan.replaces))
        }
    }

    /// Ends the file that is being written, if there is one.
    package mutating func finish() throws(CommandFailure) {
        guard let recorder else { return }
        self.recorder = nil
        defer {
            var status = stat()
            if stat(FileName.bytes(reports[reports.count - 1].file), &status) == 0 {
                reports[reports.count - 1].bytes = UInt64(max(0, status.st_size))
            }
        }
        var failure: MovieError?
        do throws(MovieError) { try recorder.flush() } catch {
            failure = error
            // The last fragment is not in the file.
            let lost = reports[reports.count - 1].frames - (committed?.frames ?? 0)
            frames -= lost
            reports[reports.count - 1].frames -= lost
            reports[reports.count - 1].duration = committed?.duration ?? 0
        }
        // What ends the file may fail because nothing was written.
        do throws(MovieError) { try recorder.finish() } catch { failure = failure ?? error }
        if let failure { throw CommandFailure(failure) }
    }
}
