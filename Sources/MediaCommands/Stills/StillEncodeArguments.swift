// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser

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
            "Put the Exif of this file (TIFF, JPEG, PNG, HEIC), or of INPUT (copy), into a HEIC file.",
            valueName: "file|copy"))
    var exif: String?

    @Option(help: ArgumentHelp("Put this XMP document into a HEIC file.", valueName: "file"))
    var xmp: String?

    @Option(
        help: ArgumentHelp(
            "Put this ICC profile into a HEIC file, instead of the one that INPUT has.", valueName: "file"))
    var icc: String?

    @Option(help: "The primaries that the samples of a HEIC picture have; by default INPUT's.")
    var primaries: Primaries?

    @Option(help: ArgumentHelp("Put this picture into a HEIC file as its depth.", valueName: "file"))
    var depthMap: String?

    @Option(help: ArgumentHelp("Put this picture into a HEIC file as its gain map.", valueName: "file"))
    var gainMap: String?

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
            OptionWord("--depth-map", depthMap), OptionWord("--gain-map", gainMap),
            OptionWord("--burst", isGiven: burst), OptionWord("--cover", cover),
        ]
        return words.compactMap { $0 }
    }

    func validate() throws {
        if let tile, tile != 0, !(64...8192).contains(tile) || tile % 2 != 0 {
            throw ValidationError("--tile takes 0 or an even number from 64 to 8192, not \(tile).")
        }
        if let thumbnail, thumbnail != 0, !(16...4096).contains(thumbnail) {
            throw ValidationError("--thumbnail takes 0 or a number from 16 to 4096, not \(thumbnail).")
        }
        if let cover, cover < 1 { throw ValidationError("--cover takes the number of a picture, from 1.") }
    }
}
