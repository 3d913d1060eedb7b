// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

/// A file of four seconds whose pictures have numbers, which are read from decoded samples, with noise.
struct NumberedClip: Sendable, CustomTestStringConvertible {
    var name: String
    var rate = 25
    /// ffmpeg's options of the video.
    var video: [String]
    /// Filters of the pictures, each behind a comma.
    var filter = ""
    /// Where an edit list begins, in seconds; nil without one.
    var editStart: Double?
    var testDescription: String { name }

    private static let x264 = ["-c:v", "libx264", "-preset", "veryfast", "-pix_fmt", "yuv420p", "-g", "60"]

    /// B frames, an open GOP, an edit list, a variable rate, slow motion, and alpha.
    static let all = [
        NumberedClip(name: "bframes.mp4", video: x264 + ["-bf", "3"]),
        NumberedClip(
            name: "opengop.mkv",
            video: [
                "-c:v", "libx265", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-x265-params",
                "log-level=none:keyint=50:min-keyint=50:scenecut=0:open-gop=1:bframes=4",
            ]),
        NumberedClip(name: "edits.mov", video: x264 + ["-bf", "2"], editStart: 0.52),
        NumberedClip(
            name: "variable.mkv", video: x264 + ["-bf", "3", "-fps_mode", "vfr"],
            filter: ",select=not(eq(mod(n\\,7)\\,3)+eq(mod(n\\,11)\\,5))"),
        NumberedClip(name: "fast.mp4", rate: 240, video: x264 + ["-bf", "3", "-video_track_timescale", "24000"]),
        NumberedClip(
            name: "alpha.mov", video: ["-c:v", "prores_ks", "-profile:v", "4444", "-pix_fmt", "yuva444p10le"],
            // White stays brighter than half where it is multiplied by alpha.
            filter: ",format=yuva444p10le,geq=lum='p(X\\,Y)':cb=512:cr=512:a='768+mod(16*N\\,192)+32*gt(X\\,127)'"),
    ]

    /// Whether the pictures have alpha, which varies.
    var hasAlpha: Bool { name == "alpha.mov" }

    /// The mean alpha of a picture of `alpha.mov` in 8 bits.
    static func meanAlpha(_ number: Int) -> Double { Double(768 + 16 * number % 192 + 16) * 255 / 1023 }

    /// Makes the file; a number is 16 bits, as black and white columns of 16 samples.
    func make(in folder: Scratch) throws {
        let bits = "geq=lum='16+219*mod(floor(N/pow(2\\,floor(X/16)))\\,2)':cb=128:cr=128"
        try Programs.tool(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i",
                "color=size=256x32:rate=\(rate):duration=4,format=yuv444p,\(bits)\(filter)",
                "-f", "lavfi", "-i", "anoisesrc=color=pink:seed=5:duration=4:sample_rate=48000",
            ] + video + ["-c:a", "aac", "-b:a", "192k", folder.path(editStart == nil ? name : "whole-\(name)")])
        if let editStart {
            // A copy hides the pictures behind the key frame by an edit list.
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-ss", "\(editStart)", "-i", folder.path("whole-\(name)"), "-c", "copy",
                    folder.path(name),
                ])
        }
    }

    /// The numbers of the pictures that ffmpeg shows.
    ///
    /// - Parameter seeking: its options before the input, such as `-ss 1.5`.
    static func numbers(_ path: String, _ seeking: [String] = []) throws -> [Int] {
        let samples = try Programs.tool(
            "ffmpeg",
            ["-v", "error"] + seeking + [
                "-i", path, "-map", "0:v", "-fps_mode", "passthrough", "-f", "rawvideo", "-pix_fmt", "gray", "-",
            ]
        ).output
        return stride(from: 0, to: samples.count, by: 256 * 32).map { start in
            (0..<16).reduce(0) { $0 | (samples[start + 16 * 256 + $1 * 16 + 8] > 128 ? 1 << $1 : 0) }
        }
    }
}
