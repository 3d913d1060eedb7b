// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

extension EndToEnd {
    /// Damaged outputs, each made from one that loses nothing: `hwctl verify` names the damage.
    @Suite struct Damage {
        let folder: Scratch

        init() throws { folder = try Scratch() }

        private func path(_ name: String) -> String { folder.path(name) }

        private func ffmpeg(_ arguments: [String], to name: String) throws {
            try Programs.tool("ffmpeg", ["-v", "error", "-y"] + arguments + [path(name)])
        }

        /// A source with sound, rotation, two chapters and a title, and an honest output of it.
        private func makePair() throws {
            let chapters = """
                ;FFMETADATA1
                title=A clip
                [CHAPTER]
                TIMEBASE=1/1000
                START=0
                END=400
                title=One
                [CHAPTER]
                TIMEBASE=1/1000
                START=400
                END=1200
                title=Two
                """
            try chapters.write(toFile: path("chapters.txt"), atomically: false, encoding: .utf8)
            try ffmpeg(
                [
                    "-i", Clips.fixture("bframes.mp4").path, "-f", "lavfi", "-i", "sine=f=440:d=1.2", "-i",
                    path("chapters.txt"), "-map", "0:v", "-map", "1:a", "-map_metadata", "2", "-map_chapters", "2",
                    "-c:v", "copy", "-c:a", "aac", "-metadata:s:v", "rotate=90",
                ], to: "source.mov")
            let run = try Programs.hwctl([
                "encode", "--preset", "ultrafast", "--verify", path("source.mov"), path("honest.mov"),
            ])
            try #require(run.status == 0, "\(run.errors)")
        }

        /// What the receipt of a damaged output says.
        private func receipt(_ name: String, of source: String = "source.mov") throws -> ReceiptDocument {
            try ReceiptDocument(path(source), path(name))
        }

        @Test func pictures() throws {
            try makePair()
            #expect(try receipt("honest.mov").lost == [])
            let cases: [(filter: String, lost: [String], item: String, words: String)] = [
                ("select=not(eq(n\\,7))", ["frames"], "frames", "1 of 30 frames is dropped, at 0.280 s"),
                (
                    "select=not(eq(n\\,7)),setpts=N/25/TB", ["frames", "pictures"], "pictures",
                    "from 0.280 s on are one frame early: a picture is missing"
                ),
                (
                    "loop=loop=1:size=1:start=7,setpts=N/25/TB", ["frames", "pictures"], "pictures",
                    "one frame late: a picture is repeated"
                ),
                (
                    "shuffleframes=0 1 2 4 3 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29",
                    ["pictures"], "pictures", "the pictures at 0.120 s and 0.160 s are exchanged"
                ),
                (
                    "lutyuv=y=128:u=128:v=128:enable='eq(n,5)'", ["pictures"], "pictures",
                    "the picture at 0.200 s is replaced by a uniform area"
                ),
            ]
            for (index, damage) in cases.enumerated() {
                let name = "damaged\(index).mov"
                try ffmpeg(
                    [
                        "-noautorotate", "-i", path("honest.mov"), "-c:v", "libx265", "-preset", "ultrafast",
                        "-x265-params", "log-level=0", "-c:a", "copy", "-fps_mode", "passthrough", "-vf",
                        damage.filter,
                    ], to: name)
                let receipt = try receipt(name)
                #expect(receipt.lost == damage.lost, "\(damage.filter)")
                #expect(try receipt.item(damage.item).sentence.contains(damage.words), "\(receipt.items)")
            }
        }

        /// A frame that is doubled between two others keeps all times.
        @Test func doubledBetweenOthers() throws {
            try makePair()
            try ffmpeg(
                [
                    "-noautorotate", "-i", path("honest.mov"), "-c:v", "libx265", "-preset", "ultrafast",
                    "-x265-params",
                    "log-level=0", "-c:a", "copy", "-fps_mode", "passthrough", "-enc_time_base", "1/50", "-vf",
                    "settb=1/50,loop=loop=1:size=1:start=7,setpts='if(lte(N,7),2*N,if(eq(N,8),15,2*(N-1)))'",
                ], to: "doubled.mov")
            let receipt = try receipt("doubled.mov")
            #expect(receipt.lost == ["frames"])
            #expect(try receipt.item("frames").sentence == "1 frame is doubled, at 0.300 s")
        }

        @Test func soundAndContainer() throws {
            try makePair()
            let (again, copy) = (["-noautorotate", "-i", path("honest.mov")], ["-c", "copy"])
            let streams = ["-map", "0:v", "-map", "1:a"]
            let cases: [(arguments: [String], lost: String, words: String)] = [
                (["-itsoffset", "0.3"] + again + streams, "audio", "late"),
                (["-t", "0.7"] + again + streams, "audio", "it ends at 0.720 s instead of 1.200 s"),
                (["-map", "0:v"], "audio", "the output does not have it"),
                (
                    ["-map", "0:v", "-map", "0:a", "-metadata:s:v", "rotate=0"], "rotation",
                    "turned by 0°, not by 270°"
                ),
                (["-map", "0:v", "-map", "0:a", "-metadata", "title=Another"], "metadata", "1 of 1 key"),
            ]
            for (index, damage) in cases.enumerated() {
                let name = "damaged\(index).mov"
                try ffmpeg(again + damage.arguments + copy, to: name)
                let receipt = try receipt(name)
                #expect(receipt.lost == [damage.lost])
                #expect(try receipt.item(damage.lost).sentence.contains(damage.words), "\(receipt.items)")
            }
            try ";FFMETADATA1\ntitle=A clip\n[CHAPTER]\nTIMEBASE=1/1000\nSTART=0\nEND=1200\ntitle=One\n"
                .write(toFile: path("one.txt"), atomically: false, encoding: .utf8)
            try ffmpeg(again + ["-i", path("one.txt"), "-map_chapters", "1"] + copy, to: "chapters.mov")
            let receipt = try receipt("chapters.mov")
            #expect(receipt.lost == ["chapters"])
            #expect(try receipt.item("chapters").details == ["\"Two\" at 0.400 s"])
        }
    }
}
