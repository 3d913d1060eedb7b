// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSystem

/// The values of other programs' options, in the words of ours.
extension ForeignOptions {
    /// The quality of a constant rate factor: 40 - 38 · quality.
    static func quality(_ factor: String) -> String? {
        guard let factor = Double(factor), (0...51).contains(factor) else { return nil }
        return DecimalText.text(max(0, min(1, (40 - factor) / 38)), 2)
    }

    /// The values of `--preset` that are x265's.
    package static let x265Presets = [
        "ultrafast", "superfast", "veryfast", "faster", "fast", "medium", "slow", "slower", "veryslow", "placebo",
    ]

    /// The options for a preset of x265, or of NVENC: its p1 to p7 are the fastest to the best.
    static func preset(_ name: String) -> String? {
        switch name {
        case _ where x265Presets.contains(name): "--preset \(name)"
        case "p1", "p2", "p3": "--speed fast"
        case "p4": "--speed balanced"
        case "p5", "p6", "p7": "--speed best"
        default: nil
        }
    }

    /// Bytes per second of a rate such as 6M.
    static func bytes(_ rate: String) -> Int? {
        ScaledNumber.whole(rate).map { Int($0 / 8) }
    }

    /// 1280x720 and 1280:-1, and heights such as 720p.
    static func size(_ text: String) -> String? {
        if text.last == "p", let height = Int(text.dropLast()), height > 0 { return "--max-height \(height)" }
        let sides = text.split(whereSeparator: { "x:".contains($0) }).map { $0 == "-1" ? "-2" : String($0) }
        guard sides.count == 2, sides.allSatisfy({ Int($0) != nil }) else { return nil }
        return "--size \(sides.joined(separator: "x"))"
    }

    /// Whether a text is a number without a sign.
    static func number(_ text: String) -> Bool {
        !text.isEmpty && text.allSatisfy { $0.isASCII && $0.isNumber } && Int(text) != nil
    }

    /// Whether a text is a number with decimals, or a fraction such as 30000/1001.
    static func fraction(_ text: String) -> Bool {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        return (1...2).contains(parts.count)
            && parts.allSatisfy { part in
                part.allSatisfy { $0.isASCII && $0.isNumber || $0 == "." } && Double(part) != nil
            }
    }

    /// The names of the values of ffmpeg's filters that have words of ours, in their order.
    private static let filterValues = [
        "scale": ["w", "h"], "eq": ["saturation"], "lut3d": ["file"], "crop": ["w", "h", "x", "y"], "fps": ["fps"],
        "transpose": ["dir"],
    ]

    /// The values of one of ffmpeg's filters in the order of their names; nil where some are missing, or others are there.
    static func values(_ filter: String, _ text: String) -> [String]? {
        guard let names = filterValues[filter] else { return nil }
        var values: [String?] = names.map { _ in nil }
        // How scale filters has another name here.
        let parts = text.split(separator: ":").filter { !(filter == "scale" && $0.hasPrefix("flags=")) }
        for (index, part) in parts.enumerated() {
            let pair = part.split(separator: "=", maxSplits: 1).map(String.init)
            let position = pair.count == 2 ? names.firstIndex(of: pair[0]) : index
            guard let position, values.indices.contains(position), values[position] == nil else { return nil }
            values[position] = pair.last
        }
        let found = values.compactMap { $0 }
        return found.count == names.count ? found : nil
    }

    static func pixelFormat(_ name: String) -> String? {
        let names = [
            "yuv420p": "i420", "yuv420p10le": "i010", "yuva420p": "yuva", "rgba": "rgba8", "bgra": "bgra8",
        ]
        return (name == "nv12" ? name : names[name]).map { "--format \($0)" }
    }

    /// Our options for a chain of ffmpeg's filters; nil where one of them has none.
    static func filter(_ chain: String) -> String? {
        var words: [String] = []
        for filter in chain.split(separator: ",") {
            let parts = filter.split(separator: "=", maxSplits: 1).map(String.init)
            guard let values = values(parts[0], parts.count > 1 ? parts[1] : "") else { return nil }
            let numbers = values.allSatisfy { Int($0) != nil }
            switch parts[0] {
            case "scale" where numbers: words += size(values.joined(separator: ":")).map { [$0] } ?? []
            case "eq" where parts[1].hasPrefix("saturation=") && fraction(values[0]):
                words.append("--effect saturation:s=\(values[0])")
            case "lut3d": words.append("--effect \(quoted("lut:file=\(values[0])"))")
            case "crop" where numbers: words.append("--crop \(values.joined(separator: ":"))")
            case "fps" where fraction(values[0]): words.append("--output-frame-rate \(values[0])")
            case "transpose" where values[0] == "1" || values[0] == "clock": words.append("--rotate 90")
            case "transpose" where values[0] == "2" || values[0] == "cclock": words.append("--rotate 270")
            default: return nil
            }
        }
        return words.isEmpty ? nil : words.joined(separator: " ")
    }
}
