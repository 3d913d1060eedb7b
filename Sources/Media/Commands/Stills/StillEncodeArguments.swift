// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDHEIF
internal import HWDModel

/// The options of `hwctl encode` for HEIC files.
struct StillEncodeArguments: ParsableArguments {
    enum Primaries: String, ExpressibleByArgument, CaseIterable {
        case bt709 = "709"
        case p3
        case bt2020 = "2020"

        /// The code point of ITU-T H.273.
        var code: UInt8 { [.bt709: 1, .p3: 12, .bt2020: 9][self] ?? 2 }
    }

    @Option(
        help: ArgumentHelp(
            """
            Of a HEIC picture, the width and height of its tiles, 64 to 8192; 0 is one tile. By default 512, and one tile for \
            pictures up to that.
            """, valueName: "n"))
    var tile: Int?

    @Option(
        help: ArgumentHelp(
            "Of a HEIC picture, the most samples on a side of its thumbnail; 320 by default, 0 is none.",
            valueName: "max"))
    var thumbnail: Int?

    @Option(
        help: ArgumentHelp(
            """
            The Exif of a HEIC file: INPUT's (keep, which is the default, or copy), none (drop), or that of this file (TIFF, \
            JPEG, PNG, HEIC; one named keep, copy or drop needs ./). It has orientation 1; only INPUT's own turns the picture. \
            Given keep is an error for an INPUT without Exif.
            """,
            valueName: "keep|drop|file"))
    var exif: String?

    @Option(
        help: ArgumentHelp(
            "Put this XMP document into a HEIC file; by default that of a HEIC INPUT, unless --exif drop is given.",
            valueName: "file"))
    var xmp: String?

    @Option(
        help: ArgumentHelp(
            "Put this ICC profile into a HEIC file, instead of the one that INPUT has.", valueName: "file"))
    var icc: String?

    @Option(help: "The primaries that the samples of a HEIC picture have; by default INPUT's.")
    var primaries: Primaries?

    @Option(help: ArgumentHelp("Put this picture into a HEIC file as its depth.", valueName: "file"))
    var depthMap: String?

    @Option(
        help: ArgumentHelp(
            "The disparities in 1/m that black and white of --depth-map stand for, such as 1.5:4.38.",
            valueName: "min:max"))
    var depthRange: String?

    @Option(help: ArgumentHelp("Put this picture into a HEIC file as its gain map.", valueName: "file"))
    var gainMap: String?

    @Option(
        help: ArgumentHelp(
            "Read INPUT as headerless full-range samples of this size, for a HEIC picture.", valueName: "WxH"))
    var rawSize: String?

    @Option(
        help: ArgumentHelp(
            """
            The pixel format of headerless samples: nv12, p010, i420 (the default), i010 or yuva. The colors of yuva must \
            already be in the mode of --alpha: they are not converted.
            """, valueName: "format"))
    var rawFormat: RawFormat?

    @Flag(help: "Put several pictures into one HEIC file as a burst.")
    var burst = false

    @Option(
        help: ArgumentHelp(
            "Of a burst or an image sequence, the picture that is shown first; 1 by default.", valueName: "n"))
    var cover: Int?

    /// The options that are given.
    var words: [OptionWord] {
        let words: [OptionWord?] = [
            OptionWord("--tile", tile), OptionWord("--thumbnail", thumbnail), OptionWord("--exif", exif),
            OptionWord("--xmp", xmp), OptionWord("--icc", icc), OptionWord("--primaries", primaries?.rawValue),
            OptionWord("--depth-map", depthMap), OptionWord("--depth-range", depthRange),
            OptionWord("--gain-map", gainMap), OptionWord("--raw-size", rawSize),
            OptionWord("--raw-format", rawFormat?.rawValue),
            OptionWord("--burst", isGiven: burst), OptionWord("--cover", cover),
        ]
        return words.compactMap { $0 }
    }

    /// What `--raw-size` and `--raw-format` say of the inputs; nil for inputs with a header.
    var raw: RawStill? {
        rawSize.flatMap(PictureSizeText.parse).map {
            RawStill(format: rawFormat?.pixelFormat ?? .yu12, width: $0.width, height: $0.height)
        }
    }

    /// The disparities of `--depth-range`; nil where it is not given, or no range.
    var disparities: DepthRange? {
        let parts = (depthRange ?? "").split(separator: ":", omittingEmptySubsequences: false).map { Double($0) }
        guard parts.count == 2, let low = parts[0], let high = parts[1] else { return nil }
        return DepthRange(min: low, max: high)
    }

    private func validateRaw() throws {
        if let rawSize, raw == nil {
            throw ValidationError("--raw-size takes \(PictureSizeText.example), not '\(rawSize)'.")
        }
        guard let rawFormat else { return }
        if rawSize == nil { throw ValidationError("--raw-format needs --raw-size.") }
        if !rawFormat.pixelFormat.isYCbCr {
            throw ValidationError("--raw-format takes nv12, p010, i420, i010 or yuva, not \(rawFormat.rawValue).")
        }
    }

    func validate() throws {
        try validateRaw()
        if let depthRange {
            if depthMap == nil { throw ValidationError("--depth-range needs --depth-map.") }
            if disparities == nil {
                throw ValidationError("--depth-range takes \(DepthRange.example), not '\(depthRange)'.")
            }
        }
        if let tile, tile != 0, !(64...8192).contains(tile) || tile % 2 != 0 {
            throw ValidationError("--tile takes 0 or an even number from 64 to 8192, not \(tile).")
        }
        if let thumbnail, thumbnail != 0, !(16...4096).contains(thumbnail) {
            throw ValidationError("--thumbnail takes 0 or a number from 16 to 4096, not \(thumbnail).")
        }
        if let cover, cover < 1 { throw ValidationError("--cover takes the number of a picture, from 1.") }
    }
}
