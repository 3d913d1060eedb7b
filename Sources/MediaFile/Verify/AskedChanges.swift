// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDModel

/// The changes that an output was made with: a loss of them is expected.
public struct AskedChanges: Hashable, Sendable {
    /// The items of a receipt that may be lost, with what each compares.
    public static let items: [(name: String, meaning: String)] = [
        ("frames", "each picture of the input is there once, at its time"),
        ("timestamps", "the presentation times, to one tick of the coarser time base"),
        ("duration", "the end of the last picture, to 1 ms"),
        ("size", "the displayed width and height"),
        ("aspect", "the aspect ratio of a sample"),
        ("rotation", "the display matrix"),
        ("fields", "whether frames hold two fields, and their order"),
        ("depth", "bits of a sample, up to the 10 that are coded"),
        ("chroma", "chroma samples of a picture, 4:2:0 at most"),
        ("color", "primaries, transfer function, matrix and range, in boxes and in the coded stream"),
        ("mastering", "the mastering display (mdcv, SEI message 137), byte for byte"),
        ("light", "the content light levels (clli, SEI message 144), byte for byte"),
        ("ambient", "the ambient viewing environment (amve, SEI message 148), byte for byte"),
        ("dolby-vision", "the Dolby Vision configuration record (dvcC, dvvC)"),
        ("rpu", "the Dolby Vision RPU of each picture, byte for byte at its time"),
        ("hdr10+", "the HDR10+ message of each picture, byte for byte at its time"),
        ("captions", "the CEA-608 and CEA-708 messages of HEVC pictures, byte for byte at their times"),
        ("alpha", "transparency"),
        ("levels", "temporal levels"),
        ("audio", "audio packets, byte for byte, and their times relative to the pictures to 10 ms"),
        ("subtitle", "subtitle packets, byte for byte, and their times"),
        ("streams", "other streams: more video, data, attachments, timecodes"),
        ("chapters", "times and titles of chapters"),
        ("metadata", "keys and values of the file's metadata, languages of streams"),
        ("pictures", "PSNR and SSIM of each component, and whether each picture is the one of its time"),
    ]

    /// The names of items.
    public var names: Set<String> = []
    /// The treatment of HDR; nil if it was not mentioned.
    public var hdr: HDRMode?
    /// The highest temporal level that is kept; nil keeps all.
    public var maxLevel: Int?
    /// Frames per second of an input that stores no rate.
    public var frameRate: Rational?
    /// How the input's colors relate to its alpha, where the file does not say so.
    public var sourceAlphaMode = AlphaChannelMode.straight
    /// Whether the input was only copied, so that its coded pictures must be the same.
    public var isCopy = false

    /// Nothing was asked for.
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
            case (let name, nil) where Self.items.contains { $0.name == name }: names.insert(name)
            default:
                let all = Self.items.map(\.name).joined(separator: ", ")
                throw MediaError(.usage, "'\(part)' is none of \(all), hdr=…, max-level=… and alpha-mode=…")
            }
        }
    }

    /// The list that was parsed, in alphabetical order.
    public var texts: [String] {
        (names.sorted() + [hdr.map { "hdr=\($0.rawValue)" }, maxLevel.map { "max-level=\($0)" }].compactMap { $0 })
    }

    /// Why a loss of an item is expected; nil where it is not.
    func reason(for name: String) -> String? {
        if names.contains(name) { return "asked for: \(name)" }
        if let hdr {
            let converted: Set = [
                "depth", "mastering", "light", "ambient", "dolby-vision", "rpu", "hdr10+",
            ]
            // HDR in 8 bits has visible steps.
            let metadata = converted.subtracting(["depth"])
            switch hdr {
            case .preserve: break
            case .sdr: if converted.contains(name) { return "asked for: hdr=\(hdr.rawValue)" }
            case .regenerate, .drop, .pq, .hlg:
                if metadata.contains(name) { return "asked for: hdr=\(hdr.rawValue)" }
            }
        }
        if let maxLevel, name == "levels" { return "asked for: max-level=\(maxLevel)" }
        // Statistics of the whole picture do not hold for other pictures.
        if names.contains("size"), name == "rpu" || name == "hdr10+" { return "asked for: size" }
        return nil
    }
}
