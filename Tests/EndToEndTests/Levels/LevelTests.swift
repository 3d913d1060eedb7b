// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDX265
import Foundation
import HWClient
import HWDModel
import HWDWire
import Testing

extension EndToEnd {
    /// Temporal levels dropped by file annotations, by NAL unit headers and by sessions; ffmpeg and libde265 judge.
    @Suite struct Levels {
        /// A clip of two levels with open GOPs: x265 puts every other picture between key frames on level 1.
        static func clip(_ folder: Scratch, frames: Int = 42) throws -> String {
            let path = folder.path("levels.mp4")
            let options = [
                "temporal-layers=\(hwd_x265_two_levels())", "keyint=16", "min-keyint=16", "bframes=3", "b-adapt=0",
                "scenecut=0", "open-gop=1", "log-level=none",
            ]
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=60", "-frames:v",
                    "\(frames)", "-pix_fmt", "yuv420p", "-c:v", "libx265", "-preset", "ultrafast", "-tag:v", "hvc1",
                    "-x265-params", options.joined(separator: ":"), path,
                ])
            return path
        }

        /// A clip of four levels, 97 frames, encoded by the daemon.
        static func fourLevels(_ server: TestDaemon, _ ending: String) throws -> String {
            let source = server.folder.path("source.y4m")
            try Programs.tool(
                "ffmpeg",
                [
                    "-y", "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=128x96:rate=240", "-frames:v", "97",
                    "-pix_fmt", "yuv420p", source,
                ])
            let path = server.folder.path("four.\(ending)")
            let run = try Programs.hwctl(
                [
                    "encode", "--base-layer-frame-rate", "30", "--expected-frame-rate", "240", "--preset",
                    "ultrafast", "--hardware", "off", source, path,
                ], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            return path
        }

        /// TemporalId of the first slice of an access unit with 4-byte lengths.
        static func level(_ unit: [UInt8]) -> Int? {
            var place = 0
            while place + 6 <= unit.count {
                let length = unit[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
                if unit[place + 4] >> 1 < 32 { return Int(unit[place + 5] & 7) - 1 }
                place += 4 + length
            }
            return nil
        }

        /// The levels 0…`limit` of a file as an Annex B stream: parameter sets, then whole access units.
        static func stream(_ path: String, upTo limit: Int, in folder: Scratch) throws -> String {
            let coded = try CodedStream(path)
            var bytes: [UInt8] = []
            func append(_ nal: ArraySlice<UInt8>) { bytes += [0, 0, 0, 1] + nal }
            // The arrays of the hvcC record: type, number of units, each behind its length in two bytes.
            let record = coded.description
            var place = 23
            for _ in 0..<record[22] {
                let count = Int(record[place + 1]) << 8 | Int(record[place + 2])
                place += 3
                for _ in 0..<count {
                    let length = Int(record[place]) << 8 | Int(record[place + 1])
                    append(record[place + 2..<place + 2 + length])
                    place += 2 + length
                }
            }
            for unit in coded.units where try #require(level(unit.bytes)) <= limit {
                var place = 0
                while place + 4 <= unit.bytes.count {
                    let length = unit.bytes[place..<place + 4].reduce(0) { $0 << 8 | Int($1) }
                    append(unit.bytes[place + 4..<place + 4 + length])
                    place += 4 + length
                }
            }
            let output = folder.path("levels-\(limit).hevc")
            try Data(bytes).write(to: URL(fileURLWithPath: output))
            return output
        }

        /// The samples that ffmpeg, without a message, and libde265 decode from a file's levels 0…`limit`.
        static func expected(_ path: String, upTo limit: Int, in folder: Scratch) throws -> [UInt8] {
            let stream = try stream(path, upTo: limit, in: folder)
            let ffmpeg = try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", stream, "-fps_mode", "passthrough", "-f", "rawvideo", "-"])
            #expect(ffmpeg.errors == "", "levels 0 to \(limit)")
            let output = folder.path("libde265.yuv")
            try Programs.tool("libde265-dec265", ["-q", "-o", output, stream])
            let theirs = try Data(contentsOf: URL(fileURLWithPath: output))
            #expect(theirs.elementsEqual(ffmpeg.output), "libde265 and ffmpeg differ on levels 0 to \(limit)")
            return ffmpeg.output
        }

        private func decode(
            _ server: TestDaemon, _ path: String, _ limit: Int
        ) throws -> (samples: [UInt8], run: Finished) {
            let output = server.folder.path("out.yuv")
            let run = try Programs.hwctl(
                ["decode", "--max-level", "\(limit)", path, output], socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            return (Array(try Data(contentsOf: URL(fileURLWithPath: output))), run)
        }

        @Test("Levels are dropped by annotations, or by NAL units where there are none, with the same samples")
        func twoLevels() throws {
            let server = try TestDaemon()
            let plain = try Self.clip(server.folder)
            var files = [plain]
            for ending in ["mov", "mp4"] {
                let copy = server.folder.path("annotated.\(ending)")
                let run = try Programs.hwctl(["encode", "--copy", plain, copy], socket: "/nowhere")
                try #require(run.status == 0, "\(run.errors)")
                files.append(copy)
            }
            for limit in 0...1 {
                let expected = try Self.expected(plain, upTo: limit, in: server.folder)
                for path in files {
                    let (samples, run) = try decode(server, path, limit)
                    #expect(samples == expected && !samples.isEmpty, "\(path), levels 0 to \(limit)")
                    let isReported = run.errors.contains("does not annotate")
                    #expect(isReported == (path == plain && limit == 0), "\(run.errors)")
                    #expect(!run.errors.contains("warning"), "\(run.errors)")
                }
            }
            #expect(server.hasNoWorkers())
        }

        @Test("Four levels at 240 frames a second: each cut decodes without a message", arguments: ["mov", "mp4"])
        func fourLevels(_ ending: String) throws {
            let server = try TestDaemon()
            let path = try Self.fourLevels(server, ending)
            let info = try Programs.hwctl(["info", "--json", "--no-measure", path])
            let object = try #require(try JSONSerialization.jsonObject(with: Data(info.output)) as? [String: Any])
            let video = try #require((object["video"] as? [[String: Any]])?.first)
            let rates = (video["temporal_levels"] as? [[String: Any]])?.map { $0["frame_rate"] as? String }
            #expect(rates == ["30/1", "60/1", "120/1", "240/1"])
            #expect(video["annotation_faults"] == nil, "\(info.text)")
            for (limit, frames) in [(0, 13), (1, 25), (2, 49), (3, 97)] {
                let expected = try Self.expected(path, upTo: limit, in: server.folder)
                #expect(expected.count == frames * 128 * 96 * 3 / 2)
                let (samples, run) = try decode(server, path, limit)
                #expect(samples == expected && !run.errors.contains("warning"), "\(run.errors)")
                let cut = server.folder.path("cut.\(ending)")
                let copy = try Programs.hwctl(["encode", "--copy", "--max-level", "\(limit)", path, cut])
                #expect(copy.status == 0 && !copy.errors.contains("warning"), "\(copy.errors)")
                #expect(try Probe(cut).samples("yuv420p") == expected)
                #expect(try Probe(cut).decodingMessages() == "")
                let times = try Probe(cut).frameTimes().compactMap { $0 }
                let gap = 1.0 / Double(30 << limit)
                #expect(zip(times, times.dropFirst()).allSatisfy { abs($1 - $0 - gap) < 1e-4 })
            }
        }

        @Test(
            "A copy without its upper levels keeps the times of the remaining pictures",
            arguments: ["mov", "mp4"])
        func copies(_ ending: String) throws {
            let server = try TestDaemon()
            let whole = server.folder.path("whole.\(ending)")
            var run = try Programs.hwctl(["encode", "--copy", try Self.clip(server.folder), whole])
            try #require(run.status == 0 && run.complaints.count == 1, "\(run.errors)")
            let base = server.folder.path("base.\(ending)")
            run = try Programs.hwctl(["encode", "--copy", "--max-level", "0", "--json", whole, base])
            try #require(run.status == 0 && run.errors == "", "\(run.errors)")
            let report = try #require(try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
            let levels = try #require(report["temporal_levels"] as? [String: Any])
            #expect(levels["source"] as? String == "annotations" && levels["max_level"] as? Int == 0)
            let expected = try Self.expected(whole, upTo: 0, in: server.folder)
            #expect(try Probe(base).samples("yuv420p") == expected)
            #expect(try Probe(base).decodingMessages() == "")
            let (all, left) = (try Probe(whole).frameTimes(), try Probe(base).frameTimes())
            #expect(left.count < all.count && left.allSatisfy(all.contains))
            #expect(try Probe(base).field("duration") == Probe(whole).field("duration"))
        }

        @Test("Encoding drops levels as decoding does, at the remaining frame rate")
        func encoding() throws {
            let server = try TestDaemon()
            let source = try Self.clip(server.folder)
            let output = server.folder.path("out.mp4")
            let run = try Programs.hwctl(
                ["encode", "--max-level", "0", "--hardware", "off", "--preset", "ultrafast", source, output],
                socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let (all, left) = (try Probe(source).frameTimes(), try Probe(output).frameTimes())
            #expect(left.count < all.count && left.allSatisfy(all.contains), "\(left)")
        }

        @Test("Wrong arguments are refused with the reason")
        func refusals() throws {
            let folder = try Scratch()
            let clip = try Self.clip(folder, frames: 6)
            let avc = Clips.fixture("bbb_720p.mp4").path
            let output = folder.path("out.mov")
            for (arguments, status, words) in [
                (["encode", "--copy", "--max-level", "7", clip, output], 64, "0 to 6"),
                (["encode", "--copy", "--max-level=-1", clip, output], 64, "0 to 6"),
                (["decode", "--max-level", "9", clip, folder.path("a.yuv")], 64, "0 to 6"),
                (["encode", "--copy", "--bitrate", "1M", clip, output], 64, "--bitrate"),
                (["encode", "--copy", avc, output], 65, "h264"),
                (["encode", "--copy", "--max-level", "0", avc, output], 65, "h264"),
                (["decode", "--max-level", "0", avc, folder.path("a.yuv")], 65, "h264"),
                (["encode", "--copy", "-", output], 65, "empty"),
            ] {
                let run = try Programs.hwctl(arguments)
                #expect(run.status == Int32(status), "\(arguments): \(run.errors)")
                #expect(run.errors.contains(words), "\(arguments): \(run.errors)")
            }
            #expect(folder.contents == ["levels.mp4"])
            let run = try Programs.hwctl(["encode", "--copy", "--max-level", "1", clip, output])
            #expect(run.status == 0 && run.errors.contains("2 temporal levels, 0 to 1: nothing is dropped"))
        }

        @Test("A session's limit can change at any packet; dropped packets are reported and return their credits")
        func sessionLimit() throws {
            let server = try TestDaemon()
            let stream = try CodedStream(try Self.clip(server.folder, frames: 97))
            let whole = try Decoder(server.daemon, stream)
            try whole.decode(stream)
            #expect(whole.frames.count == 97 && whole.reports.isEmpty)
            let full = Dictionary(uniqueKeysWithValues: whole.frames.map { ($0.description.pts, $0.samples) })
            let levels = try stream.units.map { try #require(Self.level($0.bytes)) }

            // The whole stream at one limit.
            let base = try Decoder(server.daemon, stream, properties: [.maxTemporalLevel: .int(0)])
            try base.decode(stream)
            #expect(base.frames.count == levels.count { $0 == 0 })
            #expect(base.reports.count == levels.count { $0 == 1 })
            #expect(base.reports.allSatisfy { $0.status == .ok && $0.flags == [.dropped, .aboveLevel] })
            #expect(base.frames.allSatisfy { full[$0.description.pts] == $0.samples })
            #expect(try base.session.copyProperties([.numberOfFramesBeingDecoded]).values.first == .int(0))

            // Up and down at every seventh packet: the decoder reports nothing.
            let changing = try Decoder(server.daemon, stream)
            var expected: [Int64] = []
            var limit = 6
            for (index, unit) in stream.units.enumerated() {
                if index % 7 == 3 {
                    limit = limit == 0 ? 6 : 0
                    try changing.session.setMaxTemporalLevel(limit == 6 ? nil : 0)
                }
                // x265's pictures of level 1 are all TSA: the level can be switched on at each.
                if levels[index] <= limit { expected.append(try #require(unit.pts)) }
                try changing.decode(unit)
            }
            try changing.finish()
            #expect(changing.frames.map(\.description.pts) == expected.sorted())
            #expect(changing.frames.allSatisfy { full[$0.description.pts] == $0.samples })
            #expect(changing.frames.allSatisfy { !$0.description.flags.contains(.damaged) })
            #expect(changing.frames.count + changing.reports.count == 97)

            // A level that does not exist is refused and the session continues.
            #expect(throws: ClientError.self) { try changing.session.setMaxTemporalLevel(7) }
            try changing.decode(stream)
        }

        @Test("hwctl info reports levels and rates, and names wrong annotations")
        func info() throws {
            let folder = try Scratch()
            let path = folder.path("whole.mov")
            let copy = try Programs.hwctl(["encode", "--copy", try Self.clip(folder), path])
            try #require(copy.status == 0, "\(copy.errors)")
            func track() throws -> [String: Any] {
                let run = try Programs.hwctl(["info", "--json", "--no-measure", path])
                try #require(run.status == 0, "\(run.errors)")
                let object = try #require(
                    try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any])
                #expect(object["schema"] as? Int == 1)
                return try #require((object["video"] as? [[String: Any]])?.first)
            }
            var video = try track()
            #expect(video["temporal_layers"] as? Int == 2)
            #expect((video["annotations"] as? [String])?.first == "tscl")
            #expect(video["annotation_faults"] == nil)
            let levels = try #require(video["temporal_levels"] as? [[String: Any]])
            #expect(levels.map { $0["level"] as? Int } == [0, 1])
            #expect(levels.last?["frame_rate"] as? String == "60/1")
            // The last run of the tscl map refers to a description that does not exist.
            var bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
            let place = try #require(
                (0..<bytes.count - 8).first {
                    bytes[$0..<$0 + 4].elementsEqual("sbgp".utf8)
                        && bytes[$0 + 8..<$0 + 12].elementsEqual("tscl".utf8)
                })
            bytes[place + 23] = 9
            try Data(bytes).write(to: URL(fileURLWithPath: path))
            video = try track()
            let faults = try #require(video["annotation_faults"] as? [String])
            #expect(faults.first?.contains("number 9") == true)
            let text = try Programs.hwctl(["info", "--no-measure", path]).text
            #expect(text.contains("wrong annotation") && text.contains("levels 0 to 1"))
            // Wrong annotations are not used: NAL unit headers decide, and a message says so.
            let base = folder.path("base.mov")
            let run = try Programs.hwctl(["encode", "--copy", "--max-level", "0", path, base])
            #expect(run.status == 0 && run.errors.contains("annotations"), "\(run.errors)")
            #expect(try Probe(base).samples("yuv420p") == Self.expected(path, upTo: 0, in: folder))
        }
    }
}
