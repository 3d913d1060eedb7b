// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDEncoderTesting
import HWDHEVC
import Testing

extension EndToEnd {
    /// Alpha that is flat at first: its pictures are written without an encoder, in hardware and in software.
    @Suite struct FlatAlpha {
        private static let frames = 98
        private static let flatFrames = 90
        private static let size = (width: 192, height: 108)

        static let structures: [[String]] = [
            [], ["--property", "AllowOpenGOP=false", "--keyframe-interval", "16"],
            ["--property", "AllowFrameReordering=false"],
            ["--base-layer-frame-rate", "25", "--expected-frame-rate", "100"],
        ]

        @Test(
            "Flat alpha is exact, and its end is a key frame",
            arguments: sampled(pairs(["off", "require"], structures), oneIn: 3))
        func change(hardware: String, structure: [String]) throws {
            let server = try Hardware.daemon("intel-lp")
            let mask =
                "geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='if(lt(N,\(Self.flatFrames)),200,clip(255-6*(hypot(X-W/3,Y-H/2)-30),0,255))'"
            let (clip, output) = (server.folder.path("clip.mov"), server.folder.path("out.mov"))
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-f", "lavfi", "-i", "testsrc2=size=192x108:rate=25,format=rgba,\(mask)",
                    "-frames:v", "\(Self.frames)", "-c:v", "qtrle", "-pix_fmt", "argb", clip,
                ])
            let run = try Programs.hwctl(
                ["encode", "--alpha", "straight", "--hardware", hardware, "--speed", "fast"] + structure + [
                    clip, output,
                ],
                socket: server.socket)
            try #require(run.status == 0, "\(run.errors)")
            let layers = try Alpha.Layers(output)
            try #require(layers.samples.count == Self.frames)
            let (stream, decoded) = (server.folder.path("alpha.hevc"), server.folder.path("alpha.yuv"))
            try Data(try layers.stream(1)).write(to: URL(fileURLWithPath: stream))
            try Programs.tool(
                "ffmpeg", ["-v", "error", "-i", stream, "-f", "rawvideo", "-pix_fmt", "yuvj420p", decoded])
            let planes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: decoded)))
            let frame = Self.size.width * Self.size.height * 3 / 2
            try #require(planes.count == Self.frames * frame)
            let reference = try Programs.tool(
                "ffmpeg",
                ["-v", "error", "-i", clip, "-vf", "alphaextract", "-f", "rawvideo", "-pix_fmt", "gray", "-"]
            ).output
            let luma = Self.size.width * Self.size.height
            for index in 0..<Self.frames {
                let alpha = planes[(index * frame)..<(index * frame + luma)]
                let original = reference[(index * luma)..<((index + 1) * luma)]
                if index < Self.flatFrames {
                    #expect(alpha.elementsEqual(original), "frame \(index) is not exact")
                } else {
                    let error = zip(alpha, original).reduce(0) { sum, pair in
                        sum + (Int(pair.0) - Int(pair.1)) * (Int(pair.0) - Int(pair.1))
                    }
                    #expect(error < 2 * luma, "frame \(index)")
                }
            }
            // Written by an encoder, pictures of this alpha would be larger.
            let sizes = try layers.samples.map { sample in
                try sample.filter { try NALUnitHeader(nal: $0).nuhLayerId == 1 }.map(\.count).reduce(0, +)
            }
            #expect(sizes.count { $0 < 64 } >= Self.flatFrames)
        }
    }
}
