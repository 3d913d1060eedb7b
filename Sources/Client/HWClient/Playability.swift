// SPDX-License-Identifier: MIT

/// How a video can be played on a machine whose decoder's speed is known.
///
/// Computed, not tried: from the speed of a decoder, the length of the video's groups of pictures and the memory that decoded pictures may
/// take. It follows what `VideoOutput` of HWOutput does: temporal levels are left out first, then all but key frames; forward play shows
/// no fewer than `leastRate` pictures a second. Pictures of the highest level that no other refers to, which `VideoOutput` leaves out before, are
/// counted as decoded: a slow machine may do a little better.
public struct Playability: Hashable, Sendable {
    /// A video, as far as its play depends on it.
    public struct Video: Hashable, Sendable {
        /// Luma samples.
        public var width: Int
        public var height: Int
        /// Bits of a sample, which takes two bytes above 8.
        public var bitDepth: Int
        /// Pictures a second.
        public var frameRate: Double
        /// Pictures from a key frame to the next, the most where that varies.
        public var groupLength: Int
        /// For each temporal level the pictures a second that remain without the levels above, the last being `frameRate`.
        ///
        /// Empty without levels.
        public var levelRates: [Double]

        public init(
            width: Int, height: Int, bitDepth: Int = 8, frameRate: Double, groupLength: Int,
            levelRates: [Double] = []
        ) {
            (self.width, self.height, self.bitDepth) = (width, height, bitDepth)
            (self.frameRate, self.groupLength, self.levelRates) = (frameRate, groupLength, levelRates)
        }

        /// Bytes of a decoded picture, 4:2:0.
        public var pictureBytes: Int {
            let samples = Double(width) * Double(height) * 1.5
            return Int(clamping: Int64(min(samples * (bitDepth > 8 ? 2 : 1), 1e15)))
        }

        /// Whether the fields are those of a video.
        var isPossible: Bool {
            width > 0 && height > 0 && frameRate.isFinite && frameRate > 0 && groupLength > 0
                && levelRates.allSatisfy { $0.isFinite && $0 > 0 && $0 <= frameRate * 1.001 }
        }
    }

    /// The measured speed of a decoder.
    public struct Speed: Hashable, Sendable {
        /// Decoded pictures a second.
        public var framesPerSecond: Double
        /// The size that was measured, in luma samples.
        public var width: Int
        public var height: Int

        public init(framesPerSecond: Double, width: Int, height: Int) {
            (self.framesPerSecond, self.width, self.height) = (framesPerSecond, width, height)
        }
    }

    /// Which pictures are shown.
    public enum Answer: Hashable, Sendable {
        case everyFrame
        /// Those of temporal levels up to this one.
        case levels(upTo: Int)
        case keyFrames
        case no
    }

    /// The play or scrubbing that an answer is for.
    public struct Mode: Hashable, Sendable {
        public var answer: Answer
        /// Decoded pictures a second that showing every frame needs.
        public var needed: Double
        /// Decoded pictures for each one that is shown, showing every frame; for scrubbing those of the last picture of a group.
        public var decodesPerFrame: Double
    }

    /// Forward, at real time and at twice that.
    public let forward: Mode
    public let fastForward: Mode
    /// Backward, at real time and at twice that.
    public let reverse: Mode
    public let fastReverse: Mode
    /// A picture at any time that is asked for, `leastRate` times a second.
    public let scrubbing: Mode
    /// Decoded pictures a second at the video's size.
    public let framesPerSecond: Double
    /// Whether that is scaled from another size, by the number of samples: then it is an estimate.
    public let isScaled: Bool
    /// Pictures that play in reverse holds: one part of a group is shown while the next is decoded, each of half the bytes.
    public let reversePictures: Int

    /// Pictures a second that forward play and scrubbing show at least.
    public static let leastRate = 10.0

    /// Nil for a video or a speed that is impossible: sizes, rates and lengths are positive and finite.
    /// - Parameters:
    ///   - video: what is played.
    ///   - speed: how fast it is decoded.
    ///   - reverseBytes: as `VideoOutput.Options.reverseBytes`.
    public init?(_ video: Video, _ speed: Speed, reverseBytes: Int = 512 << 20) {
        let measured = Double(speed.width) * Double(speed.height)
        guard video.isPossible, speed.width > 0, speed.height > 0, speed.framesPerSecond.isFinite,
            speed.framesPerSecond > 0
        else { return nil }
        isScaled = (speed.width, speed.height) != (video.width, video.height)
        framesPerSecond = speed.framesPerSecond * measured / (Double(video.width) * Double(video.height))
        let part = max(1, reverseBytes / 2 / max(1, video.pictureBytes))
        reversePictures = 2 * part
        let steps = Self.steps(video)
        let available = framesPerSecond
        func mode(least: Double, decodes: (Step) -> Double, rate: (Step) -> Double) -> Mode {
            let (all, first) = (steps[0], decodes(steps[0]))
            let found = steps.first { rate($0) >= min(least, rate(all)) && decodes($0) * rate($0) <= available }
            return Mode(answer: found?.answer ?? .no, needed: first * rate(all), decodesPerFrame: first)
        }
        func forward(_ speed: Double) -> Mode {
            mode(least: Self.leastRate, decodes: { _ in 1 }, rate: { $0.rate * speed })
        }
        func reverse(_ speed: Double) -> Mode {
            mode(
                least: 0, decodes: { Self.decodesPerFrame(group: $0.groupLength, buffer: part) },
                rate: { $0.rate * speed })
        }
        (self.forward, fastForward) = (forward(1), forward(2))
        (self.reverse, fastReverse) = (reverse(1), reverse(2))
        scrubbing = mode(least: 0, decodes: { Double($0.groupLength) }, rate: { _ in Self.leastRate })
    }

    /// Pictures to decode for each that is shown in reverse: a group is decoded again for each of its parts.
    /// - Parameters:
    ///   - group: pictures of a group, 1 at least.
    ///   - buffer: pictures of a part, 1 at least.
    public static func decodesPerFrame(group: Int, buffer: Int) -> Double {
        let (group, buffer) = (Double(max(1, group)), Double(max(1, buffer)))
        // The last part needs the whole group, each before it a part less.
        let parts = (group / buffer).rounded(.up)
        return parts - buffer * parts * (parts - 1) / 2 / group
    }

    /// A choice of pictures that are decoded.
    private struct Step {
        var answer: Answer
        /// Shown pictures a second at real time.
        var rate: Double
        /// Decoded pictures of a group.
        var groupLength: Int
    }

    /// The most pictures first.
    private static func steps(_ video: Video) -> [Step] {
        let all = Step(answer: .everyFrame, rate: video.frameRate, groupLength: video.groupLength)
        let levels = video.levelRates.enumerated().dropLast().reversed().map { level, rate in
            let length = Int(min((Double(video.groupLength) * rate / video.frameRate).rounded(.up), 1e15))
            return Step(answer: .levels(upTo: level), rate: rate, groupLength: max(1, length))
        }
        let keyRate = video.frameRate / Double(video.groupLength)
        return [all] + levels + [Step(answer: .keyFrames, rate: keyRate, groupLength: 1)]
    }
}
