// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDBoxes
import HWDLibAVReading
import HWDLibAVWriting
import HWDMetadata
import HWDModel
import Testing

/// A file's boxes, parsed independently of the code under test.
struct BoxWalk {
    /// Bodies by path, as `moov/trak/tkhd`; the first of each.
    private(set) var bodies: [String: [UInt8]] = [:]

    private static let inside: [String: Int] = [
        "moov": 0, "trak": 0, "mdia": 0, "minf": 0, "stbl": 0, "edts": 0, "stsd": 8, "hvc1": 78,
    ]

    init(_ path: String) throws { walk([UInt8](try Data(contentsOf: URL(filePath: path)))[...], "") }

    private mutating func walk(_ bytes: ArraySlice<UInt8>, _ parent: String) {
        var rest = bytes
        while rest.count >= 8 {
            let size = rest.prefix(4).reduce(0) { $0 << 8 | Int($1) }
            let type = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
            guard size >= 8, size <= rest.count else { break }
            let body = rest.dropFirst(8).prefix(size - 8)
            let name = parent.isEmpty ? type : "\(parent)/\(type)"
            if bodies[name] == nil { bodies[name] = Array(body) }
            if let fields = Self.inside[type] { walk(body.dropFirst(fields), name) }
            rest = rest.dropFirst(size)
        }
    }

    subscript(name: String) -> [UInt8]? { bodies[name] }

    /// The body of a box of the video's sample entry.
    func entry(_ type: String) -> [UInt8]? { bodies["moov/trak/mdia/minf/stbl/stsd/hvc1/\(type)"] }

    static func numbers(_ bytes: [UInt8]) -> [Int32] {
        stride(from: 0, to: bytes.count, by: 4).map { place in
            Int32(bitPattern: bytes[place..<place + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) })
        }
    }
}

@Suite struct TrackBoxTests {
    /// An HEVC file of this size, from ffmpeg.
    static func clip(_ scratch: Scratch, _ size: String, _ options: [String] = [], _ name: String = "in.mp4") throws
        -> String
    {
        let path = scratch.file(name)
        let parameters = ["-x265-params", "log-level=none" + (options.first.map { ":\($0)" } ?? "")]
        try run(
            [
                "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=\(size):d=0.2", "-c:v", "libx265",
                "-preset",
            ]
                + ["ultrafast", "-tag:v", "hvc1"] + parameters + options.dropFirst() + [path])
        return path
    }

    /// The displayed picture is one sample narrower or lower, or both, than the coded one.
    @Test(
        arguments: ["mov", "mp4"],
        [(853, 480), (854, 479), (853, 479), (854, 480)] as [(Int, Int)])
    func writesTheDisplayedSize(_ ending: String, _ size: (Int, Int)) throws {
        let scratch = try Scratch()
        let input = try Self.clip(scratch, "854x480")
        let output = scratch.file("out.\(ending)")
        try remux(input, to: output) { ($0.width, $0.height) = size }
        let walk = try BoxWalk(output)
        let (width, height) = (Int32(size.0), Int32(size.1))
        let header = try #require(walk["moov/trak/tkhd"])
        #expect(BoxWalk.numbers(Array(header.suffix(8))) == [width << 16, height << 16])
        // The sample entry and ffprobe have the coded size.
        let entry = try #require(walk["moov/trak/mdia/minf/stbl/stsd/hvc1"])
        #expect(Array(entry[24..<28]) == [854 >> 8, 854 & 255, 480 >> 8, 480 & 255])
        let rows = try probe(output, "-show_entries", "stream=width,height,sample_aspect_ratio")
        #expect(rows.first?.prefix(2) == ["854", "480"])
        #expect(["1:1", "N/A"].contains(rows.first?.dropFirst(2).first))
        let aperture = walk.entry("clap").map(BoxWalk.numbers)
        if size == (854, 480) {
            #expect(aperture == nil)
        } else {
            // The aperture's center is half a sample to the left of the picture's for each sample that is cropped.
            let across: [Int32] = width == 853 ? [-1, 2] : [0, 1]
            let down: [Int32] = height == 479 ? [-1, 2] : [0, 1]
            #expect(aperture == [width, 1, height, 1] + across + down)
            #expect(walk.entry("pasp").map(BoxWalk.numbers) == [1, 1])
        }
        try run("ffmpeg", "-v", "error", "-xerror", "-i", output, "-f", "null", "-")
        // The reader returns it, and the next output keeps it.
        let again = try MediaReader(path: output).video
        #expect(again.shownSize == "\(width)x\(height)")
        let next = scratch.file("next.\(ending)")
        try remux(output, to: next)
        #expect(try BoxWalk(next).entry("clap") == walk.entry("clap"))
        #expect(try Array(#require(BoxWalk(next)["moov/trak/tkhd"]).suffix(8)) == Array(header.suffix(8)))
    }

    @Test(arguments: [("mov", 853), ("mp4", 1137)])
    func trackSizesFollowTheContainer(_ ending: String, _ width: Int32) throws {
        let scratch = try Scratch()
        let output = scratch.file("out.\(ending)")
        try remux(try Self.clip(scratch, "854x480"), to: output) { track in
            track.width = 853
            track.sampleAspectRatio = Rational(4, 3)
        }
        let header = try #require(BoxWalk(output)["moov/trak/tkhd"])
        // 853 · 4/3 = 1137⅓ where libavformat writes the aspect into the track header: in .mp4.
        #expect(BoxWalk.numbers(Array(header.suffix(8)))[0] >> 16 == width)
        #expect(try MediaReader(path: output).video.sampleAspectRatio == Rational(4, 3))
    }

    @Test func writesAperturesAnywhereInside() throws {
        let scratch = try Scratch()
        let output = scratch.file("out.mov")
        try remux(try Self.clip(scratch, "854x480"), to: output) { track in
            track.cleanAperture = CleanAperture(
                width: Rational(704), height: Rational(400), horizontalOffset: Rational(10),
                verticalOffset: Rational(-5))
        }
        let walk = try BoxWalk(output)
        #expect(walk.entry("clap").map(BoxWalk.numbers) == [704, 1, 400, 1, 10, 1, -5, 1])
        #expect(BoxWalk.numbers(Array(try #require(walk["moov/trak/tkhd"]).suffix(8))) == [704 << 16, 400 << 16])
    }

    /// ISO/IEC 14496-12 12.1.4.1: offsets are from the picture's center to the aperture's.
    @Test func aperturesAreMadeFromTheirCorner() {
        let left = CleanAperture(x: 13, y: 40, width: 800, height: 400, ofCodedWidth: 854, codedHeight: 480)
        #expect(left?.horizontalOffset == Rational(-14) && left?.verticalOffset == Rational(0))
        let right = CleanAperture(x: 1, width: 853, height: 480, ofCodedWidth: 854, codedHeight: 480)
        #expect(right?.horizontalOffset == Rational(1, 2))
        for (x, width, coded) in [
            (2, 853, 854), (0, 0, 854), (-1, 4, 854), (0, 855, 854), (0, 1, 0), (0, 1, 70_000),
        ] {
            #expect(CleanAperture(x: x, width: width, height: 2, ofCodedWidth: coded, codedHeight: 2) == nil)
        }
    }

    @Test func refusesAperturesOutsideTheStream() throws {
        let scratch = try Scratch()
        let input = try Self.clip(scratch, "128x96")
        func refuses(_ change: (inout VideoTrack) -> Void) -> MediaError.Kind? {
            errorKind { try remux(input, to: scratch.file("out.mov"), change: change) }
        }
        #expect(refuses { $0.width = 130 } == .usage)
        #expect(refuses { $0.masteringDisplay = [1, 2, 3] } == .usage)
        #expect(refuses { $0.contentLight = [] } == .usage)
        for (width, offset) in [(129, 0), (128, 1), (0, 0), (-4, 0)] as [(Int32, Int32)] {
            let kind = refuses {
                $0.cleanAperture = CleanAperture(
                    width: Rational(width), height: Rational(96), horizontalOffset: Rational(offset),
                    verticalOffset: Rational(0))
            }
            #expect(kind == .usage, "\(width) \(offset)")
        }
        #expect(scratch.contents == ["in.mp4"])
    }

    @Test func warnsAboutOddSizesInRawStreams() throws {
        let scratch = try Scratch()
        let input = scratch.file("odd.mkv")
        try run(
            "ffmpeg", "-v", "error", "-f", "lavfi", "-i", "color=s=33x17:d=0.1,format=yuv444p", "-c:v", "ffv1",
            input)
        let reader = try MediaReader(path: input)
        #expect((reader.video.width, reader.video.height) == (33, 17))
        let notes = try MediaWriter(path: scratch.file("out.hevc"), source: reader).notes
        #expect(notes.count == 1 && notes[0].hasPrefix("warning:") && notes[0].contains("shows 34x18, not 33x17"))
        #expect(try MediaWriter(path: scratch.file("out.mov"), source: reader).notes.isEmpty)
    }

    // The P3 display and the light levels that x265's documentation gives as its example.
    static let hdr = [
        "hdr10=1:repeat-headers=1:master-display=G(13250,34500)B(7500,3000)R(34000,16000)WP(15635,16450)"
            + "L(10000000,1):max-cll=1000,400:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc",
        "-pix_fmt", "yuv420p10le",
    ]
    static let display: [Int] = [13250, 34500, 7500, 3000, 34000, 16000, 15635, 16450]
    static let sideData =
        "stream_side_data=red_x,green_y,white_point_x,max_luminance,min_luminance,max_content,max_average"

    /// From SEI messages of a raw stream into both containers and back.
    @Test(arguments: ["mov", "mp4"])
    func copiesHDRMetadataOfTheFirstFrame(_ ending: String) throws {
        let scratch = try Scratch()
        let raw = try Self.clip(scratch, "128x96", Self.hdr, "in.hevc")
        let video = try MediaReader(path: raw).video
        let luminance: [UInt8] = [0, 0x98, 0x96, 0x80, 0, 0, 0, 1]
        let display =
            Self.display.flatMap { (value: Int) -> [UInt8] in [UInt8(value >> 8), UInt8(value & 255)] } + luminance
        #expect(video.masteringDisplay == display)
        let light: [UInt8] = [0x03, 0xE8, 0x01, 0x90]
        #expect(video.contentLight == light)
        let output = scratch.file("out.\(ending)")
        let input = try Self.clip(scratch, "128x96")
        try remux(input, to: output) { track in
            track.masteringDisplay = video.masteringDisplay
            track.contentLight = video.contentLight
        }
        let walk = try BoxWalk(output)
        #expect(walk.entry("mdcv") == display)
        #expect(walk.entry("clli") == light)
        let rows = try probe(output, "-show_entries", Self.sideData).joined().filter {
            $0.contains(where: \.isNumber)
        }
        #expect(
            rows == ["34000/50000", "34500/50000", "15635/50000", "1/10000", "10000000/10000", "1000", "400"],
            "\(rows)")
        // From the container, without decoding.
        let again = try MediaReader(path: output).video
        #expect(again.masteringDisplay == display && again.contentLight == light)
    }

    @Test func writesNoHDRMetadataWithoutAny() throws {
        let scratch = try Scratch()
        let output = scratch.file("out.mov")
        try remux(Clips.hevc10, to: output)
        let walk = try BoxWalk(output)
        #expect(walk.entry("mdcv") == nil && walk.entry("clli") == nil && walk.entry("clap") == nil)
        let video = try MediaReader(path: output).video
        #expect(video.masteringDisplay == nil && video.contentLight == nil && video.cleanAperture == nil)
    }

    /// A profile describes samples of one color: it is left out where the parameter sets change to another one.
    @Test func anotherColorHasNoProfile() throws {
        let scratch = try Scratch()
        let colors = ["bt709:transfer=bt709:colormatrix=bt709", "bt2020:transfer=smpte2084:colormatrix=bt2020nc"]
        let stream = try SampleEntryTests.stream(scratch, colors.map { "colorprim=\($0)" })
        let (source, output, again) = (scratch.file("in.mov"), scratch.file("out.mov"), scratch.file("again.mov"))
        // In an hev1 track the parameter sets stay in the samples.
        try run("ffmpeg", "-v", "quiet", "-i", stream, "-c", "copy", "-tag:v", "hev1", source)
        let profile = Box("colr", Array("prof".utf8) + [UInt8](repeating: 7, count: 132))
        try MovieFileTests.finish(source) { movie throws(BoxError) in
            let index = movie.children.firstIndex { $0.type == "trak" } ?? 0
            try movie.children[index].edit(Box.sampleTablePath + ["stsd"]) { list throws(BoxError) in
                list.children[0].children.append(profile)
            }
        }
        try LevelTests.copy(source, to: output)
        try LevelTests.copy(output, to: again)
        for path in [output, again] {
            let entries = try #require(try LevelTests.table(path).first("stsd")).children
            #expect(entries.map { $0.children.filter { $0 == profile }.count } == [1, 0])
            #expect(try MediaReader(path: path).video.profileVaries)
        }
        #expect(try !MediaReader(path: source).video.profileVaries)
    }

    /// A track with two sample entries, the first with a profile; chunks of one sample use the entries of these numbers.
    private static func profiles(_ entries: [UInt8], isFragmented: Bool) -> SourceBoxes {
        func full(_ type: FourCC, _ numbers: [UInt8]) -> Box {
            Box(type, [0, 0, 0, 0] + numbers.flatMap { [0, 0, 0, $0] })
        }
        let profile = Box("colr", Array("prof".utf8) + [UInt8](repeating: 7, count: 132))
        let head = [UInt8](repeating: 0, count: 78)
        let described = Box(
            "stsd", fields: [0, 0, 0, 0, 0, 0, 0, 2],
            children: [Box("hvc1", fields: head, children: [profile]), Box("hvc1", fields: head, children: [])])
        let count = UInt8(entries.count)
        var groups: [UInt8] = []
        for (index, entry) in entries.enumerated() { groups += [UInt8(index + 1), 1, entry] }
        let table = Box(
            "stbl",
            children: [described, full("stsc", [count] + groups), full("stco", [count] + entries.map { 8 * $0 })])
        let media = Box("mdia", children: [Box("minf", children: [table])])
        let track = Box("trak", children: [full("tkhd", [0, 0, 1, 0]), media])
        return SourceBoxes(
            movie: Box("moov", children: [track] + (isFragmented ? [Box("mvex", children: [])] : [])))
    }

    @Test func theProfilesOfUnusedEntriesDoNotCount() {
        #expect(Self.profiles([1, 2, 1], isFragmented: false).profileVaries(track: 1))
        #expect(Self.profiles([1, 2, 1], isFragmented: false).entryRuns(track: 1).count == 3)
        #expect(!Self.profiles([1, 1], isFragmented: false).profileVaries(track: 1))
        #expect(Self.profiles([1, 1], isFragmented: false).sampleEntries(track: 1).count == 1)
        // The fragments that name the entries are not read.
        #expect(!Self.profiles([], isFragmented: true).profileVaries(track: 1))
        #expect(Self.profiles([], isFragmented: true).sampleEntries(track: 1).count == 2)
        #expect(Self.profiles([], isFragmented: true).profile(track: 1)?.count == 132)
    }
}
