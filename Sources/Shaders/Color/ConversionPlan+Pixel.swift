// SPDX-License-Identifier: GPL-2.0-or-later

extension ConversionPlan {
    /// The target's codes of a pixel at full chroma resolution, not rounded.
    ///
    /// - Parameter codes: The source's codes, with chroma interpolated at the pixel.
    /// - Parameter alpha: The source's alpha, 0…1; 1 where it has none.
    public func convert(_ codes: Triple, alpha sourceAlpha: Double) -> (codes: Triple, alpha: Double) {
        var (color, alpha) = (decode(mapping?.map(codes) ?? codes), sourceAlpha)
        if let key = conversion.options.effects.chromaKey {
            let chroma = keyMatrix * color
            alpha *= key.alpha(cb: chroma.y, cr: chroma.z)
        }
        if unpremultiplies { color = sourceAlpha > 0 ? color / sourceAlpha : .zero }
        if !keepsValues { color = toTarget(color) }
        if premultiplies { color *= alpha }
        return (encode(color), alpha)
    }

    /// Converts the source's R'G'B' to the target's through linear light.
    private func toTarget(_ value: Triple) -> Triple {
        var color = clipsSource ? value.clamped(lowerBound: .zero, upperBound: .one) : value
        color = lightOfSource(color)
        if let toneMapping { color *= toneMapping.gain(largest: color.max()) }
        color = light * color
        if let targetHLG {
            color *= targetHLG.sceneGain(displayLuminance: (targetHLG.luminance * color).sum())
        }
        let transfer = conversion.target.signal.transfer
        color *= inverseScale
        color = [transfer.encode(color.x), transfer.encode(color.y), transfer.encode(color.z)]
        if clipsTarget { return color.clamped(lowerBound: .zero, upperBound: .one) }
        return transfer == .pq ? color.clamped(lowerBound: -.one, upperBound: .one) : color
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
