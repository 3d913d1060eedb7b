// SPDX-License-Identifier: GPL-2.0-or-later

extension ConversionPlan {
    /// The target's codes of a pixel at full chroma resolution, not rounded.
    ///
    /// - Parameter codes: The source's codes, with chroma interpolated at the pixel.
    /// - Parameter alpha: The source's alpha, 0…1; 1 where it has none.
    /// - Parameter position: The pixel's column and row.
    public func convert(
        _ codes: Triple, alpha sourceAlpha: Double, at position: (x: Int, y: Int) = (0, 0)
    ) -> (codes: Triple, alpha: Double) {
        var (color, alpha) = (decode(mapping?.map(codes) ?? codes), sourceAlpha)
        if unpremultiplies { color = sourceAlpha > 0 ? color / sourceAlpha : .zero }
        if !keepsValues { (color, alpha) = toTarget(color, alpha, at: position) }
        if premultiplies { color *= alpha }
        return (encode(color), alpha)
    }

    /// Converts the source's R'G'B' to the target's through linear light, where effects may change alpha.
    private func toTarget(
        _ value: Triple, _ sourceAlpha: Double, at position: (x: Int, y: Int)
    ) -> (color: Triple, alpha: Double) {
        var color = clipsSource ? value.clamped(lowerBound: .zero, upperBound: .one) : value
        var alpha = sourceAlpha
        color = lightOfSource(color)
        if let toneMapping { color *= toneMapping.gain(largest: color.max()) }
        color = light(color)
        for effect in effects { (color, alpha) = effect.apply(color, alpha, at: position) }
        if let targetHLG {
            color *= targetHLG.sceneGain(displayLuminance: (targetHLG.luminance * color).sum())
        }
        let transfer = conversion.target.signal.transfer
        color *= inverseScale
        color = [transfer.encode(color.x), transfer.encode(color.y), transfer.encode(color.z)]
        if clipsTarget { return (color.clamped(lowerBound: .zero, upperBound: .one), alpha) }
        return (transfer == .pq ? color.clamped(lowerBound: -.one, upperBound: .one) : color, alpha)
    }

    /// Linear light of the source's primaries, reference white at 1, before tone mapping.
    public func lightOfSource(_ value: Triple) -> Triple {
        let transfer = conversion.source.signal.transfer
        var color: Triple = [transfer.decode(value.x), transfer.decode(value.y), transfer.decode(value.z)]
        color *= forwardScale
        if let mapping { color = mapping.light * color }
        if let sourceHLG {
            color *= sourceHLG.displayGain(sceneLuminance: (sourceHLG.luminance * color).sum())
        }
        return color
    }

    /// The 8x8 Bayer pattern 0…63: dithered codes are floor(x + (pattern + 0.5) / 64).
    public static func dither(x: Int, y: Int) -> Int {
        var value = 0
        for bit in 0..<3 {
            let (a, b) = (x >> bit & 1, y >> bit & 1)
            value = value << 2 | (a ^ b) << 1 | b
        }
        return value
    }
}
