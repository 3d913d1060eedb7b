// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDModel
internal import HWDSystem

/// Quality over bit rate: the runs of one encoder, here or in a document of `hwctl bench`.
struct BenchCurve: Codable {
    /// A coded stream.
    struct Point: Codable {
        /// Bits per second.
        var bitRate: Double
        var psnrY: Double?
        var ssim: Double?
        var vmaf: Double?

        enum CodingKeys: String, CodingKey {
            case ssim, vmaf
            case bitRate = "bit_rate"
            case psnrY = "psnr_y"
        }
    }

    /// The encoder's name and preset.
    var name: String
    var encoderID: String
    var preset: String?
    var points: [Point]

    enum CodingKeys: String, CodingKey {
        case name, preset, points
        case encoderID = "EncoderID"
    }

    /// A measure of quality, and the word for it.
    enum Metric: String, CaseIterable {
        case vmaf = "VMAF"
        case psnrY = "PSNR-Y"

        func value(_ point: Point) -> Double? { self == .vmaf ? point.vmaf : point.psnrY }
    }

    /// The points that have a measure.
    func points(_ metric: Metric) -> [BDRate.Point] {
        points.compactMap { point in metric.value(point).map { BDRate.Point(rate: point.bitRate, quality: $0) } }
    }
}

/// How many more bits one curve needs than another.
struct BenchComparison: Encodable {
    var name: String
    var reference: String
    /// `VMAF` or `PSNR-Y`.
    var metric: String
    /// Percent, negative where fewer bits are needed; nil where the curves have no quality in common.
    var percent: Double?

    var text: String {
        guard let percent else { return "no common quality" }
        return "\(percent < 0 ? "−" : "+")\(Progress.decimal(abs(percent), 1)) %"
    }

    /// Compares curves with another, by each measure that both have.
    static func all(_ curves: [BenchCurve], against reference: BenchCurve) -> [BenchComparison] {
        curves.flatMap { curve in
            BenchCurve.Metric.allCases.compactMap { metric in
                let (test, other) = (curve.points(metric), reference.points(metric))
                guard !test.isEmpty, !other.isEmpty else { return nil }
                return BenchComparison(
                    name: curve.name, reference: reference.name, metric: metric.rawValue,
                    percent: BDRate.percent(test, against: other))
            }
        }
    }
}

/// The curves of a document that `hwctl bench --json` printed before.
struct BenchDocument: Decodable {
    private struct Machine: Decodable { var encoders: [String: String] }
    private struct Run: Decodable {
        var encoderID: String
        var preset: String?
        var bitRate: Double?
        var psnrY: Double?
        var ssim: Double?
        var vmaf: Double?

        enum CodingKeys: String, CodingKey {
            case preset, ssim, vmaf
            case encoderID = "EncoderID"
            case bitRate = "bit_rate"
            case psnrY = "psnr_y"
        }
    }

    /// SHA-256 of the clip's file.
    let sha256: String?
    let frames: Int
    let curves: [BenchCurve]

    private enum CodingKeys: String, CodingKey { case schema, machine, sha256, frames, runs }

    init(from decoder: any Decoder) throws {
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        guard try fields.decode(Int.self, forKey: .schema) == 2 else {
            throw DecodingError.dataCorruptedError(forKey: .schema, in: fields, debugDescription: "not 2")
        }
        sha256 = try fields.decodeIfPresent(String.self, forKey: .sha256)
        frames = try fields.decode(Int.self, forKey: .frames)
        let names = try fields.decode(Machine.self, forKey: .machine).encoders
        var curves: [BenchCurve] = []
        for run in try fields.decode([Run].self, forKey: .runs) {
            guard let rate = run.bitRate else { continue }
            let known = curves.firstIndex { $0.encoderID == run.encoderID && $0.preset == run.preset }
            let index = known ?? curves.count
            if known == nil {
                let name = (names[run.encoderID] ?? run.encoderID) + (run.preset.map { ", \($0)" } ?? "")
                curves.append(
                    BenchCurve(
                        name: "\(name) (before)".printable(maxBytes: 200), encoderID: run.encoderID,
                        preset: run.preset, points: []))
            }
            curves[index].points.append(
                BenchCurve.Point(bitRate: rate, psnrY: run.psnrY, ssim: run.ssim, vmaf: run.vmaf))
        }
        self.curves = curves
    }

    /// Reads a document.
    static func read(_ path: String) throws -> BenchDocument {
        let bytes: [UInt8]
        do { bytes = try BoundedFile.read(path, limit: 1 << 22) } catch {
            throw CommandFailure(.noInput, "\(path): \(error)")
        }
        do { return try JSON.decode(BenchDocument.self, from: bytes) } catch {
            throw CommandFailure(.badInput, "\(path) is no document of hwctl bench --json: \(error)")
        }
    }
}
