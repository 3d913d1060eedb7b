// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

/// The checks of the repository's clips on longer and larger ones.
@Suite(.serialized, .needsMediaSet) struct MediaSetTests {
    static let native: [(String, PixelFormat)] = [
        ("sdr720_bbb_h264_aac.mp4", .yu12), ("sdr1080p60_bbb_vp8.webm", .yu12),
        ("natural_1024x768_hevc_2tracks.mp4", .yu12), ("natural_640x360_long_h264.mp4", .yu12),
        ("hdr_hlg_1080p_real.mp4", .i010), ("dovi_p7_pq_256x144.hevc", .i010),
        ("hevc_854x480_bframes.mp4", .yu12), ("hevc_854x480.ts", .yu12), ("made_sdr10bit_720p.mp4", .i010),
        ("made_pq_hdr10_720p.mov", .i010), ("made_hlg_720p.mov", .i010), ("made_240fps_720p.mp4", .yu12),
    ]
    static let converted: [(String, PixelFormat)] = [
        ("made_alpha_prores4444.mov", .i010), ("made_alpha_qtrle.mov", .yu12), ("made_odd_1366x768.mkv", .yu12),
        ("made_odd_853x480.mkv", .yu12),
    ]
    static let sources: [(String, [String])] = [
        ("hdr_hlg_1080p_real.mp4", ["v:0", "a:0"]), ("made_sdr10bit_720p.mp4", ["v:0", "a:0"]),
        ("made_pq_hdr10_720p.mov", ["v:0"]), ("made_hlg_720p.mov", ["v:0"]),
        ("natural_1024x768_hevc_2tracks.mp4", ["v:0"]), ("hevc_854x480_bframes.mp4", ["v:0"]),
    ]
    static let movies =
        native.map(\.0).filter { $0.hasSuffix(".mp4") || $0.hasSuffix(".mov") }
        + ["made_alpha_prores4444.mov", "made_two_sample_entries.mov"]
    static let damaged = Clips.names(in: "\(Clips.mediaSet ?? "")/bad").map { "bad/\($0)" }

    @Test(arguments: native)
    func directFramesMatchFFmpeg(_ name: String, _ format: PixelFormat) throws {
        try DecodingTests().directFramesMatchFFmpeg(name, format)
    }

    @Test(arguments: native + converted)
    func timestampsMatchFFprobe(_ name: String, _ format: PixelFormat) throws {
        try DecodingTests().timestampsMatchFFprobe(name, format)
    }

    @Test(arguments: converted)
    func convertedFramesAreCloseToFFmpeg(_ name: String, _ format: PixelFormat) throws {
        try DecodingTests().convertedFramesAreCloseToFFmpeg(name, format)
    }

    @Test(arguments: (native + converted).map(\.0))
    func descriptionsMatchFFprobe(_ name: String) throws { try InfoTests().descriptionsMatchFFprobe(name) }

    @Test(arguments: sources, ["mov", "mp4"])
    func packetsAndTheirTimesAreKept(_ source: (String, [String]), _ ending: String) throws {
        try WritingTests().packetsAndTheirTimesAreKept(source, ending)
    }

    @Test(arguments: movies)
    func parsingAndSerializingChangesNothing(_ name: String) throws {
        try BoxTests().parsingAndSerializingChangesNothing(name)
    }

    @Test(arguments: damaged, [false, true])
    func damagedFilesEndCleanly(_ name: String, _ usesPool: Bool) throws {
        try InputTests().damagedFilesEndCleanly(name, usesPool)
        try InfoTests().describesOrRefusesDamagedFiles(name)
        try MovieFileTests().damagedFilesAreRefusedOrKeepTheirSamples(name)
    }
}
