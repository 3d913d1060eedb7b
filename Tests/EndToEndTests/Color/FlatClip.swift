// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import Testing

/// Clips of patches of one color each, coded without loss, and what a decoder reads from such patches.
enum FlatClip {
    /// The width and height of a patch.
    static let side = 64

    /// Codes of Y', Cb and Cr of a patch.
    typealias Codes = SIMD3<Int>

    /// How a clip is tagged.
    struct Color {
        var depth = 10
        var primaries = "bt2020"
        var transfer = "smpte2084"
        var matrix = "bt2020nc"

        static let pq = Color()
        static let hlg = Color(transfer: "arib-std-b67")
        static let sdr = Color(depth: 8, primaries: "bt709", transfer: "bt709", matrix: "bt709")
    }

    /// Codes of R'G'B' in video range, rounded.
    static func codes(_ value: SIMD3<Double>, _ color: Color) -> Codes {
        let exact = unrounded(value, color)
        return Codes(Int(exact.x.rounded()), Int(exact.y.rounded()), Int(exact.z.rounded()))
    }

    /// The same, not rounded (H.273 equations 20 to 40).
    static func unrounded(_ value: SIMD3<Double>, _ color: Color) -> SIMD3<Double> {
        let (kr, kb) = color.matrix == "bt709" ? (0.2126, 0.0722) : (0.2627, 0.0593)
        let luma = kr * value.x + (1 - kr - kb) * value.y + kb * value.z
        let (cb, cr) = ((value.z - luma) / (2 * (1 - kb)), (value.x - luma) / (2 * (1 - kr)))
        return Double(1 << (color.depth - 8)) * SIMD3(16 + 219 * luma, 128 + 224 * cb, 128 + 224 * cr)
    }

    /// R'G'B' of codes.
    static func value(_ codes: SIMD3<Double>, _ color: Color) -> SIMD3<Double> {
        let (kr, kb) = color.matrix == "bt709" ? (0.2126, 0.0722) : (0.2627, 0.0593)
        let scaled = codes / Double(1 << (color.depth - 8))
        let (y, cb, cr) = ((scaled.x - 16) / 219, (scaled.y - 128) / 224, (scaled.z - 128) / 224)
        let (red, blue) = (y + 2 * (1 - kr) * cr, y + 2 * (1 - kb) * cb)
        return SIMD3(red, (y - kr * red - kb * blue) / (1 - kr - kb), blue)
    }

    /// Writes a clip of patches side by side.
    ///
    /// - Parameter x265: more of x265's parameters, such as `master-display`.
    static func write(
        _ patches: [Codes], _ color: Color, frames: Int = 3, to path: String, in folder: Scratch, x265: String = ""
    ) throws {
        var frame: [UInt8] = []
        func plane(_ side: Int, _ component: Int) {
            for _ in 0..<side {
                for patch in patches {
                    let bytes = [UInt8(patch[component] & 255), UInt8(patch[component] >> 8)]
                    for _ in 0..<side { frame += bytes.prefix(color.depth > 8 ? 2 : 1) }
                }
            }
        }
        plane(side, 0)
        plane(side / 2, 1)
        plane(side / 2, 2)
        let raw = folder.path("flat.yuv")
        try Data((0..<frames).flatMap { _ in frame }).write(to: URL(fileURLWithPath: raw))
        let format = color.depth > 8 ? "yuv420p10le" : "yuv420p"
        try Programs.tool(
            "ffmpeg",
            [
                "-v", "error", "-y", "-f", "rawvideo", "-pix_fmt", format, "-s", "\(side * patches.count)x\(side)",
                "-r", "25", "-i", raw, "-c:v", "libx265", "-preset", "ultrafast", "-x265-params",
                "log-level=none:lossless=1" + (x265.isEmpty ? "" : ":" + x265), "-color_primaries", color.primaries,
                "-color_trc", color.transfer, "-colorspace", color.matrix, "-tag:v", "hvc1", path,
            ])
    }

    /// The mean codes in the middle of each patch of each frame, as ffmpeg decodes a clip.
    static func read(_ path: String, patches: Int, depth: Int) throws -> [[SIMD3<Double>]] {
        let samples = try Probe(path).samples(depth > 8 ? "yuv420p10le" : "yuv420p")
        let (width, bytes) = (side * patches, depth > 8 ? 2 : 1)
        let size = width * side * 3 / 2 * bytes
        try #require(!samples.isEmpty && samples.count % size == 0)
        func mean(_ start: Int, _ width: Int, _ x: Int) -> Double {
            var sum = 0
            for row in 12..<20 {
                for column in x..<x + 8 {
                    let at = start + (row * width + column) * bytes
                    sum += Int(samples[at]) + (bytes == 2 ? Int(samples[at + 1]) << 8 : 0)
                }
            }
            return Double(sum) / 64
        }
        return stride(from: 0, to: samples.count, by: size).map { start in
            (0..<patches).map { patch in
                let chroma = start + width * side * bytes
                return SIMD3(
                    mean(start, width, patch * side + 24), mean(chroma, width / 2, patch * side / 2 + 12),
                    mean(chroma + width * side / 4 * bytes, width / 2, patch * side / 2 + 12))
            }
        }
    }
}
