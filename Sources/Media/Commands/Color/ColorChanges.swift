// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDLibAVReading
internal import HWDModel

/// Frames whose color differs from the first one's, and was converted; counted.
struct ColorChanges {
    /// Frames of another color than the first segment's.
    private(set) var frames = 0
    /// Converted frames whose dynamic metadata were left out.
    private var withoutMetadata = 0
    private var first: String?
    private let source: ColorDescription
    private let target: ColorDescription

    init(_ plan: EncodeColor) { (source, target) = (plan.source, plan.target) }

    mutating func note(_ frame: SourceFrame, _ color: ColorDescription, changesColor: Bool = true) {
        if frame.sideData.contains(where: \.kind.isDynamic) { withoutMetadata += 1 }
        guard changesColor, color != source else { return }
        frames += 1
        first = first ?? "frame \(frame.index) is \(color.name)"
    }

    /// A warning about dynamic HDR metadata in one line; nil where none were left out.
    var metadataWarning: String? {
        guard withoutMetadata > 0 else { return nil }
        return
            "warning: the dynamic HDR metadata of \(Console.count(withoutMetadata, "frame")) are left out: their pictures were converted"
    }

    /// A warning in one line; nil without changes.
    var warning: String? {
        guard let first else { return nil }
        let what = frames == 1 ? "1 frame is" : "\(frames) frames are"
        return "warning: the color changes within the input: \(what) converted to \(target.name), first: \(first)"
    }
}

extension ColorDescription {
    /// A short name for messages, such as `BT.2020 PQ (9/16/9)`, with the code points of H.273.
    var name: String {
        guard isSpecified else { return "without a color description" }
        let primaries: [UInt8: String] = [
            1: "BT.709", 5: "BT.601", 6: "BT.601", 9: "BT.2020", 11: "DCI-P3", 12: "Display P3",
        ]
        let transfers: [UInt8: String] = [
            1: "SDR", 6: "SDR", 8: "linear", 13: "sRGB", 14: "SDR", 15: "SDR", 16: "PQ", 18: "HLG",
        ]
        var parts = [primaries[self.primaries], transfers[transfer]].compactMap { $0 }
        parts.append("(\(self.primaries)/\(transfer)/\(matrix))")
        if isFullRange { parts.append("full range") }
        return parts.joined(separator: " ")
    }
}
