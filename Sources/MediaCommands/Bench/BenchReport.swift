// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDMediaFile
internal import HWDModel
internal import HWDWire

/// The result of `hwctl bench`.
struct BenchReport: Encodable {
    /// One encoder at one bit rate.
    struct Row: Encodable {
        var encoderID: String
        var usingHardware: Bool
        var targetBitRate: Int64
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

        enum CodingKeys: String, CodingKey {
            case error, seconds, psnr, ssim
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

    private var schema = 1
    var input: String
    var width: Int
    var height: Int
    var pixelFormat: String
    var frameRate: Double
    var frames: Int
    var preset: String?
    var hardware: Hardware?
    var runs: [Row] = []
    var warnings: [String]

    enum CodingKeys: String, CodingKey {
        case schema, input, width, height, frames, preset, hardware, runs, warnings
        case pixelFormat = "pixel_format"
        case frameRate = "frame_rate"
    }

    init(_ input: String, _ clip: BenchClip, preset: String?) {
        self.input = input
        width = clip.video.width
        height = clip.video.height
        pixelFormat = clip.video.format.rawValue
        frameRate = clip.frameRate.value
        frames = clip.frames.count
        self.preset = preset
        warnings = clip.warnings
    }

    /// The human-readable table.
    var table: String {
        var rows = [
            [
                "ENCODER", "TARGET", "KBIT/S", "FPS", "P50", "P99", "WORKER CPU", "ALL CPU", "RSS", "PSNR",
                "PSNR-Y",
                "SSIM",
            ]
        ]
        for run in runs {
            let name = run.usingHardware ? "hardware" : "software"
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
                isEqual ? "inf" : Self.text(run.psnrY, 2), Self.text(run.ssim, 4),
            ])
        }
        return Console.table(rows)
    }

    private static func text(_ value: Double?, _ digits: Int) -> String {
        value.map { Progress.decimal($0, digits) } ?? "-"
    }
}
