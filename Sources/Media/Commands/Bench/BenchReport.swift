// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDComparison
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel
internal import HWDWire

/// The result of `hwctl bench`.
struct BenchReport: Encodable {
    /// One encoder at one bit rate.
    struct Row: Encodable {
        var encoderID: String
        var usingHardware: Bool
        var targetBitRate: Int64
        /// The x265 preset; nil in hardware, and for the default.
        var preset: String?
        /// Why there are no figures.
        var error: String?
        var bitRate: Double?
        var framesPerSecond: Double?
        var seconds: Double?
        var latencyP50: Double?
        var latencyP99: Double?
        var workerCPUSeconds: Double?
        var cpuSeconds: Double?
        var workerPeakBytes: Int?
        var psnr: Double?
        var psnrY: Double?
        var ssim: Double?
        var vmaf: Double?

        enum CodingKeys: String, CodingKey {
            case error, seconds, psnr, ssim, preset, vmaf
            case encoderID = "EncoderID"
            case usingHardware = "UsingHardwareAcceleratedVideoEncoder"
            case targetBitRate = "target_bit_rate"
            case bitRate = "bit_rate"
            case framesPerSecond = "frames_per_second"
            case latencyP50 = "latency_p50_ms"
            case latencyP99 = "latency_p99_ms"
            case workerCPUSeconds = "worker_cpu_seconds"
            case cpuSeconds = "cpu_seconds"
            case workerPeakBytes = "worker_peak_bytes"
            case psnrY = "psnr_y"
        }

        /// A session that failed.
        init(encoderID: String, usingHardware: Bool, targetBitRate: Int64, error: String) {
            self.encoderID = encoderID
            self.usingHardware = usingHardware
            self.targetBitRate = targetBitRate
            self.error = error
        }

        /// A complete session.
        init(_ session: BenchSession, _ clip: BenchClip, targetBitRate: Int64) {
            encoderID = session.created.encoderID
            usingHardware = session.created.usingHardware
            self.targetBitRate = targetBitRate
            bitRate = Double(session.byteCount) * 8 / clip.seconds
            seconds = session.seconds
            framesPerSecond = Double(session.pictures.count) / max(session.seconds, 1e-9)
            latencyP50 = session.latency(percentile: 50)
            latencyP99 = session.latency(percentile: 99)
            workerCPUSeconds = session.worker?.cpuSeconds
            cpuSeconds = session.worker.map { $0.cpuSeconds + session.ownCPUSeconds }
            workerPeakBytes = session.worker?.peakMemory
        }

        /// The word of the table: where it was coded, and how.
        var label: String { (usingHardware ? "hardware" : "software") + (preset.map { " \($0)" } ?? "") }

        /// By how much the bit rate differs from the target, as a share of it; nil without figures.
        var rateError: Double? { bitRate.map { $0 / Double(targetBitRate) - 1 } }

        /// Adds the quality; an infinite PSNR is left out.
        mutating func note(_ quality: PictureQuality) {
            psnr = quality.psnr
            psnrY = quality.psnrY
            ssim = quality.ssim
        }
    }

    /// Whether hardware was measured, and if not, why.
    struct Hardware: Encodable {
        var available: Bool
        var reason: String?
    }

    /// What was decoded or converted, and how fast.
    struct Speed: Encodable {
        /// The decoder's or the converting device's name.
        var name: String
        var usingHardware: Bool?
        var framesPerSecond: Double?
        var frames: Int?
        /// Why there are no figures.
        var error: String?

        enum CodingKeys: String, CodingKey {
            case name, frames, error
            case usingHardware = "using_hardware"
            case framesPerSecond = "frames_per_second"
        }
    }

    /// docs/bench.schema.json describes the document.
    private var schema = 2
    var machine: BenchMachine
    var input: String
    /// SHA-256 of the input's file; nil for a pipe.
    var sha256: String?
    var width: Int
    var height: Int
    var pixelFormat: String
    var frameRate: Double
    var frames: Int
    var hardware: Hardware?
    var runs: [Row] = []
    /// The curve that others are compared with, where it is no run of this document.
    var reference: BenchCurve?
    var bitSavings: [BenchComparison] = []
    var decoding: [Speed]?
    var converting: [Speed]?
    var warnings: [String]

    enum CodingKeys: String, CodingKey {
        case schema, machine, input, sha256, width, height, frames, hardware, runs, reference, decoding, converting,
            warnings
        case pixelFormat = "pixel_format"
        case frameRate = "frame_rate"
        case bitSavings = "bd_rates"
    }

    init(_ input: String, _ clip: BenchClip, _ machine: BenchMachine) {
        self.machine = machine
        self.input = input
        sha256 = input == "-" ? nil : FileDigest.sha256(input)
        width = clip.video.width
        height = clip.video.height
        pixelFormat = clip.video.format.rawValue
        frameRate = clip.frameRate.value
        frames = clip.frames.count
        warnings = clip.warnings
    }

    /// The human-readable table.
    var table: String {
        var rows = [
            [
                "ENCODER", "TARGET", "KBIT/S", "FPS", "P50", "P99", "WORKER CPU", "ALL CPU", "RSS", "PSNR",
                "PSNR-Y",
                "SSIM", "VMAF",
            ]
        ]
        for run in runs {
            let name = run.label
            let target = Progress.decimal(Double(run.targetBitRate) / 1000, 0)
            if let error = run.error {
                rows.append([name, target, error])
                continue
            }
            let memory = run.workerPeakBytes.map { Double($0) / 1_048_576 }
            // The PSNR of equal pictures is infinite.
            let isEqual = run.ssim == 1
            rows.append([
                name, target, Self.text(run.bitRate.map { $0 / 1000 }, 0), Self.text(run.framesPerSecond, 1),
                Self.text(run.latencyP50, 1), Self.text(run.latencyP99, 1), Self.text(run.workerCPUSeconds, 2),
                Self.text(run.cpuSeconds, 2), Self.text(memory, 1), isEqual ? "inf" : Self.text(run.psnr, 2),
                isEqual ? "inf" : Self.text(run.psnrY, 2), Self.text(run.ssim, 4), Self.text(run.vmaf, 2),
            ])
        }
        if !runs.contains(where: { $0.vmaf != nil }) { rows = rows.map { $0.count > 3 ? $0.dropLast() : $0 } }
        let facts = machine.lines + [sha256.map { "\(input): sha256 \($0)" }].compactMap { $0 }
        return ([Console.table(rows)] + otherTables + [facts.joined(separator: "\n")]).joined(separator: "\n")
    }

    /// Comparisons and speeds.
    private var otherTables: [String] {
        var tables: [String] = []
        if !bitSavings.isEmpty {
            tables.append(
                Console.table(
                    [["BITS AT EQUAL QUALITY", "COMPARED WITH", "QUALITY", "BD-RATE"]]
                        + bitSavings.map { comparison in
                            [comparison.name, comparison.reference, comparison.metric, comparison.text]
                        }))
        }
        for (title, speeds) in [("DECODER", decoding), ("CONVERTER", converting)] {
            guard let speeds else { continue }
            tables.append(
                Console.table(
                    [[title, "FPS"]]
                        + speeds.map { [$0.name, $0.error ?? Self.text($0.framesPerSecond, 1)] }))
        }
        return tables
    }

    /// The runs as curves, one for each encoder and preset.
    var curves: [BenchCurve] {
        var curves: [BenchCurve] = []
        for run in runs where run.error == nil {
            guard let rate = run.bitRate else { continue }
            let name = machine.name(of: run.encoderID) + (run.preset.map { ", \($0)" } ?? "")
            let index = curves.firstIndex { $0.name == name } ?? curves.count
            if index == curves.count {
                curves.append(BenchCurve(name: name, encoderID: run.encoderID, preset: run.preset, points: []))
            }
            curves[index].points.append(
                BenchCurve.Point(bitRate: rate, psnrY: run.psnrY, ssim: run.ssim, vmaf: run.vmaf))
        }
        return curves
    }

    /// Sentences about rates that an encoder missed by more than a tenth.
    var missedRates: [String] {
        runs.compactMap { run in
            guard let error = run.rateError, abs(error) > 0.1 else { return nil }
            let target = Progress.decimal(Double(run.targetBitRate) / 1000, 0)
            return "warning: \(run.label) missed \(target) kbit/s by \(error > 0 ? "+" : "−")"
                + "\(Progress.decimal(abs(error) * 100, 0)) %"
        }
    }

    private static func text(_ value: Double?, _ digits: Int) -> String {
        value.map { Progress.decimal($0, digits) } ?? "-"
    }
}
