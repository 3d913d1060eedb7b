// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDModel

/// The options of `hwctl decode` about the pictures that it writes.
struct DecodePictureArguments: ParsableArguments {
    /// What converts to RGB.
    enum Device: String, ExpressibleByArgument, CaseIterable {
        case auto, vulkan, cpu
    }

    enum Alpha: String, ExpressibleByArgument, CaseIterable {
        case premultiplied, straight

        var mode: AlphaChannelMode { self == .premultiplied ? .premultiplied : .straight }
    }

    enum Primaries: String, ExpressibleByArgument, CaseIterable {
        case bt709 = "709"
        case p3
        case bt2020 = "2020"

        /// The code point of ITU-T H.273.
        var code: Int64 { [.bt709: 1, .p3: 12, .bt2020: 9][self] ?? 2 }
    }

    @Option(help: "The pixel format; by default planar (i420, or i010 for more than 8 bits).")
    var format: RawFormat?

    @Option(help: "How the colors of RGBA pictures relate to alpha: premultiplied or straight.")
    var alpha: Alpha?

    @Option(help: ArgumentHelp("The color that pictures with alpha are composited over.", valueName: "RRGGBB"))
    var background: String?

    @Flag(
        help:
            "Write .png files as the stream codes them: HDR is not tone-mapped, and pictures are not turned upright."
    )
    var rawColor = false

    @Option(help: "The primaries of rgba16f (p3 by default), bgra8 and rgba8 (709 by default).")
    var primaries: Primaries?

    @Option(
        parsing: .unconditional, help: "Luminance of the linear value 1.0 in rgba16f, in cd/m²; 203 by default.")
    var referenceWhite: Double?

    @Option(help: "What converts to RGB; auto is a GPU if there is one.")
    var device: Device?

    @Flag(name: .customLong("apply-rpu"), help: "Map pictures by their Dolby Vision RPUs when they become RGB.")
    var appliesRPU = false
}
