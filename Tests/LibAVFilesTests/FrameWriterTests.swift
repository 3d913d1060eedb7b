// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAVReading
import HWDLibAVWriting
import HWDMetadata
import HWDModel
import Testing

/// Frames written to files, and the files that they replace.
@Suite struct FrameWriterTests {
    private static let (width, height) = (64, 48)

    /// Writes gray pictures, or the last of them as noise, which takes more bytes.
    static func write(_ count: Int, to writer: FrameWriter, endsWithNoise: Bool = false) throws {
        let (layout, size) = FrameLayout.packed(.yu12, width: width, height: height)
        for number in 1...count {
            let isNoise = endsWithNoise && number == count
            let samples = (0..<size).map { _ in isNoise ? UInt8.random(in: 16...235) : 128 }
            try samples.withUnsafeBytes { bytes in
                let part = PictureRectangle(x: 0, y: 0, width: UInt32(width), height: UInt32(height))
                let view = try PictureView(
                    memory: bytes, layout: layout, format: .yu12, width: width, height: height, part: part)
                let description = FrameWriter.Description(
                    width: width, height: height, format: .yu12, color: ColorDescription(), frameRate: nil,
                    sampleAspectRatio: nil)
                try writer.write(view, description)
            }
        }
    }

    private func put(_ names: [String], in scratch: Scratch) throws {
        for name in names { try Data("before \(name)".utf8).write(to: URL(filePath: scratch.file(name))) }
    }

    /// Whether the files, and no others, have the contents that `put` gave them.
    private func areUnchanged(_ names: [String], in scratch: Scratch) -> Bool {
        Set(scratch.contents) == Set(names)
            && names.allSatisfy {
                (try? String(contentsOfFile: scratch.file($0), encoding: .utf8)) == "before \($0)"
            }
    }

    @Test func aSeriesAppearsWhole() throws {
        let scratch = try Scratch()
        let names = ["f-001.png", "f-003.png", "f-009.png"]
        try put(names, in: scratch)
        do {
            let writer = try FrameWriter(path: scratch.file("f-%03d.png"))
            try Self.write(4, to: writer)
        }
        #expect(areUnchanged(names, in: scratch), "\(scratch.contents)")
        let writer = try FrameWriter(path: scratch.file("f-%03d.png"))
        try Self.write(4, to: writer)
        try writer.finish()
        #expect(Set(scratch.contents) == Set((1...4).map { "f-00\($0).png" } + ["f-009.png"]))
        #expect(try MediaReader(path: scratch.file("f-%03d.png")).video.width == 64)
    }

    /// In a separate process, because the limit on file sizes applies to the whole process.
    @Test(arguments: ["f-%d.png", "f-1.png", "f-1.yuv", "f-1.y4m"])
    func aFullDiskIsTheOutputsFaultAndLeavesWhatWasThere(_ name: String) async throws {
        let scratch = try Scratch()
        let names = ["f-1.png", "f-2.png", "f-1.yuv", "f-1.y4m"]
        try put(names, in: scratch)
        await #expect(processExitsWith: .exitCode(HWDModel.ExitStatus.ioError.rawValue)) {
            [path = scratch.file(name) as String] in
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 1000, rlim_max: 1000)
            setrlimit(__rlimit_resource_t(UInt32(RLIMIT_FSIZE.rawValue)), &limit)
            do {
                let writer = try FrameWriter(path: path)
                try FrameWriterTests.write(path.contains("%") ? 3 : 1, to: writer, endsWithNoise: true)
                try writer.finish()
            } catch let error as MediaError where error.kind == .cannotWrite {
                exit(error.exitStatus.rawValue)
            }
        }
        #expect(areUnchanged(names, in: scratch), "\(scratch.contents)")
    }

    @Test func withoutReplacingNoneOfASeriesIsWritten() throws {
        let scratch = try Scratch()
        try put(["f-2.png"], in: scratch)
        let writer = try FrameWriter(path: scratch.file("f-%d.png"), replaces: false)
        try Self.write(3, to: writer)
        #expect(errorKind { try writer.finish() } == .cannotCreate)
        #expect(areUnchanged(["f-2.png"], in: scratch))
    }

    @Test func existingFilesAreThoseThatMayBeReplaced() throws {
        let scratch = try Scratch()
        try put(["f-000.png", "f-002.png", "f-010.png", "f-1.png", "g.y4m", "f-002.png.txt"], in: scratch)
        let names = { (output: String) in
            FrameWriter.existingFiles(scratch.file(output)).map { $0.dropFirst(scratch.path.count + 1) }
        }
        #expect(names("f-%03d.png") == ["f-002.png", "f-010.png"])
        #expect(names("f-%d.png") == ["f-1.png"])
        #expect(names("g.y4m") == ["g.y4m"])
        #expect(names("h-%d.png").isEmpty && names("none/f-%d.png").isEmpty && names("h.png").isEmpty)
        #expect(FrameWriter.existingFiles("-").isEmpty)
    }

    /// A FIFO without a writer would let open(2) wait.
    @Test func whatIsReadTwiceIsRefusedBeforeItIsOpened() throws {
        let scratch = try Scratch()
        let path = scratch.file("pipe.mov")
        try #require(mkfifo(path, 0o600) == 0)
        #expect(errorKind { _ = try MediaReader(path: path, options: SegmentScan.options) } == .unsupported)
        #expect(errorKind { _ = try MediaReader(path: "/dev/null", options: SegmentScan.options) } == .unsupported)
    }
}
