// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDHEVC
import HWDModel
import Testing

extension EndToEndFaults {
    /// HDR metadata of every frame, from files and from clients.
    @Suite struct HDRMetadata {
        static let iPhone = Clips.fixture("dolby_vision_84.mov").path
        /// HDR10+ (ST 2094-40) of one window without statistics; `peak` is targeted_system_display_maximum_luminance.
        static func hdr10Plus(peak: Int) -> [UInt8] {
            // num_windows u2, the peak u27, a flag, then 85 bits of zero, padded to a whole number of bytes.
            let head = UInt32(1) << 30 | UInt32(peak) << 3
            return [0xB5, 0x00, 0x3C, 0x00, 0x01, 0x04, 0x01] + (0..<4).map { UInt8(head >> (24 - 8 * $0) & 255) }
                + [UInt8](repeating: 0, count: 11)
        }

        private func encode(_ server: TestDaemon, _ options: [String], _ input: String, _ name: String) throws
            -> String
        {
            let output = server.folder.path(name)
            let run = try Programs.hwctl(["encode"] + options + [input, output], socket: server.socket)
            try #require(run.status == 0, "\(options): \(run.errors)")
            return output
        }

        /// What must hold of an encode that keeps the iPhone's metadata.
        private func checkKept(_ output: String) throws {
            let (before, after) = (try CodedMetadata(Self.iPhone), try CodedMetadata(output))
            #expect(after.packets == 4 && after.rpus.count == 4 && after.misplaced == 0)
            #expect(
                after.rpus.allSatisfy { before.rpus[$0.key] == $0.value }, "\(before.rpus.keys) \(after.rpus.keys)")
            let (source, boxes) = (try SampleEntryBoxes(Self.iPhone), try SampleEntryBoxes(output))
            #expect(source.types == ["hvcC", "dvvC", "colr", "amve"])
            for type in ["dvvC", "amve"] { #expect(boxes.bodies[type] == source.bodies[type], "\(type)") }
            #expect(boxes.types.filter(source.types.contains) == source.types, "\(boxes.types)")
            #expect(boxes.brands.contains("dby1") == output.hasSuffix("mp4"), "\(boxes.brands)")
            let frames = try Programs.tool(
                "ffprobe", ["-v", "error", "-select_streams", "v:0", "-show_frames", "-of", "json", output])
            #expect(frames.text.components(separatedBy: "Dolby Vision RPU Data").count - 1 == 4)
        }

        @Test(
            "An encode keeps Dolby Vision's RPUs, its record and the ambient environment",
            arguments: ["mov", "mp4"])
        func preserved(_ ending: String) throws {
            let server = try TestDaemon()
            try checkKept(try encode(server, ["--preset", "ultrafast"], Self.iPhone, "o.\(ending)"))
        }

        @Test("A driver's encode keeps them too")
        func preservedInHardware() throws {
            let state = try Scratch()
            let server = try SimulatedDriver.verifiedDaemon(state: state)
            for ending in ["mov", "mp4"] {
                try checkKept(try encode(server, ["--hardware", "require"], Self.iPhone, "o.\(ending)"))
            }
        }

        @Test("--hdr drop writes no HDR metadata")
        func dropped() throws {
            let server = try TestDaemon()
            for clip in [Self.iPhone, Clips.fixture("pq.mov").path] {
                let output = try encode(server, ["--preset", "ultrafast", "--hdr", "drop"], clip, "o.mp4")
                let metadata = try CodedMetadata(output)
                #expect(metadata.packets > 0 && metadata.rpus.isEmpty)
                let boxes = try SampleEntryBoxes(output)
                #expect(
                    Set(boxes.types).isDisjoint(with: ["dvvC", "dvcC", "amve", "mdcv", "clli"]), "\(boxes.types)")
                #expect(!boxes.brands.contains("dby1"))
                let frames = try Programs.tool(
                    "ffprobe", ["-v", "error", "-select_streams", "v:0", "-show_frames", "-of", "json", output])
                for name in ["Dolby Vision", "Content light level", "Mastering display"] {
                    #expect(!frames.text.contains(name), "\(name)")
                }
                let info = try Programs.hwctl(["info", output], socket: server.socket)
                #expect(info.status == 0)
            }
        }

        @Test("An encode adds nothing that the source lacks")
        func nothingAdded() throws {
            let server = try TestDaemon()
            let output = try encode(server, ["--preset", "ultrafast"], Clips.fixture("hlg.mov").path, "o.mov")
            #expect(try CodedMetadata(output).rpus.isEmpty)
            #expect(try Set(SampleEntryBoxes(output).types).isDisjoint(with: ["dvvC", "amve", "mdcv", "clli"]))
        }

        @Test("A raw stream carries the metadata in band, and a copy of it keeps them")
        func rawStream() throws {
            let server = try TestDaemon()
            let raw = try encode(server, ["--preset", "ultrafast"], Self.iPhone, "o.hevc")
            let copy = try encode(server, ["--copy", "--frame-rate", "30"], raw, "copy.mov")
            let (before, after) = (try CodedMetadata(Self.iPhone), try CodedMetadata(copy))
            let source = before.rpus.sorted { $0.key < $1.key }.map(\.value)
            #expect(after.rpus.sorted { $0.key < $1.key }.map(\.value) == Array(source.prefix(4)))
            #expect(try SampleEntryBoxes(copy).bodies["amve"] == SampleEntryBoxes(Self.iPhone).bodies["amve"])
        }

        @Test("A raw stream's RPUs give a movie its Dolby Vision record; a profile of 8 bits is refused")
        func rawSource() throws {
            let server = try TestDaemon()
            let clip = Clips.fixture("dolby_vision_81.hevc").path
            let output = try encode(server, ["--preset", "ultrafast", "--frame-rate", "24"], clip, "o.mp4")
            let after = try CodedMetadata(output)
            let shown = after.rpus.sorted { $0.key < $1.key }.map(\.value)
            // Each picture has its own, also in front of an end of sequence NAL unit.
            let expected = try rpusInOutputOrder(clip)
            #expect(expected.count == 259 && shown == expected && after.misplaced == 0)
            let copy = try encode(server, ["--copy", "--frame-rate", "24"], clip, "copy.mp4")
            let copied = try CodedMetadata(copy)
            #expect(copied.rpus.sorted { $0.key < $1.key }.map(\.value) == expected && copied.misplaced == 0)
            // The first pictures of its shots, by libavcodec on both sides.
            let shots = try [clip, output].map {
                try readings($0).enumerated().filter { $0.element.isShot == 1 }.map(\.offset)
            }
            #expect(shots[0].count == 3 && shots[1] == shots[0], "\(shots)")
            let record = try #require(try SampleEntryBoxes(output).bodies["dvvC"])
            // Profile 8, level 1, RPU and base layer, compatibility 1 (HDR10).
            #expect(Array(record.prefix(5)) == [1, 0, 0x10, 0x0D, 0x10])
            let narrow = server.folder.path("8.mp4")
            let run = try Programs.hwctl(
                ["encode", "--preset", "ultrafast", "--profile", "main", Self.iPhone, narrow], socket: server.socket
            )
            #expect(run.status == 64 && !FileManager.default.fileExists(atPath: narrow), "\(run.errors)")
        }

        /// The RPU of each picture of a byte stream in output order: the order is libavcodec's, and the units are those
        /// between two access unit delimiters.
        private func rpusInOutputOrder(_ path: String) throws -> [[UInt8]] {
            let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))
            var accessUnits: [(start: Int, rpu: [UInt8])] = []
            for nal in AnnexB.NALUnits(bytes) {
                switch try NALUnitHeader(nal: nal).nalUnitType {
                case .aud: accessUnits.append((nal.startIndex, []))
                case .unspec62: accessUnits[accessUnits.count - 1].rpu = Array(nal.dropFirst(2))
                default: break
                }
            }
            let run = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v:0", "-show_entries", "frame=pkt_pos",
                    "-of", "json", path,
                ])
            let document = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
            let frames = try #require(document?["frames"] as? [[String: Any]])
            return try frames.map { frame in
                let position = try #require((frame["pkt_pos"] as? String).flatMap { Int($0) })
                // libavformat's packet may begin with the end of sequence of the one before it.
                return try #require(accessUnits.first { $0.start > position }).rpu
            }
        }

        /// What ffprobe reads of the RPU of each frame, as JSON with sorted keys.
        ///
        /// A camera declares every frame the first of a shot, so that `isShot` is left out of what is compared.
        private func readings(_ path: String) throws -> [(text: String, isShot: Int?)] {
            let run = try Programs.tool(
                "ffprobe", ["-v", "error", "-select_streams", "v:0", "-show_frames", "-of", "json", path])
            let document = try JSONSerialization.jsonObject(with: Data(run.output)) as? [String: Any]
            let frames = document?["frames"] as? [[String: Any]] ?? []
            return try frames.compactMap { frame in
                let entries = frame["side_data_list"] as? [[String: Any]]
                guard
                    var found = entries?.first(where: { $0["side_data_type"] as? String == "Dolby Vision Metadata" }
                    )
                else { return nil }
                let isShot = found.removeValue(forKey: "scene_refresh_flag") as? Int
                let json = try JSONSerialization.data(withJSONObject: found, options: .sortedKeys)
                return (String(decoding: json, as: UTF8.self), isShot)
            }
        }

        @Test("--hdr regenerate gives each frame of HLG an RPU of profile 8.4 with a camera's constants")
        func regenerated() throws {
            let camera = try #require(try readings(Self.iPhone).first)
            let state = try Scratch()
            let servers = [try TestDaemon(), try SimulatedDriver.verifiedDaemon(state: state)]
            for (clip, count) in [(Clips.fixture("hlg.mov").path, 8), (Self.iPhone, 4)] {
                for (number, server) in servers.enumerated() {
                    let hardware = number == 0 ? ["--preset", "ultrafast"] : ["--hardware", "require"]
                    let output = try encode(server, ["--hdr", "regenerate"] + hardware, clip, "r\(count).mov")
                    let metadata = try CodedMetadata(output)
                    #expect(metadata.packets == count && metadata.rpus.count == count && metadata.misplaced == 0)
                    let found = try readings(output)
                    #expect(found.count == count)
                    #expect(found.allSatisfy { $0.text == camera.text } && camera.text.contains("-409680 16721463"))
                    #expect(found.first?.isShot == 1 && found.allSatisfy { $0.isShot != nil })
                    let record = try #require(try SampleEntryBoxes(output).bodies["dvvC"])
                    #expect(record[2] >> 1 == 8 && record[4] >> 4 == 4)
                    let kept = try CodedMetadata(Self.iPhone).rpus.values
                    #expect(metadata.rpus.values.allSatisfy { !kept.contains($0) })
                }
            }
        }

        @Test("--hdr regenerate makes no RPU for PQ, and warns about what it does not make")
        func regeneratedPQ() throws {
            let server = try TestDaemon()
            let (clip, output) = (Clips.fixture("dolby_vision_81.hevc").path, server.folder.path("pq.mov"))
            let run = try Programs.hwctl(
                ["encode", "--preset", "ultrafast", "--hdr", "regenerate", clip, output], socket: server.socket)
            #expect(run.status == 0 && run.errors.contains("are left out"), "\(run.errors)")
            #expect(try CodedMetadata(output).rpus.isEmpty)
            #expect(try SampleEntryBoxes(output).bodies["dvvC"] == nil)
            // The static metadata stay.
            #expect(try SampleEntryBoxes(output).bodies["clli"] != nil)
            let plain = try Programs.hwctl(
                ["encode", "--preset", "ultrafast", "--hdr", "regenerate", Clips.fixture("pq.mov").path, output],
                socket: server.socket)
            #expect(
                plain.status == 0 && plain.errors.contains("no dynamic HDR metadata are made"), "\(plain.errors)")
        }

        @Test("A conversion of the range removes the RPUs and the record, with a note")
        func convertedRange() throws {
            let server = try TestDaemon()
            let output = server.folder.path("full.mov")
            let run = try Programs.hwctl(
                ["encode", "--preset", "ultrafast", "--property", "FullRangeVideo=true", Self.iPhone, output],
                socket: server.socket)
            #expect(run.status == 0 && run.errors.contains("left out: the Dolby Vision metadata"), "\(run.errors)")
            #expect(try CodedMetadata(output).rpus.isEmpty)
            #expect(try SampleEntryBoxes(output).bodies["dvvC"] == nil)
        }

        @Test("HLG of primaries that cannot be measured is encoded without RPUs")
        func unmeasured() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.i010, width: 128, height: 96, count: 2, in: server.folder)
            for metadata in [nil, FrameMetadata()] {
                let encoder = try Encoder(
                    server.daemon, .i010, width: 128, height: 96,
                    properties: [
                        .x265Preset: .string("ultrafast"), .transferFunction: .string("ITU_R_2100_HLG"),
                        .colorPrimaries: .string("DCI_P3"), .yCbCrMatrix: .string("ITU_R_2020"),
                    ])
                for frame in raw.frames { try encoder.encode(frame, metadata: metadata) }
                try encoder.finish()
                let output = server.folder.path("o.mov")
                try encoder.write(to: output)
                let found = try CodedMetadata(output)
                #expect(found.packets == 2 && found.rpus.isEmpty)
            }
        }

        @Test("A session makes RPUs only for frames of HLG that are sent with metadata")
        func automatic() throws {
            let server = try TestDaemon()
            let raw = try RawFrames(.i010, width: 128, height: 96, count: 6, in: server.folder)
            for (transfer, isSent) in [
                ("ITU_R_2100_HLG", true), ("ITU_R_2100_HLG", false), ("SMPTE_ST_2084_PQ", true),
            ] {
                let encoder = try Encoder(
                    server.daemon, .i010, width: 128, height: 96,
                    properties: [
                        .x265Preset: .string("ultrafast"), .transferFunction: .string(transfer),
                        .colorPrimaries: .string("ITU_R_2020"), .yCbCrMatrix: .string("ITU_R_2020"),
                    ])
                for frame in raw.frames { try encoder.encode(frame, metadata: isSent ? FrameMetadata() : nil) }
                try encoder.finish()
                let output = server.folder.path("o.mov")
                try encoder.write(to: output)
                let expected = isSent && transfer.hasSuffix("HLG") ? 6 : 0
                #expect(try CodedMetadata(output).rpus.count == expected, "\(transfer), \(isSent)")
            }
        }

        /// Different RPUs of a real stream.
        private static func rpus(_ count: Int) throws -> [[UInt8]] {
            var found: [[UInt8]] = []
            for rpu in try CodedMetadata(Clips.fixture("dolby_vision_81.hevc").path).all where !found.contains(rpu)
            {
                found.append(rpu)
                if found.count == count { break }
            }
            try #require(found.count > 1)
            return (0..<count).map { [0x7C, 0x01] + found[$0 % found.count] }
        }

        @Test(
            "Metadata stay with their frame: reordering, levels, alpha, another encoder",
            arguments: EndToEnd.Changing.kinds.filter { ($0.personality == nil) != ($0.name.hasPrefix("alpha")) })
        func kinds(_ kind: EndToEnd.Changing.Kind) throws {
            let state = try Scratch()
            let server = try kind.daemon(state)
            let encoder = try kind.encoder(
                server.daemon, width: 128, height: 96,
                [.preserveDynamicHDRMetadata: .bool(true), .quality: .double(0.5)])
            let frames = try RawFrames(encoder.format, width: 128, height: 96, count: 24, in: server.folder).frames
            let rpus = try Self.rpus(24)
            let light: [UInt8] = [3, 0xE8, 1, 0x90]
            for (number, frame) in frames.enumerated() {
                // Every third frame is sent by the message of old clients.
                var metadata: FrameMetadata? = FrameMetadata(sideData: [
                    FrameSideData(.dolbyVisionRPU, rpus[number]), FrameSideData(.contentLight, light),
                    FrameSideData(.hdr10Plus, Self.hdr10Plus(peak: number)),
                ])
                if number % 3 == 2 { metadata = nil }
                // A change that x265 cannot make in an open encoder.
                if number == 14 { try encoder.session.setProperties([.quality: .double(0.3)]) }
                try encoder.encode(frame, metadata: metadata)
            }
            try encoder.finish()
            try EndToEnd.Changing.check(encoder, 24, server.folder)
            let output = server.folder.path("o.mov")
            try encoder.write(to: output)
            let found = try CodedMetadata(output)
            #expect(found.packets == 24 && found.rpus.count == 16 && found.misplaced == 0)
            for number in 0..<24 {
                let time = Double(number) / 30
                let nearest = { (key: Double) in abs(key - time) < 0.001 }
                let rpu = found.rpus.first { nearest($0.key) }?.value
                #expect(rpu == (number % 3 == 2 ? nil : Array(rpus[number].dropFirst(2))), "frame \(number)")
                let payload = found.hdr10Plus.first { nearest($0.key) }?.value
                #expect(payload == (number % 3 == 2 ? nil : Self.hdr10Plus(peak: number)), "frame \(number)")
            }
            // With alpha, frames of 8 bits cannot be Dolby Vision, but messages are in the same places.
            if !kind.properties.isEmpty {
                let part = server.folder.path("part.mov")
                let run = try Programs.hwctl(["encode", "--copy", "--max-level", "0", output, part])
                try #require(run.status == 0, "\(run.errors)")
                let kept = try CodedMetadata(part)
                #expect(kept.packets > 0 && kept.packets < 24 && kept.misplaced == 0 && !kept.rpus.isEmpty)
                #expect(kept.rpus.allSatisfy { found.rpus[$0.key] == $0.value })
            }
        }
    }
}
