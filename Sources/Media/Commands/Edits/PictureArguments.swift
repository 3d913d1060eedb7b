// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDColor
internal import HWDModel

/// The options of `hwctl encode` about the picture's size, part and orientation, and about the frame rate.
struct PictureArguments: ParsableArguments {
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Scale to this size, as it is displayed; either number may be -2, which keeps the proportions.",
            valueName: "WxH"))
    var size: String?

    @Option(
        help: ArgumentHelp("Scale pictures that are taller than this down to it.", valueName: "n"))
    var maxHeight: Int?

    @OptionGroup
    var filtering: FilterArguments

    @Option(
        help: ArgumentHelp(
            "Keep a part of the displayed picture, W by H samples from X and Y on.", valueName: "W:H:X:Y"))
    var crop: String?

    @Option(help: ArgumentHelp("Rotate the samples clockwise.", valueName: "90|180|270"))
    var rotate: Int?

    @Option(
        help: ArgumentHelp(
            "Let players turn the picture clockwise; samples stay as they are.", valueName: "0|90|180|270"))
    var orientation: Int?

    @Option(
        help: ArgumentHelp(
            "Frames per second of OUTPUT: frames are left out or repeated by their times.", valueName: "rate"))
    var outputFrameRate: String?

    @Option(
        help: ArgumentHelp(
            "Put a color behind an input with alpha, in sRGB or Display P3; the output has no alpha.",
            valueName: "RRGGBB[@p3]"))
    var background: String?

    @OptionGroup
    var effects: EffectArguments

    /// The smallest width and height that may be requested.
    private static let smallest = 16

    func validate() throws {
        if size != nil, maxHeight != nil {
            throw ValidationError("--size and --max-height contradict each other: use one of them.")
        }
        if let size, let number = Int(size), Self.isPossible(number) {
            throw ValidationError(
                "--size \(size) has no height: --size \(size)x-2 keeps the proportions (or --max-height \(size)).")
        }
        if let size, request.size == nil {
            throw ValidationError(
                "--size takes a width and a height, even numbers from 16 to 16384, such as 1280x720 or 1280x-2, not '\(size)'."
            )
        }
        if let maxHeight, !Self.isPossible(maxHeight) {
            throw ValidationError("--max-height takes an even number from 16 to 16384, not \(maxHeight).")
        }
        if let crop, request.crop == nil {
            throw ValidationError(
                "--crop takes four even numbers W:H:X:Y, such as 1920:800:0:140, W and H 16 or more, not '\(crop)'."
            )
        }
        if let rotate, ![90, 180, 270].contains(rotate) {
            throw ValidationError("--rotate takes 90, 180 or 270, not \(rotate).")
        }
        if let orientation, ![0, 90, 180, 270].contains(orientation) {
            throw ValidationError("--orientation takes 0, 90, 180 or 270, not \(orientation).")
        }
        if let background, request.background == nil {
            throw ValidationError(
                "--background takes six hexadecimal digits, and @p3 for Display P3, such as ff8800@p3, not '\(background)'."
            )
        }
        try OptionCheck.rate("--output-frame-rate", outputFrameRate)
    }

    private static func isPossible(_ number: Int) -> Bool { (smallest...16384).contains(number) && number % 2 == 0 }

    /// What is requested.
    var request: PictureRequest {
        var request = PictureRequest()
        if let parts = size?.split(separator: "x", omittingEmptySubsequences: false).map({ Int($0) }),
            parts.count == 2, let width = parts[0], let height = parts[1], width != -2 || height != -2,
            [width, height].allSatisfy({ $0 == -2 || Self.isPossible($0) })
        {
            request.size = PictureRequest.Size(
                width: width == -2 ? nil : width, height: height == -2 ? nil : height)
        }
        request.maxHeight = maxHeight
        (request.filter, request.light) = (filtering.filter, filtering.filterLight)
        if let parts = crop?.split(separator: ":", omittingEmptySubsequences: false).map({ UInt32($0) }),
            parts.count == 4, let width = parts[0], let height = parts[1], let x = parts[2], let y = parts[3],
            Self.isPossible(Int(width)), Self.isPossible(Int(height)), x % 2 == 0, y % 2 == 0, x <= 16384,
            y <= 16384
        {
            request.crop = PictureRectangle(x: x, y: y, width: width, height: height)
        }
        request.rotation = rotate ?? 0
        request.orientation = orientation
        request.frameRate = outputFrameRate.flatMap { Rational(text: $0) }
        request.background = background.flatMap(BackgroundColor.init)
        request.effects = effects.list
        return request
    }

    /// Whether a size is requested.
    var scales: Bool { size != nil || maxHeight != nil }

    /// The given options about the filter.
    var filterWords: [OptionWord] {
        [
            OptionWord("--filter", filtering.filter?.rawValue),
            OptionWord("--filter-light", filtering.filterLight?.rawValue),
        ].compactMap { $0 }
    }

    /// The given options.
    var words: [OptionWord] {
        filterWords
            + [
                OptionWord("--size", size), OptionWord("--max-height", maxHeight), OptionWord("--crop", crop),
                OptionWord("--rotate", rotate), OptionWord("--orientation", orientation),
                OptionWord("--output-frame-rate", outputFrameRate), OptionWord("--background", background),
            ].compactMap { $0 } + effects.effects.compactMap { OptionWord("--effect", $0) }
    }
}

/// What an output's pictures are asked to be, as they are displayed.
struct PictureRequest: Hashable {
    /// A size, of which nil follows from the proportions.
    struct Size: Hashable {
        var width: Int?
        var height: Int?
    }

    var size: Size?
    /// The most rows.
    var maxHeight: Int?
    /// The scaling filter; nil for the default.
    var filter: ScalingOptions.Filter?
    /// The values that the filter weighs; nil for the default.
    var light: ScalingOptions.Light?
    /// The part that is kept.
    var crop: PictureRectangle?
    /// Degrees clockwise.
    var rotation = 0
    /// Degrees that players turn the picture by; nil leaves the source's.
    var orientation: Int?
    /// Frames per second.
    var frameRate: Rational?
    /// What is behind pictures with alpha, which is left out then; nil leaves alpha as it is.
    var background: BackgroundColor?

    /// What changes the colors.
    var effects = EffectList()

    /// The size of the part that is kept, before it is turned; nil for the whole picture.
    var keptSize: (width: Int, height: Int)? { crop.map { (Int($0.width), Int($0.height)) } }
}
