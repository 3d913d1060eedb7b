// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
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

        private func encode(_ server: TestDaemon, _ options: [String], _ input: String, _ name: String) throws -> String {
            let output = server.folder.path(name)
            let run = try Programs.hwctl(["encode"] + options + [input, output], socket: server.socket)
            try #require(run.status == 0, "\(options): \(run.errors)")
            return output
        }

        /// What must hold of an encode that keeps the iPhone's metadata.
        private func checkKept(_ output: String) throws {
            let (before, after) = (try CodedMetadata(Self.iPhone), try CodedMetadata(output))
            #expect(after.packets == 4 && after.rpus.count == 4 && after.misplaced == 0)
            #expect(after.rpus.allSatisfy { before.rpus[$0.key] == $0.value }, "\(before.rpus.keys) \(after.rpus.keys)")
            let (source, boxes) = (try SampleEntryBoxes(Self.iPhone), try SampleEntryBoxes(output))
            #expect(source.types == ["hvcC", "dvvC", "colr", "amve"])
            for type in ["dvvC", "amve"] { #expect(boxes.bodies[type] == source.bodies[type], "\(type)") }
            #expect(boxes.types.filter(source.types.contains) == source.types, "\(boxes.types)")
            #expect(boxes.brands.contains("dby1") == output.hasSuffix("mp4"), "\(boxes.brands)")
            let frames = try Programs.tool(
                "ffprobe", ["-v", "error", "-select_streams", "v:0", "-show_frames", "-of", "json", output])
            #expect(frames.text.components(separatedBy: "Dolby Vision RPU Data").count - 1 == 4)
        }

        @Test("An encode keeps Dolby Vision's RPUs, its record and the ambient environment", arguments: ["mov", "mp4"])
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
                #expect(Set(boxes.types).isDisjoint(with: ["dvvC", "dvcC", "amve", "mdcv", "clli"]), "\(boxes.types)")
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

        @Test("A raw stream's RPUs give a movie its Dolby Vision record; 8 bits leave them out, with a warning")
        func rawSource() throws {
            let server = try TestDaemon()
            let clip = Clips.fixture("dolby_vision_81.hevc").path
            let output = try encode(server, ["--preset", "ultrafast", "--frame-rate", "24"], clip, "o.mp4")
            let (before, after) = (try CodedMetadata(clip), try CodedMetadata(output))
            let shown = after.rpus.sorted { $0.key < $1.key }.map(\.value)
            // Where the source has an end of sequence NAL unit, libavformat returns an RPU with the next picture.
            #expect(shown.count >= before.all.count - 3 && after.misplaced == 0)
            #expect(Set(shown) == Set(before.all))
            let record = try #require(try SampleEntryBoxes(output).bodies["dvvC"])
            // Profile 8, level 1, RPU and base layer, compatibility 1 (HDR10).
            #expect(Array(record.prefix(5)) == [1, 0, 0x10, 0x0D, 0x10])
            let narrow = server.folder.path("8.mp4")
            let run = try Programs.hwctl(
                ["encode", "--preset", "ultrafast", "--profile", "main", Self.iPhone, narrow], socket: server.socket)
            if run.status == 0 {
                #expect(try CodedMetadata(narrow).rpus.isEmpty)
                #expect(run.errors.contains("dynamic HDR metadata of 4 frames are left out"), "\(run.errors)")
            } else {
                #expect(run.status == 64, "\(run.errors)")
            }
        }

        /// Different RPUs of a real stream.
        private static func rpus(_ count: Int) throws -> [[UInt8]] {
            var found: [[UInt8]] = []
            for rpu in try CodedMetadata(Clips.fixture("dolby_vision_81.hevc").path).all where !found.contains(rpu) {
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
