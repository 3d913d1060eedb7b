// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import FoundationXML
import HWDWire
import Testing

extension EndToEnd {
    /// The figures of `hwctl bench` compared with ffmpeg's.
    @Suite struct Bench {
        /// What these tests read of the document.
        struct Document: Decodable {
            struct Run: Decodable {
                var usingHardware: Bool
                var targetBitRate: Int64
                var bitRate: Double
                var framesPerSecond: Double
                var latencyP50: Double
                var latencyP99: Double
                var workerCPU: Double
                var cpu: Double
                var workerPeak: Int
                var psnr: Double
                var psnrY: Double
                var ssim: Double

                enum CodingKeys: String, CodingKey {
                    case psnr, ssim
                    case usingHardware = "UsingHardwareAcceleratedVideoEncoder"
                    case targetBitRate = "target_bit_rate"
                    case bitRate = "bit_rate"
                    case framesPerSecond = "frames_per_second"
                    case latencyP50 = "latency_p50_ms"
                    case latencyP99 = "latency_p99_ms"
                    case workerCPU = "worker_cpu_seconds"
                    case cpu = "cpu_seconds"
                    case workerPeak = "worker_peak_bytes"
                    case psnrY = "psnr_y"
                }
            }
            struct Hardware: Decodable {
                var available: Bool
                var reason: String?
            }
            var schema: Int
            var frames: Int
            var width: Int
            var height: Int
            var hardware: Hardware?
            var runs: [Run]
        }

        /// The `name:value` pairs of the last line with `mark` that an ffmpeg filter prints for two files' first frames.
        static func ffmpeg(
            _ filter: String, _ coded: String, _ source: String, frames: Int, _ format: String, mark: String
        ) throws -> [Substring: Double] {
            let same = "settb=1/30,setpts=N,trim=end_frame=\(frames),format=\(format)"
            let graph = "[0:v:0]\(same)[a];[1:v:0]\(same)[b];[a][b]\(filter)"
            let errors = try Programs.tool(
                "ffmpeg",
                ["-v", "info", "-nostats", "-i", coded, "-i", source, "-lavfi", graph, "-f", "null", "-"]
            ).errors
            let line = try #require(errors.split(separator: "\n").last { $0.contains(mark) }, "\(errors)")
            var values: [Substring: Double] = [:]
            for word in line.split(separator: " ") {
                let pair = word.split(separator: ":")
                if pair.count == 2, let value = Double(pair[1]) { values[pair[0]] = value }
            }
            return values
        }

        @Test(
            "PSNR, SSIM and bit rate are ffmpeg's",
            arguments: [("bbb_720p.mp4", "yuv420p"), ("bbb_720p_main10.mp4", "yuv420p10le")])
        func figures(name: String, format: String) throws {
            let clip = Clips.fixture(name)
            let folder = try Scratch()
            let run = try Programs.hwctl([
                "bench", "--only", "software", "--frames", "6", "--preset", "ultrafast", "--bitrate", "400k,2M",
                "--json", "--keep", folder.path("kept"), clip.path,
            ])
            try #require(run.status == 0, "\(run.errors)")
            let document = try JSON.decode(Document.self, from: run.output)
            #expect(document.schema == 1 && document.frames == 6 && document.hardware == nil)
            #expect(document.runs.map(\.targetBitRate) == [400_000, 2_000_000])
            let rate = try Probe(clip.path).field("avg_frame_rate").split(separator: "/").map { Double($0) ?? 0 }
            for figures in document.runs {
                let coded = folder.path("kept/software-\(figures.targetBitRate).hevc")
                let psnr = try Self.ffmpeg(
                    "psnr", coded, clip.path, frames: 6, format, mark: "average:")
                let ssim = try Self.ffmpeg("ssim", coded, clip.path, frames: 6, format, mark: "All:")
                print("\(name) at \(figures.targetBitRate): \(figures); ffmpeg: \(psnr), \(ssim)")
                #expect(abs(figures.psnr - (psnr["average"] ?? 0)) < 0.01)
                #expect(abs(figures.psnrY - (psnr["y"] ?? 0)) < 0.01)
                #expect(abs(figures.ssim - (ssim["All"] ?? 0)) < 0.0005)
                // The byte stream holds parameter sets and start codes, the packets length fields.
                let bytes = try Data(contentsOf: URL(fileURLWithPath: coded)).count
                let bits = Double(bytes) * 8 / (6 * rate[1] / rate[0])
                let extra = 4096 * 8 * rate[0] / (6 * rate[1])
                #expect(figures.bitRate < bits && figures.bitRate > bits - extra)
                #expect(figures.framesPerSecond > 0 && figures.workerPeak > 10 << 20)
                #expect(figures.latencyP50 > 0 && figures.latencyP50 <= figures.latencyP99)
                #expect(figures.workerCPU > 0 && figures.cpu >= figures.workerCPU)
                #expect(!figures.usingHardware)
            }
            #expect(document.runs[0].psnr < document.runs[1].psnr && document.runs[0].ssim < document.runs[1].ssim)
        }

        @Test("Without hardware the reason is reported and software is measured; the plot is valid SVG")
        func withoutHardware() throws {
            let clip = Clips.fixture("bbb_720p.mp4")
            let folder = try Scratch()
            let run = try Programs.hwctl([
                "bench", "--seconds", "0.1", "--preset", "ultrafast", "--bitrate", "1M,3M", "--plot",
                folder.path("plot.svg"), clip.path,
            ])
            try #require(run.status == 0, "\(run.errors)")
            let reason = "/dev/null/none"
            #expect(run.errorLines.contains { $0.contains(reason) }, "\(run.errors)")
            let lines = run.text.split(separator: "\n")
            #expect(lines.count == 3)
            #expect(lines.first?.hasPrefix("ENCODER ") == true)
            #expect(lines.dropFirst().allSatisfy { $0.hasPrefix("software ") })
            #expect(folder.contents == ["plot.svg"])
            let plot = try Plot(folder.path("plot.svg"))
            #expect(plot.lines == ["software", "software"] && plot.circles == 4)
        }

        @Test("Impossible requests are refused, each with its exit code")
        func refusals() throws {
            let clip = Clips.fixture("bbb_720p.mp4")
            let required = try Programs.hwctl(["bench", "--only", "hardware", "--frames", "2", clip.path])
            #expect(required.status == 69)
            #expect(required.complaints.last?.contains("hardware") == true, "\(required.errors)")
            for arguments in [
                ["--frames", "0"], ["--seconds", "-1"], ["--frames", "3", "--seconds", "1"],
                ["--bitrate", "1M,,2M"],
                ["--bitrate", "fast"], ["--only", "software", "--device", "/dev/null"],
            ] {
                #expect(try Programs.hwctl(["bench", clip.path] + arguments).status == 64, "\(arguments)")
            }
            #expect(try Programs.hwctl(["bench", "/nowhere.mp4"]).status == 66)
            let unwritable = [
                "--frames", "2", "--preset", "ultrafast", "--bitrate", "1M", "--plot", "/nowhere/a.svg",
            ]
            #expect(try Programs.hwctl(["bench", clip.path] + unwritable).status == 73)
        }
    }
}

/// An SVG document's lines and points, by an XML parser that is not ours.
private final class Plot: NSObject, XMLParserDelegate {
    private(set) var lines: [String] = []
    private(set) var circles = 0

    init(_ path: String) throws {
        super.init()
        let parser = XMLParser(data: try Data(contentsOf: URL(fileURLWithPath: path)))
        parser.delegate = self
        let isSound = parser.parse()
        try #require(isSound, "\(String(describing: parser.parserError))")
    }

    func parser(
        _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        if element == "polyline" { lines.append(attributes["class"] ?? "") }
        if element == "circle" { circles += 1 }
    }
}
