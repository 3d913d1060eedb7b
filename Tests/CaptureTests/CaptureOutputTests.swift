// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDCapturing
import HWDControlCommands
import HWDModel
import HWMovies
import Testing

/// A folder that is removed with the object, and what FFmpeg reads of the files in it.
private final class Folder {
    let path = NSTemporaryDirectory() + "capture-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A plan for files of this folder.
    func plan(_ name: String, isNumbered: Bool = true, sound: SoundTrackSettings? = nil) -> CaptureFiles.Plan {
        CaptureFiles.Plan(
            path: "\(path)/\(name)", replaces: false, isNumbered: isNumbered, maxSize: nil, color: nil, sound: sound
        )
    }

    /// What ffprobe prints of a file, as lines.
    func probe(_ name: String, _ options: String...) throws -> [String] {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            ["timeout", "60", "ffprobe", "-v", "error"] + options + ["-of", "csv=p=0", "\(path)/\(name)"]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe
        try process.run()
        let text = try pipe.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0)
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map { String($0) }
    }

    /// The chapters of a file: begin, end and title.
    func chapters(_ name: String) throws -> [String] {
        try probe(name, "-show_entries", "chapter=start_time,end_time:chapter_tags=title").map { line in
            let fields = line.split(separator: ",", maxSplits: 2)
            return fields.prefix(2).compactMap { Double($0) }.map { "\($0) " }.joined()
                + fields.dropFirst(2).joined()
        }
    }

    /// The times of a file's pictures, in seconds.
    func times(_ name: String) throws -> [Double] {
        // Behind a time, a packet with other parameter sets has their name.
        try probe(name, "-select_streams", "v", "-show_entries", "packet=pts_time").compactMap {
            $0.split(separator: ",").first.flatMap { Double($0) }
        }
    }
}

/// A frame of a thirtieth of a second; each picture is the same key frame, but others only follow it here.
private func frame(_ number: Int, isKey: Bool = true, begins: Bool = false, padding: Int = 0) -> CaptureFiles.Packet
{
    let time = Int64(number) * 3000
    // A filler (NAL unit 38) is skipped by decoders.
    let filler: [UInt8] = [0x4C, 0x01] + [UInt8](repeating: 0xFF, count: padding) + [0x80]
    let length = withUnsafeBytes(of: UInt32(filler.count).bigEndian) { Array($0) }
    return CaptureFiles.Packet(
        bytes: CaptureFilesTests.picture + (padding > 0 ? length + filler : []), time: time, decodeTime: time,
        duration: 3000, begins: begins, isKey: isKey)
}

struct CaptureMarksTests {
    @Test(arguments: ["mov", "mp4"])
    func marksAreChapters(suffix: String) throws {
        let folder = try Folder()
        var files = CaptureFiles(folder.plan("a.\(suffix)", isNumbered: false))
        try files.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        for number in 0..<90 {
            // Two at one time, and one behind the last picture.
            if number == 30 { files.mark("Über uns", at: 90_000) }
            if number == 60 { for title in ["b", "c"] { files.mark(title, at: 180_000) } }
            #expect(try files.append(frame(number)))
        }
        files.mark("end", at: 300_000)
        try files.finish(soundEnd: nil)
        #expect(
            try folder.chapters("a.\(suffix)") == [
                "0.0 1.0 Start", "1.0 2.0 Über uns", "2.0 2.001 b", "2.001 2.967 c", "2.967 3.0 end",
            ])
        #expect(try folder.times("a.\(suffix)").count == 90)
    }

    @Test func eachFileHasItsChapters() throws {
        let folder = try Folder()
        var files = CaptureFiles(folder.plan("a.mov"))
        try files.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        for number in 0..<120 {
            if number == 0 { files.mark("first", at: 0) }
            if number == 45 { files.mark("second", at: 135_000) }
            // It arrives before the file that has it begins.
            if number == 59 { files.mark("third", at: 181_000) }
            #expect(try files.append(frame(number, begins: number > 0 && number % 30 == 0)))
        }
        try files.finish(soundEnd: nil)
        #expect(files.reports.map(\.frames) == [30, 30, 30, 30])
        #expect(try folder.chapters("a-001.mov") == ["0.0 1.0 first"])
        #expect(try folder.chapters("a-002.mov") == ["0.0 0.5 first", "0.5 1.0 second"])
        #expect(try folder.chapters("a-003.mov") == ["0.0 0.011 second", "0.011 1.0 third"])
        #expect(try folder.chapters("a-004.mov") == ["0.0 1.0 third"])
    }

    @Test func numbersPrecedeASuffixOfAnyLength() {
        for (path, second) in [
            ("/tmp/a.mov", "/tmp/a-002.mov"), ("/tmp/a", "/tmp/a-002"), ("/tmp.d/a", "/tmp.d/a-002"),
            ("a.b.qt", "a.b-002.qt"), ("a.movie", "a-002.movie"), ("a.", "a-002."), ("a", "a-002"),
        ] {
            let plan = CaptureFiles.Plan(path: path, replaces: false, isNumbered: false, maxSize: nil, color: nil)
            #expect(plan.name(1) == path && plan.name(2) == second)
        }
    }

    @Test func onlyANamedFileIsReplaced() throws {
        let folder = try Folder()
        for name in ["a.mov", "a-002.mov"] {
            #expect(FileManager.default.createFile(atPath: "\(folder.path)/\(name)", contents: Data([1])))
        }
        var plan = folder.plan("a.mov", isNumbered: false)
        plan.replaces = true
        var files = CaptureFiles(plan)
        try files.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        for number in 0..<60 { #expect(try files.append(frame(number, begins: number == 30))) }
        try files.finish(soundEnd: nil)
        #expect(files.reports.map { $0.file } == ["a.mov", "a-003.mov"].map { "\(folder.path)/\($0)" })
        #expect(try Data(contentsOf: URL(filePath: folder.path + "/a-002.mov")) == Data([1]))
    }

    @Test func aSizeWithoutRoomForAPacketReplacesNothing() throws {
        let folder = try Folder()
        #expect(FileManager.default.createFile(atPath: folder.path + "/a.mov", contents: Data([1])))
        var plan = folder.plan("a.mov", isNumbered: false)
        (plan.replaces, plan.maxSize) = (true, CaptureFiles.smallestSize + 1000)
        var files = CaptureFiles(plan)
        try files.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        #expect(try !files.append(frame(0, padding: 1000)))
        try files.finish(soundEnd: nil)
        #expect(files.reports.isEmpty && files.frames == 0)
        #expect(try Data(contentsOf: URL(filePath: folder.path + "/a.mov")) == Data([1]))
    }

    @Test func withoutMarksThereAreNoChapters() throws {
        let folder = try Folder()
        var files = CaptureFiles(folder.plan("a.mov", isNumbered: false))
        try files.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        for number in 0..<30 {
            #expect(try files.append(frame(number)))
            // Nothing may follow for a while.
            if number % 7 == 0 { try files.flush() }
        }
        try files.finish(soundEnd: nil)
        #expect(try folder.chapters("a.mov").isEmpty)
        #expect(try folder.times("a.mov").count == 30)
    }
}

struct CaptureGapsTests {
    /// Groups of pictures in decoding order: the last one first, and then those between, which may lack some.
    @Test(arguments: 0..<20 as Range<UInt64>)
    func gapsAreThoseOfThePicturesAsTheyAreShown(seed: UInt64) {
        var generator = SeededGenerator(state: seed)
        var (gaps, times, shown): (CaptureGaps, [Int64], Int64) = (CaptureGaps(), [], 0)
        for number in 0..<60 {
            let length = Int64.random(in: 1...4, using: &generator)
            let between = (shown + 1..<shown + length).filter { _ in Int.random(in: 0..<4, using: &generator) > 0 }
            for time in number == 0 ? [shown] : [shown + length - 1] + between where !times.contains(time) {
                times.append(time)
                // Shown four pictures later than it could be decoded.
                gaps.add(time * 3000, decodeTime: (shown - 4) * 3000)
            }
            if number > 0 { shown += length }
            let order = times.sorted()
            #expect(gaps.longest == zip(order.dropFirst(), order).map { $0 - $1 }.max().map { $0 * 3000 } ?? 0)
            #expect(gaps.end == order.last.map { $0 * 3000 })
        }
        #expect(gaps.longest > 0)
    }
}

struct CaptureRingTests {
    /// Saves what a ring has at a time, in seconds, and returns the times of the file's pictures.
    private func save(_ ring: CaptureRing, at end: Int64, _ folder: Folder) throws -> [Double]? {
        guard let content = ring.content(until: end) else { return nil }
        var files = CaptureFiles(folder.plan("a.mov"))
        try content.write(to: &files, soundScale: nil)
        let report = try #require(files.reports.first)
        let name = String(report.file.dropFirst(folder.path.count + 1))
        let times = try folder.times(name)
        #expect(times.count == report.frames)
        return times
    }

    @Test(arguments: 0..<12 as Range<UInt64>)
    func theLastSecondsAreKept(seed: UInt64) throws {
        var generator = SeededGenerator(state: seed)
        let folder = try Folder()
        let duration = Int64.random(in: 90_000...400_000, using: &generator)
        var ring = CaptureRing(duration: duration, maxSize: 1 << 30, soundScale: nil)
        #expect(ring.content(until: 1) == nil)
        ring.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        // What precedes the first key frame cannot be decoded.
        ring.append(frame(0, isKey: false))
        #expect(ring.content(until: .max / 2) == nil)
        var keys: [Int64] = []
        let count = Int.random(in: 4...400, using: &generator)
        for number in 1..<count {
            let isKey = number == 1 || Int.random(in: 0..<20, using: &generator) == 0
            if isKey { keys.append(Int64(number) * 3000) }
            ring.append(frame(number, isKey: isKey))
        }
        #expect(ring.frames == count)
        #expect(!ring.isShort)
        // At any time within the two seconds that a save may take.
        let end = Int64.random(in: max(4, Int64(count) - 50)...Int64(count), using: &generator) * 3000
        let begin = keys.last { $0 <= end - duration } ?? 3000
        let times = try save(ring, at: end, folder)
        #expect(times?.count == Int((end - begin) / 3000))
        #expect(times?.first == 0)
        // It continues, and a second file has it as well.
        #expect(try save(ring, at: end, folder) == times)
        #expect(FileManager.default.fileExists(atPath: folder.path + "/a-002.mov"))
    }

    @Test func bytesAreBounded() throws {
        let folder = try Folder()
        var ring = CaptureRing(duration: 900_000, maxSize: 200_000, soundScale: nil)
        ring.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        for number in 0..<300 { ring.append(frame(number, isKey: number % 10 == 0, padding: 1000)) }
        #expect(ring.isShort)
        let times = try #require(try save(ring, at: 900_000, folder))
        #expect((180...200).contains(times.count))
        // A group that is too large alone is not kept, and the next one is.
        for number in 300..<550 { ring.append(frame(number, isKey: number == 300, padding: 1000)) }
        #expect(ring.content(until: 1_650_000) == nil)
        for number in 550..<560 { ring.append(frame(number, isKey: number == 550, padding: 1000)) }
        #expect(try save(ring, at: 1_680_000, folder)?.count == 10)
    }

    @Test func soundAloneIsBounded() throws {
        var ring = CaptureRing(duration: 90_000, maxSize: 10_000, soundScale: 48_000)
        for number in 0..<Int64(1000) {
            ring.append(
                sound: WrittenPacket(bytes: [UInt8](repeating: 0, count: 500), time: number * 1024, duration: 1024))
        }
        #expect(ring.content(until: 900_000) == nil)
        ring.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        ring.append(frame(640))
        #expect(ring.content(until: 1_923_000) != nil)
    }

    /// A source that is copied changes them at any frame.
    @Test(arguments: [60, 75]) func parameterSetsAreThoseOfTheFrames(change: Int) throws {
        let folder = try Folder()
        var ring = CaptureRing(duration: 180_000, maxSize: 1 << 20, soundScale: nil)
        ring.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        for number in 0..<90 {
            // A session that continues in another process states them again; these have another general level.
            if number == change {
                var other = CaptureFilesTests.configuration
                other[12] = 33
                ring.configure(.hevc(other, color: nil))
            }
            ring.append(frame(number, isKey: number % 30 == 0))
        }
        #expect(try save(ring, at: 270_000, folder)?.count == 60)
        let movie = try Movie(path: folder.path + "/a-001.mov")
        #expect(movie.tracks.first?.entries.compactMap { $0.hevc }.count == 2)
    }

    @Test func aFileThatCannotBeWrittenIsListed() throws {
        let folder = try Folder()
        let saver = try CaptureSaver(folder.plan("none/a.mov"), duration: 90_000)
        saver.save(at: 90_000)
        saver.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        for number in 0..<30 { #expect(saver.append(frame(number))) }
        saver.save(at: 90_000)
        saver.finish(soundEnd: nil)
        #expect(saver.reports.isEmpty)
        #expect(saver.faults.map(\.time) == [1, 1])
        #expect(saver.faults.first?.reason == "there is nothing to save yet")
        #expect(saver.faults.last?.reason.contains("cannot be created") ?? false)
        #expect(saver.failure?.exitCode == ExitStatus.unavailable.rawValue)
    }

    @Test func filesHaveSuccessiveNumbers() throws {
        let folder = try Folder()
        #expect(FileManager.default.createFile(atPath: folder.path + "/a-002.mov", contents: Data([1])))
        let saver = try CaptureSaver(folder.plan("a.mov"), duration: 90_000)
        saver.configure(.hevc(CaptureFilesTests.configuration, color: nil))
        for number in 0..<120 {
            #expect(saver.append(frame(number)))
            if number == 75 { saver.mark("goal", at: 225_000) }
            if number % 50 == 49 { saver.save(at: Int64(number + 1) * 3000) }
        }
        saver.finish(soundEnd: nil)
        #expect(saver.faults.isEmpty)
        #expect(
            saver.reports.map { $0.file } == ["001", "003"].map { "\(folder.path)/a-\($0).mov" })
        #expect(saver.reports.map(\.frames) == [30, 30])
        // The save at 50 frames has the second before it.
        #expect(saver.reports.map(\.begin) == [0.667, 2.333])
        #expect(try folder.chapters("a-001.mov").isEmpty)
        #expect(try folder.chapters("a-003.mov") == ["0.0 0.167 Start", "0.167 1.0 goal"])
    }
}
