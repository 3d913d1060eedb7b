// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDEdits
public import HWDMetadata
public import HWDModel

/// The changes that were requested for an output; what they drop is expected to be missing.
public struct AskedChanges: Hashable, Sendable {
    /// The names of items.
    public var names: Set<String> = []
    /// The treatment of HDR; nil if it was not mentioned.
    public var hdr: HDRMode?
    /// The highest temporal level that is kept; nil keeps all.
    public var maxLevel: Int?
    /// The part of the input that is kept; nil keeps all.
    public var range: TimeRange?
    /// The part of the displayed picture that is kept; nil keeps all.
    public var crop: PictureRectangle?
    /// Degrees clockwise by which pictures are turned.
    public var rotation = 0
    /// Whether the part begins with the last key frame that is not after its start.
    public var beginsWithKeyFrame = false
    /// Frames per second of an input that stores no rate.
    public var frameRate: Rational?
    /// How the input's colors relate to its alpha, where the file does not say so.
    public var sourceAlphaMode = AlphaChannelMode.straight
    /// Whether a change of color was one of the description alone, so that the samples are the input's.
    public var retags = false
    /// Whether the input was only copied, so that its coded pictures must be the same.
    public var isCopy = false

    /// No changes.
    public init() {}

    /// Parses a list such as `size,hdr=sdr,max-level=0`.
    /// - Throws: `usage` for an unknown name or value.
    public init(text: String) throws(MediaError) {
        for part in text.split(separator: ",") {
            let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            switch (pair[0], pair.count > 1 ? pair[1] : nil) {
            case ("hdr", let value?):
                guard let mode = HDRMode(rawValue: value) else {
                    let all = HDRMode.allCases.map(\.rawValue).joined(separator: ", ")
                    throw MediaError(.usage, "hdr takes one of \(all), not '\(value)'")
                }
                hdr = mode
            case ("max-level", let value?):
                guard let level = Int(value), (0...6).contains(level) else {
                    throw MediaError(.usage, "max-level takes a temporal level from 0 to 6, not '\(value)'")
                }
                maxLevel = level
            case ("alpha-mode", let value?):
                guard let mode = AlphaChannelMode(rawValue: value) else {
                    throw MediaError(.usage, "alpha-mode takes premultiplied or straight, not '\(value)'")
                }
                sourceAlphaMode = mode
            case ("crop", let value?): crop = try Self.rectangle(value)
            case ("rotate", let value?):
                guard let degrees = Int(value), [90, 180, 270].contains(degrees) else {
                    throw MediaError(.usage, "rotate takes 90, 180 or 270, not '\(value)'")
                }
                rotation = degrees
            case ("start", let value?): range = try Self.range(range, start: value)
            case ("duration", let value?): range = try Self.range(range, end: .duration(Self.time(value)))
            case ("end", let value?): range = try Self.range(range, end: .time(Self.time(value)))
            case ("retag", nil): retags = true
            case ("key-frame", nil): beginsWithKeyFrame = true
            case (let name, nil) where FileContent.compared.contains { $0.rawValue == name }: names.insert(name)
            default:
                let all = FileContent.compared.map(\.rawValue).joined(separator: ", ")
                throw MediaError(
                    .usage,
                    """
                    '\(part)' is none of \(all), retag, hdr=…, max-level=…, alpha-mode=…, crop=…, rotate=…, start=…, \
                    duration=…, end=… and key-frame
                    """
                )
            }
        }
    }

    private static func rectangle(_ text: String) throws(MediaError) -> PictureRectangle {
        let numbers = text.split(separator: ":", omittingEmptySubsequences: false).map { UInt32($0) }
        guard numbers.count == 4, let width = numbers[0], let height = numbers[1], let x = numbers[2],
            let y = numbers[3], width > 0, height > 0, [width, height, x, y].allSatisfy({ $0 <= 16384 })
        else { throw MediaError(.usage, "crop takes W:H:X:Y, not '\(text)'") }
        return PictureRectangle(x: x, y: y, width: width, height: height)
    }

    private static func time(_ text: String) throws(MediaError) -> Int64 {
        if let time = TimeRange.microseconds(text) { return time }
        throw MediaError(.usage, "times are seconds or h:m:s, not '\(text)'")
    }

    private static func range(
        _ range: TimeRange?, start: String? = nil, end: TimeRange.End? = nil
    ) throws(MediaError) -> TimeRange {
        var range = range ?? TimeRange()
        if let start { range.start = try time(start) }
        if let end { range.end = end }
        return range
    }

    /// The list in the form that is parsed: the names in alphabetical order, then what has a value.
    public var texts: [String] {
        let mode = sourceAlphaMode == .straight ? nil : "alpha-mode=\(sourceAlphaMode.rawValue)"
        let values = [
            hdr.map { "hdr=\($0.rawValue)" }, maxLevel.map { "max-level=\($0)" }, mode,
            crop.map { "crop=\($0.width):\($0.height):\($0.x):\($0.y)" },
            rotation == 0 ? nil : "rotate=\(rotation)",
        ]
        let part = (range?.texts ?? []) + (beginsWithKeyFrame ? ["key-frame"] : [])
        return names.sorted() + (retags ? ["retag"] : []) + values.compactMap { $0 } + part
    }

    /// Why a loss of an item is expected; nil where it is not.
    ///
    /// - Parameter change: how the output's color differs from the input's.
    func reason(for name: String, _ change: ColorChange) -> String? {
        if names.contains(name) { return "requested: \(name)" }
        // Chapters and subtitles are cut, and the timecode is that of the first picture.
        if range != nil, ["chapters", "subtitle", "timecode"].contains(name) { return "requested: a part in time" }
        let dynamic: Set = ["dolby-vision", "rpu", "hdr10+"]
        let metadata = dynamic.union(["mastering", "light", "ambient"])
        if let hdr {
            let text = "requested: hdr=\(hdr.rawValue)"
            switch hdr {
            case .preserve: break
            case .regenerate: if dynamic.contains(name) { return text }
            case .drop: if metadata.contains(name) { return text }
            // HDR in 8 bits has visible steps.
            case .sdr where name == "depth" && change == .points: return text
            case .sdr, .pq, .hlg:
                if metadata.contains(name) || name == "icc", change == .points { return text }
                // Colors without a description become others, too.
                if name == "icc", hdr != .sdr { return text }
            }
        }
        // What describes the samples of one color does not hold for another; a profile neither for one that gets a description.
        let unfounded: Set = change == .points ? metadata : change == .samples ? dynamic : []
        if names.contains("color"), unfounded.contains(name) || name == "icc" { return "requested: color" }
        if let maxLevel, name == "levels" { return "requested: max-level=\(maxLevel)" }
        // Metadata about regions of the picture, or about all of it, does not hold for a part of it.
        if crop != nil || rotation != 0, dynamic.contains(name) || name == "size" || name == "projection" {
            return "requested: \(crop != nil ? "crop" : "rotate")"
        }
        // Statistics of the whole picture do not hold for other pictures.
        if names.contains("size"), name == "rpu" || name == "hdr10+" { return "requested: size" }
        return nil
    }

    /// How the color of an output differs from its input's.
    enum ColorChange {
        /// Not at all.
        case none
        /// In its range or the position of chroma samples.
        case samples
        /// In primaries, transfer function or matrix.
        case points

        /// The difference of two descriptions; a value that the first one leaves unspecified is none.
        init(_ old: ColorDescription, _ new: ColorDescription) {
            let points = [
                (old.primaries, new.primaries), (old.transfer, new.transfer), (old.matrix, new.matrix),
            ]
            let isSame = points.allSatisfy { $0 == ColorDescription.unspecified || $0 == $1 }
            let isSamePlace = old.chromaLocation == nil || old.chromaLocation == new.chromaLocation
            self = !isSame ? .points : old.isFullRange == new.isFullRange && isSamePlace ? .none : .samples
        }
    }
}
