// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWClient
import HWDModel
import Testing

extension EndToEnd {
    /// A finished compression session, and what it was given.
    struct EncodedRun {
        let encoder: Encoder
        let raw: RawFrames

        /// Checks that no frame is lost, that times are right, and that ffmpeg and libde265 decode every frame, alike and
        /// without a message, with a PSNR of 30 dB or more.
        ///
        /// libde265 loses the pictures before a repeated SPS, to which leading pictures of open groups refer: of these only
        /// the number is compared.
        func check(_ name: Comment, hasOpenGroups: Bool = false) throws {
            let count = raw.frames.count
            #expect(encoder.coded.map(\.description.pts).sorted() == (0..<Int64(count)).map { $0 }, name)
            #expect(encoder.coded.map(\.description.frameID).sorted() == (0..<UInt64(count)).map { $0 }, name)
            let times = encoder.coded.map(\.description.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(name): \(times)")
            #expect(encoder.coded.allSatisfy { $0.description.dts <= $0.description.pts }, name)

            let folder = try Scratch()
            let (stream, output) = (folder.path("stream.hevc"), folder.path("libde265.yuv"))
            let movie = folder.path("movie.mov")
            try encoder.write(to: stream)
            try encoder.write(to: movie)
            // FFmpeg 5.1 takes slices of alpha layers in raw streams for access units, and says that they have no picture.
            let ffmpeg = try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", raw.format.hasAlpha ? movie : stream, "-f", "rawvideo", "-pix_fmt",
                    "yuv420p", "-fps_mode",
                    "passthrough", "-",
                ])
            #expect(ffmpeg.errors == "", name)
            #expect(ffmpeg.output.count == count * raw.width * raw.height * 3 / 2, name)
            try Programs.tool("libde265-dec265", ["-q", "-o", output, stream])
            let other = try [UInt8](Data(contentsOf: URL(fileURLWithPath: output)))
            // Without the values of the expression, because the difference of such arrays takes minutes.
            let isSame = hasOpenGroups ? other.count == ffmpeg.output.count : other == ffmpeg.output
            #expect(isSame, name)
            let worst = worstQuality(of: ffmpeg.output)
            #expect(worst >= 30, "\(name): \(worst) dB")
            #expect(try Probe(movie).decodingMessages() == "", name)
            #expect(try Probe(movie).frameTimes().count == count, name)
        }

        /// The lowest PSNR of a frame's luma.
        private func worstQuality(of decoded: [UInt8]) -> Double {
            let size = raw.width * raw.height
            return raw.frames.indices.map { index in
                let start = index * size * 3 / 2
                guard start + size <= decoded.count else { return 0 }
                var sum = 0
                raw.frames[index].withUnsafeBufferPointer { source in
                    decoded.withUnsafeBufferPointer { result in
                        for sample in 0..<size {
                            let difference = Int(source[sample]) - Int(result[start + sample])
                            sum += difference * difference
                        }
                    }
                }
                return sum == 0 ? .infinity : 10 * log10(255 * 255 * Double(size) / Double(sum))
            }.min() ?? 0
        }
    }
}
