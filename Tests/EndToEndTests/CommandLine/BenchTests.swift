// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import FoundationXML
import HWDModel
import HWDWire
import Testing

@testable import hwctl_media

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
            #expect(document.schema == 2 && document.frames == 6 && document.hardware == nil)
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
            try #require(lines.count >= 6, "\(run.text)")
            #expect(lines.first?.hasPrefix("ENCODER ") == true)
            #expect(lines[1...2].allSatisfy { $0.hasPrefix("software ultrafast ") })
            #expect(run.text.contains("x265 ") && run.text.contains("processors, Linux "))
            let digest = try Programs.tool("sha256sum", [clip.path]).text.prefix(64)
            #expect(run.text.contains("sha256 \(digest)"), "\(run.text)")
            #expect(folder.contents == ["plot.svg"])
            let plot = try Plot(folder.path("plot.svg"))
            #expect(plot.lines == ["software c0", "software c0"] && plot.circles == 4)
            #expect(
                plot.names.count == 1 && plot.names[0].contains("x265") && plot.names[0].hasSuffix(", ultrafast"))
            #expect(plot.style.contains("prefers-color-scheme: dark"))
            // Rates are at 1, 2 or 5 times a power of ten: a logarithmic axis has no 0.
            let ticks = plot.texts.compactMap { Int($0) }
            let isRound = { (tick: Int) in ["1", "2", "5"].contains("\(tick)".replacing("0", with: "")) }
            #expect(ticks.count >= 4 && ticks.allSatisfy(isRound), "\(ticks)")
        }

        /// A program that answers as an ffmpeg with libvmaf and libx264 does.
        private func makeProgram(_ path: String) throws {
            let script = """
                #!/bin/sh
                case "$*" in
                *-version*) echo "ffmpeg version 0.test Copyright" ;;
                *-filters*) echo " ... libvmaf           VV->V      VMAF" ;;
                *-encoders*) echo " V....D libx264 H.264" ;;
                *libvmaf*) echo "[Parsed_libvmaf] VMAF score: 91.5" >&2 ;;
                *) for name; do :; done; head -c 6000 /dev/zero >"${name#file:}" ;;
                esac

                """
            try Data(script.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }

        private static let shared = [
            "bench", "--only", "software", "--frames", "6", "--bitrate", "300k,1M", "--json",
        ]

        /// A few frames of HEVC.
        private func makeClip(_ path: String) throws {
            try Programs.tool(
                "ffmpeg",
                [
                    "-v", "error", "-i", Clips.fixture("bbb_720p.mp4").path, "-frames:v", "8", "-c:v", "libx265",
                    "-preset", "ultrafast", "-x265-params", "log-level=none", "-pix_fmt", "yuv420p", path,
                ])
        }

        /// Checks a document by its schema, which must reject each mutation of it.
        private static func checkSchema(_ document: String) throws {
            try #require(JSONSchema.missing == nil, "\(JSONSchema.missing ?? "")")
            let mutations = [
                "f.pop('schema')", "f.update(nonsense=1)", "f['machine'].pop('cpu')",
                "f['runs'][0].update(psnr='high')", "f['bd_rates'][0].update(metric='SSIM')",
            ]
            #expect(try JSONSchema.errors(of: document, by: "bench.schema.json", mutations) == "")
        }

        @Test("Presets and an earlier run are compared; decoding and converting are measured")
        func comparisons() throws {
            let folder = try Scratch()
            try makeClip(folder.path("in.mp4"))
            let first = try Programs.hwctl(
                Self.shared + ["--preset", "ultrafast,veryfast", "--decode", "--convert", folder.path("in.mp4")])
            try #require(first.status == 0, "\(first.errors)")
            try Data(first.output).write(to: URL(fileURLWithPath: folder.path("before.json")))
            try Self.checkSchema(folder.path("before.json"))
            let before = try JSON.decode(Comparisons.self, from: first.output)
            #expect(before.runs.map(\.preset) == ["ultrafast", "ultrafast", "veryfast", "veryfast"])
            let rates = try #require(before.bdRates.first { $0.metric == "PSNR-Y" })
            #expect(rates.reference.hasSuffix(", ultrafast") && rates.name.hasSuffix(", veryfast"))
            func curve(_ preset: String) -> [hwctl_media.BDRate.Point] {
                before.runs.filter { $0.preset == preset }.map { .init(rate: $0.bitRate, quality: $0.psnrY) }
            }
            let percent = try #require(
                hwctl_media.BDRate.percent(curve("veryfast"), against: curve("ultrafast")))
            #expect(abs((rates.percent ?? .infinity) - percent) < 1e-6)
            #expect(before.decoding?.count == 1 && (before.decoding?[0].rate ?? 0) > 0)
            #expect(before.converting?.first?.name.hasPrefix("cpu") == true)
            #expect((before.converting?.first?.rate ?? 0) > 0)

            let again = try Programs.hwctl(
                Self.shared + [
                    "--preset", "ultrafast", "--against", folder.path("before.json"), folder.path("in.mp4"),
                ])
            try #require(again.status == 0, "\(again.errors)")
            let equal = try #require(try JSON.decode(Comparisons.self, from: again.output).bdRates.first)
            #expect(equal.reference.hasSuffix("(before)") && abs(equal.percent ?? 1) < 0.01, "\(equal)")
        }

        @Test("VMAF and x264 are those of an ffmpeg program; what is missing is named")
        func programs() throws {
            let folder = try Scratch()
            try makeProgram(folder.path("ffmpeg"))
            try makeClip(folder.path("in.mp4"))
            let clip = Clips.fixture("bbb_720p.mp4")
            let x264 = try Programs.hwctl(
                Self.shared + [
                    "--preset", "ultrafast", "--ffmpeg", folder.path("ffmpeg"), "--against", "x264",
                    folder.path("in.mp4"),
                ])
            try #require(x264.status == 0, "\(x264.errors)")
            try Data(x264.output).write(to: URL(fileURLWithPath: folder.path("x264.json")))
            try Self.checkSchema(folder.path("x264.json"))
            let measured = try JSON.decode(Comparisons.self, from: x264.output)
            #expect(measured.runs.allSatisfy { $0.vmaf == 91.5 })
            #expect(measured.bdRates.contains { $0.metric == "VMAF" && $0.reference.hasPrefix("x264 medium") })
            // 6000 bytes of 6 frames.
            #expect(measured.reference?.points.count == 2)
            #expect(measured.machine.ffmpeg == "ffmpeg version 0.test")

            let none = try Programs.hwctl(["bench", "--ffmpeg", "/nowhere", "--against", "x264", clip.path])
            #expect(none.status == 69 && none.errors.contains("/nowhere is not there"), "\(none.errors)")
            #expect(try Programs.hwctl(["bench", "--against", "/nowhere.json", clip.path]).status == 66)
            #expect(try Programs.hwctl(["bench", "--against", clip.path, clip.path]).status == 65)
        }

        @Test("A rate that cannot be reached is warned of")
        func missedRate() throws {
            let run = try Programs.hwctl([
                "bench", "--only", "software", "--frames", "3", "--preset", "ultrafast", "--bitrate", "10k",
                Clips.fixture("bbb_720p.mp4").path,
            ])
            try #require(run.status == 0, "\(run.errors)")
            #expect(run.errors.contains("warning: software ultrafast missed 10 kbit/s by +"), "\(run.errors)")
        }

        /// What `comparisons` reads of the document.
        struct Comparisons: Decodable {
            struct Run: Decodable {
                var preset: String?
                var bitRate: Double
                var psnrY: Double
                var vmaf: Double?

                enum CodingKeys: String, CodingKey {
                    case preset, vmaf
                    case bitRate = "bit_rate"
                    case psnrY = "psnr_y"
                }
            }
            struct BDRate: Decodable {
                var name: String
                var reference: String
                var metric: String
                var percent: Double?
            }
            struct Speed: Decodable {
                var name: String
                var rate: Double?

                enum CodingKeys: String, CodingKey {
                    case name
                    case rate = "frames_per_second"
                }
            }
            struct Curve: Decodable {
                struct Point: Decodable { var vmaf: Double? }
                var points: [Point]
            }
            struct Machine: Decodable { var ffmpeg: String? }
            var machine: Machine
            var runs: [Run]
            var bdRates: [BDRate]
            var reference: Curve?
            var decoding: [Speed]?
            var converting: [Speed]?

            enum CodingKeys: String, CodingKey {
                case machine, runs, reference, decoding, converting
                case bdRates = "bd_rates"
            }
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
                ["--bitrate", "fast"], ["--preset", "quick"], ["--preset", "fast,,slow,nothing"],
                ["--only", "software", "--device", "/dev/null"],
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
    private(set) var names: [String] = []
    private(set) var texts: [String] = []
    private(set) var style = ""
    private var element = ""
    private var isName = false

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
        self.element = element
        isName = attributes["class"] == "name"
        if element == "polyline" { lines.append(attributes["class"] ?? "") }
        if element == "circle" { circles += 1 }
    }
    func parser(_ parser: XMLParser, foundCharacters string: String) {
        if element == "style" { style += string }
        if element == "text", string.contains(where: { !$0.isWhitespace }) {
            texts.append(string)
            if isName { names.append(string) }
        }
    }
}
