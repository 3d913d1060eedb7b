// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAVReading
import HWDLibAVWriting
import HWDMetadata
import HWDModel
import Testing

/// The state of the disk before, while and after an output is written.
@Suite struct OutputTests {
    /// Starts a writer on `path` and writes the packets of the committed HEVC clip.
    @discardableResult
    func writeClip(to path: String, source: MediaReader? = nil) throws -> MediaWriter {
        var options = MediaReader.Options()
        options.decoding = .disabled
        let reader = try MediaReader(path: Clips.hevc10, options: options)
        let writer = try MediaWriter(path: path, source: source)
        try writer.start(VideoTrack(reader.video, hvcC: reader.video.codecConfiguration))
        while case .packet(let packet)? = try reader.next() {
            let (pts, dts) = (try #require(packet.pts), try #require(packet.dts))
            try packet.withBytes {
                try writer.write($0, pts: pts, dts: dts, duration: packet.duration, isSync: packet.isSync)
            }
        }
        return writer
    }

    @Test(arguments: ["mov", "mp4", "hevc"])
    func filesAppearWhenFinished(_ ending: String) throws {
        let scratch = try Scratch()
        let path = scratch.file("out.\(ending)")
        let writer = try writeClip(to: path)
        #expect(scratch.contents.isEmpty)
        try writer.finish(sync: true)
        #expect(scratch.contents == ["out.\(ending)"])
        #expect(errorKind { try writer.finish() } == .usage)
        #expect(try probe(path, "-count_frames", "-show_entries", "stream=nb_read_frames").first?.first == "12")
    }

    @Test(arguments: ["mov", "mp4", "hevc"])
    func cancelledAndReleasedWritersLeaveNoFile(_ ending: String) throws {
        let scratch = try Scratch()
        let path = scratch.file("out.\(ending)")
        try writeClip(to: path).cancel()
        #expect(scratch.contents.isEmpty)
        try writeClip(to: path)
        #expect(scratch.contents.isEmpty)
        let writer = try MediaWriter(path: path)
        #expect(errorKind { try writer.finish() } == .usage)
        #expect(scratch.contents.isEmpty)
    }

    @Test(arguments: ["mov", "hevc"])
    func replacesExistingFilesOnlyOnSuccess(_ ending: String) throws {
        let scratch = try Scratch()
        let path = scratch.file("out.\(ending)")
        try Data("before".utf8).write(to: URL(filePath: path))
        try writeClip(to: path).cancel()
        #expect(try Data(contentsOf: URL(filePath: path)) == Data("before".utf8))
        try writeClip(to: path).finish()
        #expect(try Data(contentsOf: URL(filePath: path)).count > 100_000)
        #expect(scratch.contents == ["out.\(ending)"])
    }

    @Test func replacesTheTargetOfALink() throws {
        let scratch = try Scratch()
        let (path, link) = (scratch.file("real.mov"), scratch.file("link.mov"))
        try Data("before".utf8).write(to: URL(filePath: path))
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
        try writeClip(to: link).finish()
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == path)
        #expect(try Data(contentsOf: URL(filePath: path)).count > 100_000)
    }

    @Test func refusesTheInputAsOutput() throws {
        let scratch = try Scratch()
        let (path, link) = (scratch.file("in.mp4"), scratch.file("same.mp4"))
        try FileManager.default.copyItem(atPath: Clips.h264, toPath: path)
        try FileManager.default.linkItem(atPath: path, toPath: link)
        let reader = try MediaReader(path: path)
        #expect(errorKind { _ = try MediaWriter(path: path, source: reader) } == .usage)
        #expect(errorKind { _ = try MediaWriter(path: link, source: reader) } == .usage)
        #expect(Set(scratch.contents) == ["in.mp4", "same.mp4"])
    }

    @Test func refusesImpossibleOutputsAtOnce() throws {
        let scratch = try Scratch()
        #expect(errorKind { _ = try MediaWriter(path: scratch.file("no/out.mov")) } == .cannotCreate)
        try FileManager.default.createDirectory(atPath: scratch.file("dir.mov"), withIntermediateDirectories: true)
        #expect(errorKind { _ = try MediaWriter(path: scratch.file("dir.mov")) } == .cannotCreate)
        #expect(errorKind { _ = try MediaWriter(path: Clips.hevc10 + "/out.mov") } == .cannotCreate)
        #expect(errorKind { _ = try MediaWriter(path: "/proc/out.mov") } == .cannotCreate)
        for name in ["out.avi", "out", "out.", ".mov/out", "mov"] {
            do {
                _ = try MediaWriter(path: scratch.file(name))
                Issue.record("\(name) was accepted")
            } catch {
                #expect(error.kind == .usage)
                #expect(error.exitStatus == .usage)
                #expect(error.reason.contains(".mov, .mp4, .mkv, .ts, .nut, .hevc"))
            }
        }
    }

    /// In a separate process, because the limit on file sizes applies to the whole process.
    @Test(arguments: ["mov", "mp4", "hevc"])
    func aFullDiskIsAnErrorAndLeavesNoFile(_ ending: String) async throws {
        let scratch = try Scratch()
        let path = scratch.file("out.\(ending)")
        await #expect(processExitsWith: .exitCode(HWDModel.ExitStatus.ioError.rawValue)) {
            [path = path as String] in
            signal(SIGXFSZ, SIG_IGN)
            var limit = rlimit(rlim_cur: 100_000, rlim_max: 100_000)
            setrlimit(__rlimit_resource_t(UInt32(RLIMIT_FSIZE.rawValue)), &limit)
            do {
                try OutputTests().writeClip(to: path).finish()
            } catch let error as MediaError where error.reason.contains("File too large") {
                exit(error.exitStatus.rawValue)
            }
        }
        #expect(scratch.contents.isEmpty)
    }

    /// The default action of SIGPIPE would end the process without a message.
    @Test func aBrokenPipeIsAnErrorNotASignal() async throws {
        await #expect(processExitsWith: .exitCode(HWDModel.ExitStatus.ioError.rawValue)) {
            signal(SIGPIPE, SIG_DFL)
            var ends: [Int32] = [0, 0]
            pipe(&ends)
            dup2(ends[1], STDOUT_FILENO)
            close(ends[0])
            do {
                try OutputTests().writeClip(to: "-")
            } catch let error as MediaError where error.reason.contains("Broken pipe") {
                exit(error.exitStatus.rawValue)
            }
        }
    }

    @Test func writesTheByteStreamToStandardOutput() async throws {
        let scratch = try Scratch()
        let (path, piped) = (scratch.file("out.hevc"), scratch.file("piped"))
        try writeClip(to: path).finish()
        await #expect(processExitsWith: .success) { [piped = piped as String] in
            let file = open(piped, O_WRONLY | O_CREAT, 0o600)
            dup2(file, STDOUT_FILENO)
            try OutputTests().writeClip(to: "-").finish()
            exit(0)
        }
        #expect(try Data(contentsOf: URL(filePath: piped)) == Data(contentsOf: URL(filePath: path)))
    }

    /// libavcodec decodes the byte stream to the same pictures as the file it comes from.
    @Test func byteStreamsDecodeLikeTheirSource() throws {
        let scratch = try Scratch()
        let path = scratch.file("out.hevc")
        try writeClip(to: path).finish()
        let bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
        // VPS, SPS and PPS (H.265 table 7-1) before the first picture.
        let heads = bytes.indices.dropLast(5).prefix(4096).filter { bytes[$0..<$0 + 4] == [0, 0, 0, 1] }
        #expect(heads.prefix(3).map { bytes[$0 + 4] >> 1 & 0x3F } == [32, 33, 34])
        let hash = ["-map", "0:v:0", "-fps_mode", "passthrough", "-f", "md5", "-"]
        #expect(
            try run(["ffmpeg", "-v", "error", "-xerror", "-i", path] + hash)
                == run(["ffmpeg", "-v", "error", "-i", Clips.hevc10] + hash))
    }

    @Test func byteStreamsRefuseDamagedAccessUnits() throws {
        let scratch = try Scratch()
        let reader = try MediaReader(path: Clips.hevc10)
        for unit in [[0, 0, 0], [0, 0, 0, 5, 1], [0xFF, 0xFF, 0xFF, 0xFF, 1], [0, 0, 0, 0]] as [[UInt8]] {
            let writer = try MediaWriter(path: scratch.file("out.hevc"))
            try writer.start(VideoTrack(reader.video, hvcC: reader.video.codecConfiguration))
            unit.withUnsafeBytes { unit in
                #expect(errorKind { try writer.write(unit, pts: 0, dts: 0, duration: 1, isSync: true) } == .usage)
            }
        }
    }

    @Test func refusesDamagedConfigurations() throws {
        let scratch = try Scratch()
        let reader = try MediaReader(path: Clips.hevc10)
        let record = reader.video.codecConfiguration
        for length in 0..<record.count where length < 30 || length % 7 == 0 {
            let writer = try MediaWriter(path: scratch.file("out.mov"))
            let track = VideoTrack(reader.video, hvcC: Array(record.prefix(length)))
            #expect(errorKind { try writer.start(track) } == .usage, "\(length) bytes")
        }
    }

    @Test func errorKindsHaveExitStatuses() {
        let expected: [(MediaError.Kind, HWDModel.ExitStatus)] = [
            (.noInput, .noInput), (.badInput, .badInput), (.unsupported, .badInput), (.usage, .usage),
            (.cannotCreate, .cannotCreate), (.cannotWrite, .ioError), (.io, .ioError), (.interrupted, .ioError),
            (.noPermission, .noPermission),
        ]
        for (kind, status) in expected { #expect(MediaError(kind, "why").exitStatus == status) }
        #expect(MediaError(.io, "two\nlines").reason == #"two\nlines"#)
    }
}
