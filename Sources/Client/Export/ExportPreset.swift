// SPDX-License-Identifier: MIT
public import HWDModel

/// Settings of an export under a name, such as AVFoundation's `HEVC1920x1080`.
///
/// `docs/presets.schema.json` documents the fields.
public struct ExportPreset: Codable, Hashable, Sendable {
    /// Speed against compression.
    public enum Speed: String, Codable, Hashable, Sendable { case fast, balanced, best }
    /// The sound.
    public enum Audio: String, Codable, Hashable, Sendable { case copy, aac, alac, none }

    /// AVFoundation's name where it has one, without its prefix.
    public var name: String
    /// Another name; nil without one.
    public var short: String?
    /// What it is for, in one line.
    public var summary: String
    /// Width and height that the output does not exceed, either way round; nil keeps every size.
    public var maxSize: Size?
    /// Whether the bit rate is taken from the rate table.
    public var usesRate: Bool
    /// Whether alpha is kept; sources without alpha do not fit.
    public var alpha: Bool
    /// Frames per second below which a source does not fit; nil for all.
    public var minFrameRate: Double?
    /// Speed against compression; nil leaves it to the encoder.
    public var speed: Speed?
    /// The sound; nil copies what fits and converts the rest.
    public var audio: Audio?
    /// Session properties.
    public var properties: [String: PropertyValue]

    /// How many times smaller a picture may become at most.
    static let largestReduction = 8.0

    /// Width and height in samples.
    public struct Size: Codable, Hashable, Sendable, CustomStringConvertible {
        public var width: Int
        public var height: Int

        /// A size.
        public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }

        /// Decodes a list of two numbers.
        public init(from decoder: any Decoder) throws {
            var list = try decoder.unkeyedContainer()
            (width, height) = (try list.decode(Int.self), try list.decode(Int.self))
        }

        /// Encodes a list of two numbers.
        public func encode(to encoder: any Encoder) throws {
            var list = encoder.unkeyedContainer()
            try list.encode(width)
            try list.encode(height)
        }

        /// How many times smaller this size is than another, in the direction of the larger change.
        func reduction(of other: Size) -> Double {
            max(Double(other.width) / Double(max(1, width)), Double(other.height) / Double(max(1, height)))
        }

        /// `1920x1080`.
        public var description: String { "\(width)x\(height)" }
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case name, short, summary, alpha, speed, audio, properties
        case maxSize = "max_size"
        case usesRate = "uses_rate"
        case minFrameRate = "min_frame_rate"
    }

    /// Decodes a preset; fields that are missing have their defaults, and fields that are not known are an error.
    public init(from decoder: any Decoder) throws {
        try MemberNames(CodingKeys.self).check(decoder)
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        name = try fields.decode(String.self, forKey: .name)
        short = try fields.decodeIfPresent(String.self, forKey: .short)
        summary = try fields.decode(String.self, forKey: .summary)
        maxSize = try fields.decodeIfPresent(Size.self, forKey: .maxSize)
        usesRate = try fields.decodeIfPresent(Bool.self, forKey: .usesRate) ?? false
        alpha = try fields.decodeIfPresent(Bool.self, forKey: .alpha) ?? false
        minFrameRate = try fields.decodeIfPresent(Double.self, forKey: .minFrameRate)
        speed = try fields.decodeIfPresent(Speed.self, forKey: .speed)
        audio = try fields.decodeIfPresent(Audio.self, forKey: .audio)
        properties = try fields.decodeIfPresent([String: PropertyValue].self, forKey: .properties) ?? [:]
    }

    /// The size that a source of `size` gets: it fits into `maxSize`, either way round, is even where it is scaled, and is
    /// never larger than the source.
    public func size(of size: Size) -> Size {
        guard let box = maxSize, size.width > 0, size.height > 0 else { return size }
        let isTall = (size.height > size.width) != (box.height > box.width)
        let (width, height) = isTall ? (box.height, box.width) : (box.width, box.height)
        let scale = min(1, Double(width) / Double(size.width), Double(height) / Double(size.height))
        guard scale < 1 else { return size }
        func even(_ length: Int) -> Int { max(2, Int((Double(length) * scale / 2).rounded()) * 2) }
        return Size(width: min(width, even(size.width)), height: min(height, even(size.height)))
    }

    /// The session properties for a source, the rate and the speed among them.
    public func properties(for source: ExportSource, _ rates: RateTable) -> [String: PropertyValue] {
        var all = properties
        if usesRate {
            all[PropertyKey.averageBitRate.rawValue] = .int(
                rates.bitsPerSecond(
                    size(of: source.size), frameRate: source.frameRate, bitDepth: source.bitDepth, alpha: alpha))
        }
        if let speed, speed != .balanced { all[PropertyKey.prioritizeSpeed.rawValue] = .bool(speed == .fast) }
        if alpha { all[PropertyKey.alphaChannelMode.rawValue] = .string("premultiplied") }
        return all
    }
}
