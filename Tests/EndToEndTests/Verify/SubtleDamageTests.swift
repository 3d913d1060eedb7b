// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDHEVC
import Testing

extension EndToEnd {
    /// Damage that keeps the number, the times and the order of all pictures and packets.
    @Suite struct SubtleDamage {
        let folder: Scratch

        init() throws { folder = try Scratch() }

        private func path(_ name: String) -> String { folder.path(name) }

        private func ffmpeg(_ arguments: [String], to name: String) throws {
            try Programs.tool("ffmpeg", ["-v", "error", "-y"] + arguments + [path(name)])
        }

        private func write(_ units: [[UInt8]], to name: String) throws {
            var stream: [UInt8] = []
            for unit in units { AnnexB.append(unit, to: &stream) }
            try Data(stream).write(to: URL(fileURLWithPath: path(name)))
        }

        private func units(_ path: String) throws -> [[UInt8]] {
            AnnexB.NALUnits(try [UInt8](Data(contentsOf: URL(fileURLWithPath: path)))).map { Array($0) }
        }

        /// Colors that became gray, and samples that were squeezed into video range once more.
        @Test func contrast() throws {
            let picture = ["-f", "lavfi", "-i", "testsrc2=s=192x128:d=0.4,hue=s=0.25", "-pix_fmt", "yuv420p"]
            try ffmpeg(picture + ["-c:v", "libx264", "-qp", "1"], to: "source.mov")
            let coder = ["-c:v", "libx265", "-preset", "ultrafast", "-x265-params", "log-level=0:qp=40", "-an"]
            for (filter, words) in [
                ("null", nil), ("hue=s=0", "Cb has 0.00 of"),
                ("scale=in_range=full:out_range=limited", "Y has 0.8"),
                ("lutyuv=y=val+12", "higher"),
            ] {
                try ffmpeg(["-i", path("source.mov"), "-vf", filter] + coder, to: "coded.mov")
                let receipt = try ReceiptDocument(path("source.mov"), path("coded.mov"))
                #expect(receipt.lost == (words == nil ? [] : ["pictures"]), "\(filter): \(receipt.items)")
                let sentence = try receipt.item("pictures").sentence
                #expect(sentence.contains(words ?? "re-encoded"), "\(filter): \(sentence)")
            }
            // Where colors are converted, a component without contents is found too.
            let run = try Programs.hwctl([
                "encode", "--preset", "ultrafast", "--hdr", "pq", path("source.mov"), path("pq.mov"),
            ])
            try #require(run.status == 0, "\(run.errors)")
            try ffmpeg(
                ["-i", path("pq.mov"), "-vf", "hue=s=0"] + coder + [
                    "-color_primaries", "bt2020", "-color_trc", "smpte2084", "-colorspace", "bt2020nc",
                ], to: "gray.mov")
            #expect(try ReceiptDocument("--asked", "hdr=pq", path("source.mov"), path("pq.mov")).lost == [])
            let gray = try ReceiptDocument("--asked", "hdr=pq", path("source.mov"), path("gray.mov"))
            #expect(gray.lost == ["pictures"], "\(gray.items)")
        }

        /// Another QP in the picture parameter set: the slices are equal, the samples are not.
        @Test func parameterSets() throws {
            let source = Clips.fixture("raw.hevc").path
            var units = try units(source)
            for index in units.indices where try NALUnitHeader(nal: units[index][...]).nalUnitType == .pps {
                var set = try PictureParameterSet(nal: units[index])
                set.initQpMinus26 += 1
                units[index] = try set.nalUnit()
            }
            try write(units, to: "damaged.hevc")
            #expect(try ReceiptDocument(source, source).item("pictures").verdict == "kept")
            let receipt = try ReceiptDocument(source, path("damaged.hevc"))
            #expect(receipt.lost == ["pictures"])
            #expect(try receipt.item("pictures").sentence.contains("the parameter sets differ"))
        }

        @Test func languageAndTimecode() throws {
            try ffmpeg(
                [
                    "-i", Clips.fixture("bframes.ts").path, "-map", "0:v", "-map", "0:a", "-c", "copy",
                    "-metadata:s:a", "language=ger", "-timecode", "01:00:00:00",
                ], to: "source.mov")
            let run = try Programs.hwctl(["encode", "--copy", "--verify", path("source.mov"), path("copy.mov")])
            #expect(run.status == 0, "\(run.errors)")
            let kept = try ReceiptDocument(path("source.mov"), path("copy.mov"))
            #expect(try kept.item("timecode").verdict == "kept")
            let again = ["-i", path("copy.mov"), "-map", "0:v", "-map", "0:a", "-c", "copy"]
            try ffmpeg(again + ["-metadata:s:a", "language=eng"], to: "language.mov")
            var receipt = try ReceiptDocument(path("source.mov"), path("language.mov"))
            #expect(receipt.lost == ["audio"])
            #expect(try receipt.item("audio").sentence.hasSuffix("its language is eng, not ger"))
            try ffmpeg(again + ["-write_tmcd", "0"], to: "untimed.mov")
            receipt = try ReceiptDocument(path("source.mov"), path("untimed.mov"))
            #expect(receipt.lost == ["timecode"])
        }

        /// A requested change of the pictures hides no loss of transparency.
        @Test func alphaOfConvertedPictures() throws {
            let source = Clips.fixture("alpha_qtrle.mov").path
            try ffmpeg(["-i", source, "-vf", "lutrgb=a=255", "-c:v", "qtrle"], to: "opaque.mov")
            let run = try Programs.hwctl([
                "encode", "--preset", "ultrafast", "--alpha", "straight", path("opaque.mov"), path("flat.mov"),
            ])
            try #require(run.status == 0, "\(run.errors)")
            let receipt = try ReceiptDocument("--asked", "pictures", source, path("flat.mov"))
            #expect(receipt.lost == ["alpha"])
        }

        /// Captions of H.264, picture by picture.
        @Test func captions() throws {
            try ffmpeg(
                [
                    "-f", "lavfi", "-i", "testsrc=s=64x64:d=0.4", "-c:v", "libx264", "-bf", "0", "-x264-params",
                    "sliced-threads=0:slices=1",
                ], to: "plain.h264")
            var captioned: [[UInt8]] = []
            for unit in try units(path("plain.h264")) {
                if [1, 5].contains(unit[0] & 31) {
                    let bytes = [0x94, UInt8(truncatingIfNeeded: 0x20 + captioned.count)]
                    let message = try SEIMessage(
                        .closedCaptions(ClosedCaptions(constructs: [.init(type: 0, bytes: bytes)])))
                    captioned.append([6] + (try SEI(messages: [message]).nalUnit().dropFirst(2)))
                }
                captioned.append(unit)
            }
            try write(captioned, to: "captioned.h264")
            for name in ["plain", "captioned"] {
                try ffmpeg(
                    ["-fflags", "+genpts", "-r", "25", "-i", path("\(name).h264"), "-c", "copy"], to: "\(name).mp4")
            }
            #expect(
                try ReceiptDocument(path("captioned.mp4"), path("captioned.mp4")).item("captions").verdict == "kept"
            )
            let receipt = try ReceiptDocument(path("captioned.mp4"), path("plain.mp4"))
            #expect(receipt.lost == ["captions"])
            #expect(try receipt.item("captions").sentence == "none of 10 caption messages is there")
        }

        /// Pictures of a damaged input that nobody can decode are in neither file.
        @Test func damagedInput() throws {
            let source = Clips.fixture("bbb_720p.mp4").path
            try ffmpeg(
                ["-i", source, "-an", "-frames:v", "12", "-vf", "scale=320:-2", "-c:v", "libx264", "-g", "4"],
                to: "whole.mov")
            var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: path("whole.mov"))))
            let media = try #require(bytes.indices.first { Array(bytes[$0..<$0 + 4]) == Array("mdat".utf8) })
            // In the data of the first picture, behind its headers.
            for index in media + 2000..<media + 2200 { bytes[index] = 0xA5 }
            try Data(bytes).write(to: URL(fileURLWithPath: path("damaged.mov")))
            let receipt = try ReceiptDocument(path("damaged.mov"), path("whole.mov"))
            let frames = try receipt.item("frames")
            #expect(frames.verdict == "changed" && frames.sentence.contains("the input is damaged"), "\(frames)")
        }
    }
}
