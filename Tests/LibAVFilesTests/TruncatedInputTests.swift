// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAVReading
import HWDLibAVWriting
import HWDMetadata
import HWDModel
import Testing

/// Inputs that are cut off, or whose headers declare impossible values.
@Suite struct TruncatedInputTests {
    /// The committed clip in another container, cut after a part of its bytes.
    static func cut(_ scratch: Scratch, _ ending: String, keeping part: Double) throws -> String {
        let (whole, path) = (scratch.file("whole.\(ending)"), scratch.file("cut.\(ending)"))
        try run("ffmpeg", "-v", "error", "-i", Clips.h264, "-c", "copy", "-movflags", "faststart", whole)
        let data = try Data(contentsOf: URL(filePath: whole))
        try data.prefix(Int(Double(data.count) * part)).write(to: URL(filePath: path))
        return path
    }

    /// Everything up to the cut is decoded, including frames the decoder holds back; then the error is thrown.
    @Test(arguments: ["mov", "mp4", "mkv"], [0.3, 0.6, 0.95])
    func framesPrecedeTheError(_ ending: String, _ part: Double) throws {
        let scratch = try Scratch()
        let path = try Self.cut(scratch, ending, keeping: part)
        let reader = try MediaReader(path: path)
        var frames = 0
        do {
            try reader.forEachFrame { _ in frames += 1 }
            Issue.record("the cut was not reported")
        } catch let error as MediaError {
            #expect(error.kind == .badInput)
            #expect(error.reason.contains("is cut off"), "\(error.reason)")
        }
        let rows = try probe(
            path, "-select_streams", "v:0", "-count_frames", "-show_entries", "stream=nb_read_frames")
        #expect(rows.first?.first == "\(frames)")
        #expect(frames > 5 && frames < 50)
        #expect(try reader.next() == nil)
    }

    /// A recording in fragments that ends within one is read up to the one before, with a warning.
    @Test func fragmentsBeforeTheCutAreRead() throws {
        let scratch = try Scratch()
        let (whole, path) = (scratch.file("whole.mp4"), scratch.file("cut.mp4"))
        try run(
            "ffmpeg", "-v", "error", "-i", Clips.h264, "-c", "copy", "-movflags",
            "frag_every_frame+delay_moov+default_base_moof", whole)
        let data = try Data(contentsOf: URL(filePath: whole))
        #expect(try MediaReader(path: whole).warnings.isEmpty)
        var last = 0
        for end in stride(from: data.count / 2, to: data.count / 2 + 400, by: 23) {
            try data.prefix(end).write(to: URL(filePath: path))
            let reader = try MediaReader(path: path)
            var frames = 0
            try reader.forEachFrame { _ in frames += 1 }
            #expect(frames >= last && frames > 5 && frames < 50, "\(end): \(frames)")
            last = frames
            #expect(reader.warnings.count <= 1 && reader.warnings.allSatisfy { $0.contains("hwctl repair") })
        }
    }

    @Test func wholeFilesAreNotCutOff() throws {
        let scratch = try Scratch()
        for ending in ["mov", "mp4", "mkv", "ts"] {
            var frames = 0
            try MediaReader(path: try Self.cut(scratch, ending, keeping: 1)).forEachFrame { _ in frames += 1 }
            #expect(frames == 50)
            for name in scratch.contents { try FileManager.default.removeItem(atPath: scratch.file(name)) }
        }
    }

    @Test(arguments: ["F0:1", "F25:0", "F2147483647:1", "F1:2147483647", "F10001:1"])
    func refusesImpossibleRates(_ rate: String) throws {
        let scratch = try Scratch()
        let path = scratch.file("in.y4m")
        try Data(("YUV4MPEG2 W16 H16 \(rate)\nFRAME\n" + String(repeating: "a", count: 384)).utf8)
            .write(to: URL(filePath: path))
        #expect(errorKind { _ = try MediaReader(path: path) } == .badInput)
    }

    @Test func warnsAboutAnUnknownRate() throws {
        let scratch = try Scratch()
        for header in ["W16 H16", "W16 H16 F0:0"] {
            let path = scratch.file("in.y4m")
            try Data("YUV4MPEG2 \(header)\n".utf8).write(to: URL(filePath: path))
            let warnings = try MediaReader(path: path).warnings
            #expect(warnings.count == 1 && warnings.first?.contains("25 per second") == true, "\(warnings)")
        }
    }

    /// Headers that declare more samples than the file has must cost neither time nor memory.
    ///
    /// In a separate process, because other tests that run at the time take memory too.
    @Test func refusesHugePicturesWithoutAllocatingThem() async {
        await #expect(processExitsWith: .success) { try TruncatedInputTests.refuseHugePictures() }
    }

    private static func refuseHugePictures() throws {
        let scratch = try Scratch()
        let y4m = scratch.file("in.y4m")
        for (width, height) in [(16385, 16), (16, 16385), (99999, 99999), (2_000_000_000, 2_000_000_000)] {
            try Data("YUV4MPEG2 W\(width) H\(height) F25:1\nFRAME\n".utf8).write(to: URL(filePath: y4m))
            #expect(errorKind { _ = try MediaReader(path: y4m) } == .badInput)
        }
        // A PNG of 60000x60000 black pixels is a small file; its header is enough to refuse it.
        let png = scratch.file("in.png")
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=s=16x16", "-frames:v", "1", "-update", "1", png)
        var bytes = [UInt8](try Data(contentsOf: URL(filePath: png)))
        for (place, value) in zip(16..<24, [0, 0, 0xEA, 0x60, 0, 0, 0xEA, 0x60] as [UInt8]) { bytes[place] = value }
        try Data(bytes).write(to: URL(filePath: png))
        let before = peakMemory
        #expect([.badInput, .unsupported].contains(errorKind { try MediaReader(path: png).forEachFrame { _ in } }))
        #expect(peakMemory - before < 1 << 20, "more than a gigabyte was allocated")
    }

    /// The peak resident memory of this process, in KiB.
    static var peakMemory: Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return Int(line.filter(\.isNumber)) ?? 0
    }

    @Test func warnsAboutInterlacedSources() throws {
        let scratch = try Scratch()
        let path = scratch.file("in.mp4")
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=128x96:d=0.2", "-c:v", "libx264", "-flags",
            "+ildct+ilme", "-x264opts", "tff=1", path)
        let reader = try MediaReader(path: path)
        #expect(reader.video.isInterlaced)
        #expect(reader.warnings.count == 1 && reader.warnings[0].contains("interlaced"))
    }

    /// Edit lists that begin late or with an empty edit, and varying rates: frames and times match ffprobe's.
    @Test(arguments: ["late", "empty", "varying"])
    func editListsAndVaryingRatesMatchFFprobe(_ kind: String) throws {
        let scratch = try Scratch()
        let path = scratch.file("in.mp4")
        let options: [String] =
            switch kind {
            case "late": ["-ss", "0.5", "-i", Clips.h264, "-c", "copy"]
            case "empty": ["-itsoffset", "0.7", "-i", Clips.h264, "-c", "copy"]
            default:
                [
                    "-f", "lavfi", "-i", "testsrc2=s=128x96:r=30:d=1", "-vf", "select='not(mod(n,3))+eq(n,7)'",
                    "-fps_mode", "vfr", "-c:v", "libx264",
                ]
            }
        try run(["ffmpeg", "-v", "error"] + options + [path])
        let reader = try MediaReader(path: path)
        var times: [String] = []
        try reader.forEachFrame { times.append("\($0.pts)") }
        let rows = try probe(path, "-select_streams", "v:0", "-show_entries", "frame=best_effort_timestamp")
        #expect(
            times == rows.compactMap(\.first).filter { !$0.isEmpty && $0.allSatisfy { $0.isNumber || $0 == "-" } })
        #expect(times.count > 5)
    }

    /// Whether this process may mount a file system.
    static let canMount: Bool = {
        guard let scratch = try? Scratch(), (try? mountSmall(scratch.path)) != nil else { return false }
        return (try? run("umount", scratch.path)) != nil
    }()

    private static func mountSmall(_ directory: String) throws {
        try run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", directory)
    }

    @Test(.enabled(if: canMount, "needs permission to mount a file system"), arguments: ["mov", "mp4", "hevc"])
    func aFullFileSystemIsAnErrorAndLeavesNoFile(_ ending: String) throws {
        let scratch = try Scratch()
        let directory = scratch.file("small")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try Self.mountSmall(directory)
        defer { _ = try? run("umount", directory) }
        let kind = errorKind { try OutputTests().writeClip(to: "\(directory)/out.\(ending)").finish() }
        #expect(kind == .cannotWrite)
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory).isEmpty)
    }
}
