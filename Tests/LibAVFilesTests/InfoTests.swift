// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDLibAVReading
import HWDMetadata
import Testing

@Suite struct InfoTests {
    static let clips = DecodingTests.native.map(\.0) + DecodingTests.converted.map(\.0)

    /// ffprobe's values of one stream, by name.
    static func ffprobe(_ path: String, _ stream: Int) throws -> [String: String] {
        let data = try run(
            "ffprobe", "-v", "error", "-show_streams", "-select_streams", "\(stream)", "-of", "default=nw=1", path)
        var values: [String: String] = [:]
        for line in String(decoding: data, as: UTF8.self).split(separator: "\n") {
            let pair = line.split(separator: "=", maxSplits: 1).map(String.init)
            if pair.count == 2, values[pair[0]] == nil { values[pair[0]] = pair[1] }
        }
        return values
    }

    @Test(arguments: clips)
    func descriptionsMatchFFprobe(_ name: String) throws {
        let path = try Clips.path(name)
        let info = try MediaInfo(path: path)
        #expect(!info.video.isEmpty)
        for video in info.video {
            let theirs = try Self.ffprobe(path, video.stream)
            #expect(video.codec == theirs["codec_name"])
            #expect("\(video.width)" == theirs["width"] && "\(video.height)" == theirs["height"])
            #expect(video.pixelFormat == theirs["pix_fmt"])
            // A profile without a name is a number there.
            #expect(
                video.profile == theirs["profile"]
                    || video.profile == nil && theirs["profile"].map { $0.count < 8 } == true)
            #expect(video.pixelAspectRatio ?? "N/A" == theirs["sample_aspect_ratio"] ?? "N/A")
            #expect(video.color.transfer.name == theirs["color_transfer"] ?? "unknown")
            #expect(video.color.primaries.name == theirs["color_primaries"] ?? "unknown")
            // The average that ffprobe 7 prints of a byte stream is an option of its demuxer.
            let rate = theirs[path.hasSuffix(".hevc") ? "r_frame_rate" : "avg_frame_rate"]
            #expect(video.averageFrameRate ?? "0/0" == rate)
            #expect(video.frames.map { "\($0)" } ?? "N/A" == theirs["nb_frames"])
            if let tag = video.tag, !theirs["codec_tag_string", default: "["].contains("[") {
                #expect(tag == theirs["codec_tag_string"])
            }
            if video.codec == "hevc", let level = theirs["level"].flatMap({ Int($0) }) {
                #expect(video.level == "\(level / 30).\(level % 30 / 3)")
            }
            if let rotation = theirs["rotation"].flatMap({ Double($0) }) {
                #expect(video.rotation == (rotation < 0 ? -rotation : 360 - rotation))
            }
            #expect(video.hdr == ["smpte2084", "arib-std-b67"].contains(theirs["color_transfer"]))
        }
        #expect(info.containsHDRVideo == info.video.contains { $0.hdr })
        let json = try JSONEncoder().encode(info)
        let object = try #require(JSONSerialization.jsonObject(with: json) as? [String: Any])
        #expect(object["schema"] as? Int == 1)
        #expect(object["file"] as? String == path)
    }

    @Test func describesHDRMetadataOfBoxesAndStreams() throws {
        let (boxed, raw) = (try Clips.path("pq.mov"), try Clips.path("dolby_vision_81.hevc"))
        for path in [boxed, raw] {
            let video = try #require(try MediaInfo(path: path).video.first)
            #expect(video.contentLight?.maxContent == 1000)
            #expect(video.contentLight?.maxFrameAverage == 400)
            #expect(video.masteringDisplay?.maxLuminance == 1000)
            #expect(video.masteringDisplay?.white == [0.3127, 0.329])
        }
        // H.265's P3 primaries, as the clip was made.
        #expect(try MediaInfo(path: boxed).video[0].masteringDisplay?.red == [0.68, 0.32])
    }

    @Test(arguments: [
        ("hlg.mov", true), ("pq.mov", true), ("dolby_vision_84.mov", true), ("bbb_720p_main10.mp4", false),
        ("fps240.mp4", false),
    ])
    func detectsHDRVideo(_ name: String, _ isHDR: Bool) throws {
        #expect(try MediaInfo(path: Clips.path(name)).containsHDRVideo == isHDR)
    }

    @Test func annotationsOfAnIPhoneHaveNoFault() throws {
        let video = try MediaInfo(path: Clips.path("dolby_vision_84.mov")).video[0]
        #expect(video.annotations == ["tscl", "sync", "sdtp"])
        #expect(video.annotationFaults == nil && video.levels == nil && video.temporalLayers == 1)
    }

    @Test func describesAlphaAndLayers() throws {
        let video = try MediaInfo(path: Clips.path("bbb_alpha.mov")).video[0]
        #expect(video.layers == 2 && video.alpha == true)
        let other = try MediaInfo(path: Clips.path("hlg.mov")).video[0]
        #expect(other.layers == 1 && other.alpha == false && other.temporalLayers == 1)
        #expect(try MediaInfo(path: Clips.path("alpha_prores4444.mov")).video[0].alpha == true)
    }

    @Test func describesTheCleanAperture() throws {
        let scratch = try Scratch()
        let output = scratch.file("out.mov")
        try remux(try TrackBoxTests.clip(scratch, "854x480"), to: output) { $0.width = 853 }
        let video = try MediaInfo(path: output).video[0]
        #expect(video.tag == "hvc1" && video.width == 854)
        #expect(video.cleanAperture?.width == 853 && video.cleanAperture?.horizontalOffset == -0.5)
        let hev1 = scratch.file("hev1.mp4")
        try run("ffmpeg", "-v", "error", "-i", output, "-c", "copy", "-tag:v", "hev1", hev1)
        #expect(try MediaInfo(path: hev1).video[0].tag == "hev1")
    }

    @Test func describesOtherStreamsAndChapters() throws {
        let scratch = try Scratch()
        let info = try MediaInfo(path: try CopyingTests.rich(scratch))
        #expect(info.chapters == 2 && info.brand == "qt" && info.metadata["title"] == "A film")
        #expect(info.otherStreams.map(\.content) == ["audio", "audio", "subtitle", "data", "data"])
        #expect(info.otherStreams[1].sampleRate == 48000 && info.otherStreams[0].language == "eng")
        let sound = scratch.file("sound.m4a")
        try run("ffmpeg", "-v", "error", "-i", Clips.h264, "-vn", "-c", "copy", sound)
        #expect(try MediaInfo(path: sound).video.isEmpty)
    }

    @Test(arguments: InputTests.damaged)
    func describesOrRefusesDamagedFiles(_ name: String) throws {
        let kind = errorKind {
            let info = try MediaInfo(path: Clips.path(name))
            #expect(!info.video.isEmpty)
        }
        #expect(kind == nil || kind == .badInput || kind == .unsupported)
    }

    @Test func stillsAreNamed() throws {
        let path = try Clips.path("still.heic")
        do {
            _ = try MediaInfo(path: path)
            Issue.record("a still image was described as a video")
        } catch {
            #expect(error.kind == .unsupported && error.reason.contains("brand heic"))
        }
    }

    /// libavformat's time bases of these are those of the items of a HEIF file, too.
    @Test(arguments: ["avi", "mov"]) func aVideoOfOnePictureIsOne(_ ending: String) throws {
        let scratch = try Scratch()
        let path = scratch.file("one.\(ending)")
        let source = ["-v", "error", "-f", "lavfi", "-i", "testsrc2=size=96x64:rate=1:duration=1"]
        let scale = ending == "mov" ? ["-video_track_timescale", "1"] : []
        try run(["ffmpeg"] + source + ["-c:v", "libx264"] + scale + [path])
        #expect(try MediaInfo(path: path).video.map(\.width) == [96])
        #expect(try MediaReader(path: path).video.width == 96)
    }

    @Test func missingFilesAreNoInput() throws {
        let scratch = try Scratch()
        #expect(errorKind { _ = try MediaInfo(path: scratch.file("none.mov")) } == .noInput)
        #expect(errorKind { _ = try MediaInfo(path: scratch.path) } == .noInput)
    }
}
