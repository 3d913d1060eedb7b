// SPDX-License-Identifier: GPL-2.0-or-later
public import ArgumentParser
public import HWDColor
internal import HWDPolicy
internal import HWDWire

/// The options about how pictures are scaled that several commands have.
struct FilterArguments: ParsableArguments {
    @Option(help: "The filter of scaled pictures: lanczos (three lobes, the default) or bilinear.")
    var filter: ScalingOptions.Filter?

    @Option(help: "What is filtered: coded values (the default) or linear light.")
    var filterLight: ScalingOptions.Light?
}

/// The options of `hwctl convert` about size.
struct ScalingArguments: ParsableArguments {
    @Option(help: ArgumentHelp("The size of the frames of OUTPUT; --size by default.", valueName: "WxH"))
    var toSize: String?

    @OptionGroup
    var filtering: FilterArguments

    @Option(
        help: """
            Which part of a frame is shown, as kVTScalingMode: Normal, CropSourceToCleanAperture, Letterbox or Trim.
            """)
    var scalingMode: ScalingOptions.Mode?

    @Option(
        help: ArgumentHelp(
            "The part of a frame that the modes but Normal show; all of it by default.", valueName: "WxH+X+Y"))
    var cleanAperture: String?

    /// The width and height of the converted frames; nil for those of the source.
    var dimensions: (width: Int, height: Int)? { toSize.flatMap(PictureSizeText.parse) }

    func validate() throws {
        if let toSize, dimensions == nil {
            throw ValidationError("--to-size takes \(PictureSizeText.example), not '\(toSize)'.")
        }
        if let cleanAperture, PropertyText.aperture(cleanAperture) == nil {
            throw ValidationError(
                "--clean-aperture takes a rectangle such as 1920x800+0+140, not '\(cleanAperture)'.")
        }
        if cleanAperture != nil, scalingMode ?? .normal == .normal {
            throw ValidationError("--clean-aperture needs --scaling-mode with another mode than Normal.")
        }
    }

    /// Adds what is given to the options of a session.
    func apply(to options: inout CreateTransferSession.Options) {
        options.scalingFilter = filtering.filter?.rawValue
        options.scalingLight = filtering.filterLight?.rawValue
        options.scalingMode = scalingMode?.rawValue
        options.cleanAperture = cleanAperture
    }
}

/// The text of a picture's size.
enum PictureSizeText {
    static let example = "a size such as 1920x1080, up to 16384x16384"

    /// Parses `WxH`; nil for other text and impossible sizes.
    static func parse(_ text: String) -> (width: Int, height: Int)? {
        let parts = text.split(separator: "x", omittingEmptySubsequences: false)
        guard parts.count == 2, let width = Int(parts[0]), let height = Int(parts[1]),
            (1...16384).contains(width), (1...16384).contains(height)
        else { return nil }
        return (width, height)
    }

    /// Whether a size can become another: 8 times as large or small at most.
    static func canScale(_ from: (width: Int, height: Int), _ to: (width: Int, height: Int)) -> Bool {
        let factors = [Double(to.width) / Double(from.width), Double(to.height) / Double(from.height)]
        return factors.allSatisfy { max($0, 1 / $0) <= ScalingGeometry.largestFactor }
    }
}

extension ScalingOptions.Filter: ExpressibleByArgument {}
extension ScalingOptions.Light: ExpressibleByArgument {}
extension ScalingOptions.Mode: ExpressibleByArgument {}
