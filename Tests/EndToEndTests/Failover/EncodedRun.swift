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
        /// without a message, with a PSNR of 30 dB or more; of an alpha layer, too.
        ///
        /// - Returns: the PSNR of each frame's luma in dB.
        @discardableResult
        func check(_ name: Comment, hasOpenGroups: Bool = false) throws -> [Double] {
            checkPackets(name, hasOpenGroups: hasOpenGroups)
            let folder = try Scratch()
            let movie = folder.path("movie.mov")
            try encoder.write(to: movie)
            try encoder.write(to: folder.path("stream.hevc"))
            let decoded = try decode(movie, in: folder, name)
            try compareWithLibde265(decoded, in: folder, name, hasOpenGroups: hasOpenGroups)
            if raw.format.hasAlpha { try checkAlpha(in: folder, name) }
            return try qualities(folder.path("psnr"), name)
        }

        private func checkPackets(_ name: Comment, hasOpenGroups: Bool) {
            let packets = encoder.coded.map(\.description)
            let count = raw.frames.count
            #expect(packets.map(\.pts).sorted() == (0..<Int64(count)).map { $0 }, name)
            #expect(packets.map(\.frameID).sorted() == (0..<UInt64(count)).map { $0 }, name)
            let times = packets.map(\.dts)
            #expect(zip(times, times.dropFirst()).allSatisfy { $0 < $1 }, "\(name): \(times)")
            #expect(packets.allSatisfy { $0.dts <= $0.pts }, name)
            for (index, packet) in packets.enumerated() where packet.flags.contains(.sync) && !hasOpenGroups {
                #expect(
                    packets[index...].allSatisfy { $0.pts >= packet.pts }, "\(name): \(packet.pts) is not closed")
            }
        }

        /// Decodes the movie, and the stream where ffmpeg can, by one ffmpeg, which also compares the frames.
        ///
        /// FFmpeg 5.1 takes slices of alpha layers in raw streams for access units, and says that they have no picture.
        /// - Returns: the path of the frames of the movie.
        private func decode(_ movie: String, in folder: Scratch, _ name: Comment) throws -> String {
            let (decoded, other) = (folder.path("movie.yuv"), folder.path("stream.yuv"))
            let output = [
                "-fps_mode", "passthrough", "-enc_time_base", "-1", "-pix_fmt", "yuv420p", "-f", "rawvideo",
            ]
            var inputs = ["-i", movie] + raw.ffmpegInput
            var outputs = ["-map", "0:v:0"] + output + [decoded]
            if !raw.format.hasAlpha {
                inputs += ["-i", folder.path("stream.hevc")]
                outputs += ["-map", "2:v:0"] + output + [other]
            }
            try compare(inputs, "format=yuv420p", "format=yuv420p", to: folder.path("psnr"), outputs, name)
            let size = try FileManager.default.attributesOfItem(atPath: decoded)[.size] as? Int
            #expect(size == raw.frames.count * raw.width * raw.height * 3 / 2, name)
            #expect(raw.format.hasAlpha || FileManager.default.contentsEqual(atPath: decoded, andPath: other), name)
            return decoded
        }

        /// Writes the PSNR of each frame of ffmpeg's first input, against the second, to a file.
        private func compare(
            _ inputs: [String], _ first: String, _ second: String, to file: String, _ outputs: [String],
            _ name: Comment
        ) throws {
            // Paired by number.
            let same = "settb=1/30,setpts=N"
            let graph = "[0:v:0]\(same),\(first)[a];[1:v:0]\(same),\(second)[b];[a][b]psnr=stats_file=\(file)[p]"
            let ffmpeg = try Programs.tool(
                "ffmpeg",
                ["-y", "-v", "warning"] + inputs + ["-filter_complex", graph, "-map", "[p]", "-f", "null", "-"]
                    + outputs)
            // Its reader of raw frames says this of every file.
            let messages = ffmpeg.errorLines.filter { !$0.contains("Estimating duration from bitrate") }
            #expect(messages.isEmpty, "\(name): \(messages)")
        }

        /// libde265 1.0.11 loses the pictures before an SPS that is repeated, to which leading pictures of open groups refer (x265's
        /// own streams show it); it gets parameter sets only where they change.
        private func compareWithLibde265(
            _ decoded: String, in folder: Scratch, _ name: Comment, hasOpenGroups: Bool
        ) throws {
            let (stream, output) = (folder.path("stream.hevc"), folder.path("libde265.yuv"))
            if hasOpenGroups { try Data(layer(0)).write(to: URL(fileURLWithPath: stream)) }
            let run = try Programs.tool("libde265-dec265", ["-q", "-o", output, stream])
            let messages = run.errorLines.filter { !$0.hasPrefix("nFrames decoded:") }
            #expect(messages.isEmpty, "\(name): libde265 says \(Set(messages))")
            #expect(FileManager.default.contentsEqual(atPath: decoded, andPath: output), name)
        }

        /// Compares the alpha layer, decoded as a stream of its own.
        private func checkAlpha(in folder: Scratch, _ name: Comment) throws {
            let (stream, file) = (folder.path("alpha.hevc"), folder.path("alpha-psnr"))
            try Data(layer(1)).write(to: URL(fileURLWithPath: stream))
            try compare(["-i", stream] + raw.ffmpegInput, "extractplanes=y", "alphaextract", to: file, [], name)
            try qualities(file, "\(name), alpha")
        }

        /// One layer as a stream of layer 0, with parameter sets at the start and where they change.
        private func layer(_ number: Int) throws -> [UInt8] {
            let starts = Set(encoder.records.keys).union([0]).sorted()
            var stream: [UInt8] = []
            for (index, start) in starts.enumerated() {
                let end = index + 1 < starts.count ? starts[index + 1] : encoder.coded.count
                stream += try Alpha.Layers(
                    record: encoder.records[start] ?? encoder.record,
                    packets: encoder.coded[start..<end].map(\.bytes)
                ).stream(number)
            }
            return stream
        }

        /// The PSNR of each frame's luma, of which none may be below 30 dB.
        @discardableResult
        private func qualities(_ file: String, _ name: Comment) throws -> [Double] {
            let lines = try String(contentsOfFile: file, encoding: .utf8).split(separator: "\n")
            let component = "psnr_y:"
            let values = try lines.map { line in
                let word = try #require(line.split(separator: " ").first { $0.hasPrefix(component) }, "\(line)")
                return try #require(Double(word.dropFirst(component.count)))
            }
            #expect(values.count == raw.frames.count, name)
            #expect(values.allSatisfy { $0 >= 30 }, "\(name): \(values.min() ?? 0) dB")
            return values
        }
    }
}
