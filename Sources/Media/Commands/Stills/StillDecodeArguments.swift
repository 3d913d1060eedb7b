// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDHEIF

/// The options of `hwctl decode` for HEIC pictures.
struct StillDecodeArguments: ParsableArguments {
    enum Auxiliary: String, ExpressibleByArgument, CaseIterable {
        case alpha, depth, gainmap

        var kind: AuxiliaryKind { [.alpha: .alpha, .depth: .depth, .gainmap: .gainMap][self] ?? .other }
    }

    @Option(
        help: ArgumentHelp(
            "Of a HEIC file, the picture of this item; hwctl info lists them. By default the primary one.",
            valueName: "n"))
    var item: UInt32?

    @Option(
        help: ArgumentHelp(
            "Of a HEIC image sequence, its picture of this number, from 1, with its alpha.", valueName: "n"))
    var frame: Int?

    @Option(
        help: ArgumentHelp(
            "Of a HEIC picture, decode this part alone, in samples of the shown picture.", valueName: "WxH+X+Y"))
    var region: String?

    @Option(
        help: ArgumentHelp(
            "Of a HEIC picture, a small one whose sides have at most this many samples: its thumbnail where that suffices.",
            valueName: "max"))
    var thumbnail: Int?

    @Option(help: "Of a HEIC picture, its auxiliary picture of this kind, in gray.")
    var aux: Auxiliary?

    @Option(
        help: ArgumentHelp(
            "Write the Exif of a HEIC picture to this file, with orientation 1, because OUTPUT is upright.",
            valueName: "file"))
    var exif: String?

    /// The first option that is given; nil without any.
    var given: String? {
        if item != nil { return "--item" }
        if frame != nil { return "--frame" }
        if region != nil { return "--region" }
        if thumbnail != nil { return "--thumbnail" }
        if aux != nil { return "--aux" }
        return exif == nil ? nil : "--exif"
    }

    /// The region; nil where it is not given, or no region.
    var rect: PixelRect? {
        guard let region else { return nil }
        let parts = region.split(separator: "+", omittingEmptySubsequences: false)
        let size = parts.first?.split(separator: "x", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, size.count == 2 else { return nil }
        let numbers = (size + parts.dropFirst()).compactMap { text in
            text.allSatisfy { $0.isASCII && $0.isNumber } && text.count <= 8 ? Int(text) : nil
        }
        guard numbers.count == 4, numbers[0] > 0, numbers[1] > 0 else { return nil }
        return PixelRect(x: numbers[2], y: numbers[3], width: numbers[0], height: numbers[1])
    }

    func validate() throws {
        if let region, rect == nil {
            throw ValidationError("--region takes a size and a place, such as 1000x800+20+0, not '\(region)'.")
        }
        if let thumbnail, !(1...65536).contains(thumbnail) {
            throw ValidationError("--thumbnail takes a number from 1 to 65536, not \(thumbnail).")
        }
        if let frame, frame < 1 { throw ValidationError("--frame takes the number of a picture, from 1.") }
        if item != nil, frame != nil {
            throw ValidationError("--item and --frame contradict each other: use one of them.")
        }
        if region != nil, thumbnail != nil {
            throw ValidationError("--region and --thumbnail contradict each other: use one of them.")
        }
    }
}
