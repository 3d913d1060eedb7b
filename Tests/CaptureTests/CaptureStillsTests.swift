// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import Foundation
import HWDCapturing
import HWDControlCommands
import HWDHEIF
import HWDModel
import HWDTransport
import HWImages
import Testing

/// A recording whose frames' first sample is their number, and a folder for its stills.
private final class Recording {
    static let format = CaptureFormat(
        .raw(pixelFormat: "NV12"), width: 64, height: 64, rate: CaptureRate(100), primaries: 1, transfer: 1,
        matrix: 1)
    let queue: CaptureQueue
    let folder = NSTemporaryDirectory() + "stills-\(UUID().uuidString)"
    private let planes = Planes(128 * 192)
    private var side = 64

    init() throws {
        queue = try CaptureQueue(
            Self.format, try #require(FrameCopy(Self.format)), held: 4, limit: nil, keepsNewest: true)
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    func send(_ number: UInt8) {
        planes.bytes[0] = number
        let time = 1_000_000_000_000 + UInt64(number) * 10_000_000
        queue.frame(
            [
                planes.plane(0..<side * side, stride: side),
                planes.plane(side * side..<side * side * 3 / 2, stride: side),
            ], at: time, sequence: nil, arrival: time)
    }

    /// Frames are twice as wide and high from now on.
    func enlarge() {
        var format = Self.format
        side *= 2
        (format.width, format.height) = (side, side)
        queue.changed(format)
    }

    /// Codes what waits.
    func encode() { while let frame = queue.next() { queue.pool.release(frame.slot) } }

    func stills(
        _ coders: CaptureStills.Coders, capacity: Int = 2, name: String = "shot.heic", greatestReports: Int = 100
    ) throws -> CaptureStills {
        let plan = CaptureStills.Plan(
            path: "\(folder)/\(name)", replaces: false, limit: capacity * queue.stage.copy.slotSize)
        return try CaptureStills(
            plan, coders, slotSize: queue.stage.copy.slotSize, rate: 100, greatestReports: greatestReports)
    }

    /// The names of the folder's files, with their contents.
    func files() throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: folder) {
            files[name] = [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(folder)/\(name)")))
        }
        return files
    }
}

/// What lets coders continue, a still at a time.
private struct Gate: Sendable {
    private let tokens = WorkQueue<Bool>(capacity: 100)
    private let arrivals = WorkQueue<Bool>(capacity: 100)

    func open(_ count: Int = 1) { for _ in 0..<count { _ = tokens.push(true) } }

    /// Waits until a coder is at the gate.
    func arrival() { _ = arrivals.pop(timeout: .seconds(120)) }

    func pass() {
        _ = arrivals.push(true)
        _ = tokens.pop(timeout: .seconds(120))
    }
}

private struct Refused: Error, CustomStringConvertible { var description: String { "refused" } }

struct CaptureStillsTests {
    /// Files that have the first sample alone.
    private static func coder(_ gate: Gate? = nil, fails: Bool = false) -> CaptureStills.Coders.Code {
        { picture, _, isCancelled in
            gate?.pass()
            if isCancelled() { throw Refused() }
            if fails { throw Refused() }
            let canvas = try picture.pixels().canvas
            return withExtendedLifetime(canvas) { [canvas.planes[0].base.load(as: UInt8.self)] }
        }
    }

    @Test func stillsAreOfTheNewestFrame() throws {
        let recording = try Recording()
        let stills = try recording.stills(.init(heic: Self.coder(), jpeg: Self.coder(fails: true)), capacity: 9)
        stills.take(recording.queue)
        for number in 0..<5 as Range<UInt8> {
            recording.send(number)
            // Whether the encoder has it or it still waits.
            if number % 2 == 0 { recording.encode() }
            stills.take(recording.queue)
        }
        let reports = stills.finish()
        #expect(reports.map(\.time) == [nil, 0, 0.01, 0.02, 0.03, 0.04])
        #expect(reports.map(\.format) == [nil] + [String?](repeating: "heic", count: 5))
        #expect(reports[0].reason == "no frame has come yet")
        let numbers = (1...5).map { "shot-00\($0).heic" }
        #expect(reports.dropFirst().map(\.file) == numbers.map { "\(recording.folder)/\($0)" })
        let files = try recording.files()
        #expect(numbers.map { files[$0] } == (0..<5).map { [$0] })
        #expect(files.count == 5)
        #expect(recording.queue.counts.log.total == 0)
    }

    @Test func theNewestFrameTakesNoSlotOfTheOthers() throws {
        let recording = try Recording()
        for number in 0..<30 as Range<UInt8> { recording.send(number) }
        #expect(recording.queue.counts.log.total == 30 - CaptureQueue.depth)
        let newest = try #require(recording.queue.holdNewest())
        #expect(recording.queue.pool.bytes(of: newest.frame.slot)[0] == UInt8(CaptureQueue.depth - 1))
        #expect(newest.taken == 1_000_000_000_000 + UInt64(CaptureQueue.depth - 1) * 10_000_000)
        recording.queue.pool.release(newest.frame.slot)
        recording.encode()
        // It is still held.
        #expect(recording.queue.pool.freeCount == recording.queue.pool.slotCount - 1)
    }

    @Test func whatTheBufferHasNoRoomForIsAJPEGOrRefused() throws {
        let recording = try Recording()
        let (heic, jpeg) = (Gate(), Gate())
        let stills = try recording.stills(.init(heic: Self.coder(heic), jpeg: Self.coder(jpeg)))
        for number in 0..<4 as Range<UInt8> {
            recording.send(number)
            stills.take(recording.queue)
        }
        #expect(stills.pending == 3)
        jpeg.open(2)
        for _ in 0..<12_000 where stills.pending > 2 { usleep(10_000) }
        recording.send(4)
        stills.take(recording.queue)
        heic.open(9)
        let reports = stills.finish()
        #expect(reports.map(\.format) == ["heic", "heic", "jpeg", nil, "jpeg"])
        let full = "2 stills wait, as many as the buffer holds"
        #expect(reports.map(\.reason) == [nil, nil, full, "\(full), and one more is being coded", full])
        #expect(
            try recording.files() == [
                "shot-001.heic": [0], "shot-002.heic": [1], "shot-003.jpg": [2], "shot-004.jpg": [4],
            ])
        #expect(stills.pending == 0)
    }

    @Test func theBufferHoldsBytesWhateverTheSize() throws {
        let recording = try Recording()
        let gate = Gate()
        let stills = try recording.stills(.init(heic: Self.coder(gate), jpeg: Self.coder()), capacity: 5)
        for number in 0..<3 as Range<UInt8> {
            recording.send(number)
            recording.encode()
            stills.take(recording.queue)
            if number == 0 { recording.enlarge() }
        }
        gate.open(9)
        let reports = stills.finish()
        #expect(reports.map(\.format) == ["heic", "heic", "jpeg"])
        #expect(reports.last?.reason == "2 stills wait, as many as the buffer holds")
        // All room is free again.
        #expect(stills.pending == 0)
    }

    @Test func reportsAreBounded() throws {
        let recording = try Recording()
        let stills = try recording.stills(
            .init(heic: Self.coder(), jpeg: Self.coder()), capacity: 9, greatestReports: 3)
        stills.take(recording.queue)
        for number in 0..<4 as Range<UInt8> {
            #expect(!stills.isCut || number == 3)
            recording.send(number)
            stills.take(recording.queue)
        }
        #expect(stills.finish().map(\.format) == [nil, "heic", "heic"])
        #expect(stills.isCut)
        // What is not listed is written.
        #expect(try recording.files().count == 4)
    }

    @Test func whereHEICFailsAStillIsAJPEG() throws {
        let recording = try Recording()
        let stills = try recording.stills(.init(heic: Self.coder(fails: true), jpeg: Self.coder()))
        recording.send(7)
        stills.take(recording.queue)
        #expect(
            stills.finish() == [
                CaptureStills.Report(
                    file: "\(recording.folder)/shot-001.jpg", time: 0, format: "jpeg", reason: "no HEIC: refused")
            ])
        #expect(try recording.files() == ["shot-001.jpg": [7]])
    }

    @Test func whatCannotBeWrittenHasItsReason() throws {
        let recording = try Recording()
        let failing = try recording.stills(
            .init(heic: Self.coder(fails: true), jpeg: Self.coder(fails: true)), name: "none/shot.heic")
        recording.send(0)
        failing.take(recording.queue)
        let report = try #require(failing.finish().first)
        #expect(report == CaptureStills.Report(time: 0, reason: "no HEIC: refused; refused"))
        let stills = try recording.stills(
            .init(heic: Self.coder(), jpeg: Self.coder()), name: "none/shot.heic")
        stills.take(recording.queue)
        let reason = try #require(stills.finish().first?.reason)
        #expect(reason.contains("none/shot-001.heic cannot be created"), "\(reason)")
        #expect(try recording.files().isEmpty)
    }

    @Test func waitingStillsAreGivenUp() throws {
        let recording = try Recording()
        let gate = Gate()
        let stills = try recording.stills(.init(heic: Self.coder(gate), jpeg: Self.coder()), capacity: 3)
        for number in 0..<3 as Range<UInt8> {
            recording.send(number)
            stills.take(recording.queue)
        }
        gate.arrival()
        gate.open()
        gate.arrival()
        stills.giveUp()
        gate.open(9)
        #expect(stills.finish().map(\.reason) == [nil, "given up", "given up"])
        #expect(try recording.files() == ["shot-001.heic": [0]])
    }

    @Test func numbersOfFilesThatExistAreSkipped() throws {
        let recording = try Recording()
        for name in ["shot-001.jpg", "shot-003.heic"] {
            try Data([99]).write(to: URL(fileURLWithPath: "\(recording.folder)/\(name)"))
        }
        let stills = try recording.stills(.init(heic: Self.coder(), jpeg: Self.coder()))
        recording.send(0)
        stills.take(recording.queue)
        stills.take(recording.queue)
        #expect(
            stills.finish().map(\.file) == [
                "\(recording.folder)/shot-002.heic", "\(recording.folder)/shot-004.heic",
            ])
        #expect(try recording.files()["shot-003.heic"] == [99])
    }

    @Test func namesHaveTheirNumberBeforeTheSuffix() {
        let plan = CaptureStills.Plan(path: "a.b/shot.heic", replaces: false)
        #expect(!plan.isJPEG)
        #expect(plan.name(1, isJPEG: false) == "a.b/shot-001.heic")
        #expect(plan.name(1000, isJPEG: true) == "a.b/shot-1000.jpg")
        let other = CaptureStills.Plan(path: "shot.JPEG", replaces: false)
        #expect(other.isJPEG)
        #expect(other.name(12, isJPEG: true) == "shot-012.JPEG")
    }

    @Test func aFolderIsNoStill() throws {
        let recording = try Recording()
        let folder = "\(recording.folder)/shots.heic"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        for path in [folder, "\(recording.folder)/none/shot.heic"] {
            let failure = #expect(throws: CommandFailure.self) {
                try CaptureStills.Plan(path: path, replaces: true).check()
            }
            #expect(failure?.exitCode == ExitStatus.cannotCreate.rawValue)
        }
        try CaptureStills.Plan(path: "\(folder)/shot.heic", replaces: false).check()
    }

    @Test(
        arguments: [
            (["--still", "a.heic"], true), (["--still", "a.JPG", "--still-buffer", "2M"], true),
            (["--still", "a.png"], false), (["--still", "heic"], false),
            (["--still", "a.heic", "--still-buffer", "1k"], false),
            (["--still-buffer", "2M"], false),
        ])
    func stillsAreHEICOrJPEG(options: [String], isAccepted: Bool) throws {
        let arguments = ["--source", "test", "a.mov"] + options
        if isAccepted {
            #expect(try CaptureArguments.parse(arguments).still == options[1])
        } else {
            let error = #expect(throws: (any Error).self) { try CaptureArguments.parse(arguments) }
            #expect(CaptureArguments.message(for: try #require(error)).contains("still"))
        }
    }

    /// The samples of a still of one color: luma, then the first of Cb and Cr.
    private static func samples(_ format: PixelFormat, _ color: ColorDescription, _ bytes: [UInt8]) throws -> [Int]
    {
        let captured = CaptureFormat(.raw(pixelFormat: format.rawValue), width: 4, height: 2, rate: nil)
        let copy = try #require(FrameCopy(captured))
        var slot = [UInt8](repeating: 0, count: copy.slotSize)
        for start in stride(from: 0, to: slot.count - bytes.count + 1, by: bytes.count) {
            slot.replaceSubrange(start..<start + bytes.count, with: bytes)
        }
        let picture = try #require(slot.withUnsafeBytes { CapturedPicture($0, copy, color) })
        let canvas = try picture.pixels().canvas
        return withExtendedLifetime(canvas) {
            canvas.planes.prefix(3).map { plane in
                canvas.format.bytesPerSample == 2
                    ? Int(plane.base.load(as: UInt16.self)) : Int(plane.base.load(as: UInt8.self))
            }
        }
    }

    @Test func stillsKeepTheirSamples() throws {
        let video = ColorDescription(primaries: 1, transfer: 1, matrix: 1)
        #expect(try Self.samples(.nv12, video, [70, 90]) == [70, 70, 90])
        // 10 bits at the high end: 100 and 200.
        #expect(try Self.samples(.p010, video, [0, 0x19, 0, 0x32]) == [100, 100, 200])
        // Red, green and blue by BT.601 at full range (JFIF), whatever the fourth byte is.
        for (bytes, expected) in [([0, 0, 255, 7], [76, 85, 255]), ([255, 0, 0, 7], [29, 255, 107])]
            as [([UInt8], [Int])]
        {
            for (sample, value) in zip(try Self.samples(.bgra8, SourceImage.sRGB, bytes), expected) {
                #expect(abs(sample - value) <= 1, "\(sample) is not \(value)")
            }
        }
        #expect(throws: ImageError.self) { try Self.samples(.rgba16f, SourceImage.sRGB, [0, 0x3C]) }
    }

    @Test func colorsThatASourceDoesNotStateAreThoseOfVideo() {
        func color(_ height: Int, _ matrix: Int?, _ format: PixelFormat = .nv12) -> ColorDescription {
            CapturedPicture.color(
                of: CaptureFormat(
                    .raw(pixelFormat: format.rawValue), width: 64, height: height, rate: nil, matrix: matrix,
                    isFullRange: true), format)
        }
        #expect(color(1080, nil) == ColorDescription(primaries: 1, transfer: 1, matrix: 1, isFullRange: true))
        #expect(color(480, nil).matrix == 6)
        #expect(color(480, 5).matrix == 6)
        #expect(color(1080, 9).matrix == 9)
        #expect(color(1080, nil, .bgra8) == SourceImage.sRGB)
    }

    @Test func exifHasTheTimeWithItsOffset() throws {
        let exif = CapturedPicture.exif(takenAt: 1_700_000_000_123_456_789)
        let date = try #require(ExifFields(tiff: exif)?.date)
        let text = String(decoding: exif, as: UTF8.self)
        #expect(text.contains("123456\0"))
        // The date and the offset together are the time: ±hh:mm and a zero.
        let place = try #require(
            exif.indices.dropLast(6).first {
                (exif[$0] == UInt8(ascii: "+") || exif[$0] == UInt8(ascii: "-"))
                    && exif[$0 + 3] == UInt8(ascii: ":")
                    && exif[$0 + 6] == 0
            })
        let offset = String(decoding: exif[place..<place + 6], as: UTF8.self)
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.dateFormat = "yyyy:MM:dd HH:mm:ssZZZZZ"
        let read = try #require(formatter.date(from: date + offset))
        #expect(read.timeIntervalSince1970 == 1_700_000_000)
    }

    @Test func theSecondSignalGivesUpStillsWhereTheFileIsFinished() {
        var rule = CaptureSignalRule()
        rule.isRecording = true
        #expect(rule.take(SIGINT) == .endRecording)
        rule.isWaitingForStills = true
        #expect(rule.signalsToGiveUp == 1)
        #expect(
            [SIGHUP, SIGINT, SIGHUP, SIGTERM].map { rule.take($0) } == [.none, .giveUpStills, .none, .endProgram])
    }

    /// As many as a line asks for, however the recording ended: at its duration, by a terminal that closes, by a signal.
    @Test(arguments: [nil, SIGHUP, SIGINT, SIGTERM])
    func stillsAreGivenUpByTheSignalsThatALineAsksFor(first: Int32?) {
        var rule = CaptureSignalRule()
        rule.isRecording = true
        if let first { #expect(rule.take(first) == .endRecording) }
        rule.isWaitingForStills = true
        let count = rule.signalsToGiveUp
        #expect(count == (first == SIGINT || first == SIGTERM ? 1 : 2))
        for number in 1...count {
            #expect((rule.take(SIGINT) == .giveUpStills) == (number == count))
            #expect(rule.signalsToGiveUp == count - number)
        }
        #expect(rule.take(SIGINT) == .endProgram)
    }
}
