// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEnd {
    /// Damaged HDR metadata, color tags and alpha.
    @Suite struct HDRDamage {
        let folder: Scratch

        init() throws { folder = try Scratch() }

        private func path(_ name: String) -> String { folder.path(name) }

        /// Copies a clip of the repository, which keeps everything.
        private func copy(_ clip: String) throws -> (source: String, bytes: [UInt8]) {
            let source = Clips.fixture(clip).path
            let run = try Programs.hwctl(["encode", "--copy", "--verify", source, path("copy.mov")])
            try #require(run.status == 0, "\(run.errors)")
            return (source, try [UInt8](Data(contentsOf: URL(fileURLWithPath: path("copy.mov")))))
        }

        /// The receipt of a file with these bytes.
        private func receipt(_ bytes: [UInt8], of source: String, _ more: String...) throws -> ReceiptDocument {
            try Data(bytes).write(to: URL(fileURLWithPath: path("damaged.mov")))
            return try ReceiptDocument(["--explain"] + more + [source, path("damaged.mov")])
        }

        /// The offset behind the type of the first box of a type.
        private func body(_ type: String, in bytes: [UInt8]) throws -> Int {
            let needle = Array(type.utf8)
            return try #require(bytes.indices.dropLast(4).first { Array(bytes[$0..<$0 + 4]) == needle }) + 4
        }

        @Test func tags() throws {
            var (source, bytes) = try copy("pq.mov")
            let color = try body("colr", in: bytes)
            // nclc: primaries, transfer function, matrix.
            bytes[color + 7] = 1
            var damaged = try receipt(bytes, of: source)
            #expect(damaged.lost == ["color"])
            #expect(try damaged.item("color").sentence.contains("9/1/9"))

            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-y", "-i", path("copy.mov"), "-c", "copy", "-bsf:v",
                    "hevc_metadata=transfer_characteristics=1", path("coded.mov"),
                ])
            damaged = try ReceiptDocument(source, path("coded.mov"))
            #expect(damaged.lost.contains("color"), "the coded stream alone has another tag: \(damaged.items)")
            let asked = try ReceiptDocument("--asked", "color,mastering,light", source, path("coded.mov"))
            #expect(asked.lost == [])
            #expect(asked.asked == ["color", "light", "mastering"])
        }

        @Test func masteringDisplay() throws {
            let (source, honest) = try copy("pq.mov")
            let box = try body("mdcv", in: honest)
            var bytes = honest
            bytes[box + 17] ^= 1
            let damaged = try receipt(bytes, of: source)
            #expect(damaged.lost == ["mastering"])
            #expect(try damaged.item("mastering").details.count == 2)
            bytes = honest
            bytes[try body("clli", in: honest) + 1] ^= 1
            #expect(try receipt(bytes, of: source).lost == ["light"])
        }

        /// The positions of the RPUs of the shown pictures, in their order; a unit begins with 7C 01 19.
        private func rpus(_ bytes: [UInt8]) throws -> [Range<Int>] {
            let packets = try Programs.tool(
                "ffprobe",
                [
                    "-v", "error", "-select_streams", "v", "-show_entries", "packet=pts,size,pos", "-of", "csv=p=0",
                    path("copy.mov"),
                ]
            ).text.split(separator: "\n").map { $0.split(separator: ",").compactMap { Int($0) } }
            return packets.sorted { $0[0] < $1[0] }.compactMap { packet in
                let sample = packet[2]..<packet[2] + packet[1]
                let start = sample.dropLast(2).first { Array(bytes[$0..<$0 + 3]) == [0x7C, 1, 0x19] }
                return start.map { $0..<sample.upperBound }
            }
        }

        @Test func dolbyVision() throws {
            let (source, honest) = try copy("dolby_vision_84.mov")
            let rpus = try rpus(honest)
            try #require(rpus.count == 5)
            // Those of the third and the fourth picture differ; the edit list hides the fifth picture.
            let (first, second) = (rpus[2], rpus[3])
            try #require(first.count == second.count && honest[first] != honest[second])
            var bytes = honest
            bytes.replaceSubrange(first, with: honest[second])
            bytes.replaceSubrange(second, with: honest[first])
            var damaged = try receipt(bytes, of: source)
            #expect(damaged.lost == ["rpu"])
            let item = try damaged.item("rpu")
            #expect(item.sentence.contains("are exchanged"), "\(item)")
            #expect(item.details.count == 2)

            bytes = honest
            // Another NAL unit type, 63, so that the access unit has no RPU.
            bytes[rpus[1].lowerBound] = 0x7E
            damaged = try receipt(bytes, of: source)
            #expect(damaged.lost == ["rpu"])
            #expect(try damaged.item("rpu").sentence.hasPrefix("1 of 4 Dolby Vision RPUs is missing, at 0."))
            #expect(try receipt(bytes, of: source, "--asked", "hdr=drop").lost == [])

            bytes = honest
            bytes[try body("amve", in: honest)] ^= 1
            #expect(try receipt(bytes, of: source).lost == ["ambient"])
            bytes = honest
            // Profile 8.1: dv_bl_signal_compatibility_id is in the upper half of the fifth byte.
            bytes[try body("dvvC", in: honest) + 4] = 0x10
            #expect(try receipt(bytes, of: source).lost == ["dolby-vision"])
        }

        @Test func alpha() throws {
            let source = Clips.fixture("alpha_qtrle.mov").path
            func encode(_ arguments: String...) throws {
                let run = try Programs.hwctl(["encode", "--preset", "ultrafast"] + arguments)
                try #require(run.status == 0, "\(run.errors)")
            }
            try encode("--alpha", "premultiplied", "--verify", source, path("honest.mov"))
            try encode(source, path("none.mov"))
            #expect(try ReceiptDocument(source, path("none.mov")).lost == ["alpha"])
            #expect(try ReceiptDocument("--asked", "alpha", source, path("none.mov")).lost == [])
            try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-y", "-i", source, "-vf", "lutrgb=a=255", "-c:v", "qtrle", path("opaque.mov")])
            try encode("--alpha", "straight", path("opaque.mov"), path("flat.mov"))
            let flat = try ReceiptDocument(source, path("flat.mov"))
            #expect(flat.lost.contains("alpha"))
            #expect(try flat.item("alpha").sentence == "the output is opaque everywhere, the input is not")
        }
    }
}
