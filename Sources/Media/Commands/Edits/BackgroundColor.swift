// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDColor
internal import HWDEdits
internal import HWDModel

/// The color that `hwctl encode --background` puts behind pictures with alpha.
struct BackgroundColor: Hashable {
    /// R'G'B', 0…255 each.
    let color: BackgroundCompositor.RGB
    let primaries: Primaries

    /// `RRGGBB` of BT.709's primaries, or `RRGGBB@p3` of Display P3; nil for everything else.
    init?(text: String) {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count <= 2, let color = BackgroundCompositor.RGB(text: String(parts[0])) else { return nil }
        self.color = color
        switch parts.count > 1 ? parts[1].lowercased() : "srgb" {
        case "srgb": primaries = .bt709
        case "p3": primaries = .displayP3
        default: return nil
        }
    }

    /// Composites a video's pictures over the color, which is converted to the video's own.
    ///
    /// SDR's curves are all read like the video's, so that the codes of a color with the video's primaries stay, as in
    /// browsers; for PQ and HLG the color's curve is sRGB's.
    ///
    /// - Throws: `PixelTransferNotSupported` for a video of a color that is not known.
    func compositor(
        _ video: ColorDescription, width: Int, height: Int, isPremultiplied: Bool
    ) throws(SessionError) -> BackgroundCompositor {
        var target = try SignalDescription(video, width: width, height: height)
        // Nobody has named other primaries, and a guess from the size would change the color.
        if video.primaries == ColorDescription.unspecified { target.primaries = .bt709 }
        var source = SignalDescription(primaries: primaries, transfer: target.transfer)
        if target.transfer == .pq || target.transfer == .hlg { source.transfer = .sRGB }
        let side = 2
        let converter = try ReferenceConverter(
            Conversion(
                source: ImageDescription(format: .rgba8, width: side, height: side, signal: source),
                target: ImageDescription(format: .yu12, width: side, height: side, signal: target)))
        var picture = Picture(.rgba8, width: side, height: side)
        for place in 0..<side * side {
            let (x, y) = (place % side, place / side)
            for (component, value) in [color.red, color.green, color.blue, 255].enumerated() {
                picture[component, x, y] = Int(value)
            }
        }
        let codes = converter.values(picture).prefix(3).map { Int($0[0].rounded()) }
        return BackgroundCompositor(codes: codes, isFullRange: target.isFullRange, isPremultiplied: isPremultiplied)
    }
}
