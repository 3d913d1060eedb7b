// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEncoderTesting

/// A track of sound as ffmpeg decodes it: mono, from time 0 of the file on.
struct Sound {
    /// Samples per second.
    static let rate = 12_000
    let samples: [Float]

    /// Decodes a track of a file.
    init(_ path: String, track: Int = 0) throws {
        // Silence takes the place of what is missing at the beginning and within.
        let filter = "aresample=\(Self.rate):async=1:min_hard_comp=0.001:first_pts=0"
        let arguments =
            [
                "-v", "error", "-copyts", "-i", path, "-map", "0:a:\(track)", "-ac", "1", "-af", filter, "-f",
                "f32le", "-",
            ]
        let bytes = try Programs.tool("ffmpeg", arguments).output
        samples = bytes.withUnsafeBytes { Array($0.bindMemory(to: Float.self)) }
    }

    /// The sound without its beginning.
    func dropping(seconds: Double) -> Sound {
        Sound(samples: Array(samples.dropFirst(Int((seconds * Double(Self.rate)).rounded()))))
    }

    private init(samples: [Float]) { self.samples = samples }

    var seconds: Double { Double(samples.count) / Double(Self.rate) }

    /// How much later this sound is than another, in seconds, and how alike they are there (1 is equal).
    ///
    /// Compares half a second around `time` at delays of up to 60 ms.
    func delay(behind other: Sound, at time: Double) -> (seconds: Double, likeness: Double) {
        let (half, range) = (Self.rate / 4, Self.rate * 60 / 1000)
        let center = Int(time * Double(Self.rate))
        guard center - half - range >= 0, center + half + range < min(samples.count, other.samples.count) else {
            return (.infinity, 0)
        }
        let best = alignment(of: samples, with: other.samples, in: center - half..<center + half, range)
        return (Double(best.lag) / Double(Self.rate), best.likeness)
    }
}
