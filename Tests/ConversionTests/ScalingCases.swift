// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel

/// Conversions that scale, for tests of every converter.
enum ScalingCases {
    static let pq = SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020, siting: .topLeft)

    static func image(
        _ format: PixelFormat, _ width: Int, _ height: Int, _ signal: SignalDescription? = nil,
        _ alpha: AlphaMode = .premultiplied
    ) -> ImageDescription {
        let usual = SignalDescription(transfer: format == .rgba16f ? .linear : format.isRGB ? .sRGB : .bt1886)
        return ImageDescription(
            format: format, width: width, height: height, signal: signal ?? usual, alpha: alpha)
    }

    /// One step: the scaling writes the target.
    static var direct: [Conversion] {
        let sizes = [((96, 64), (48, 32)), ((53, 37), (97, 61)), ((61, 83), (20, 19)), ((17, 15), (18, 16))]
        let pairs: [(PixelFormat, PixelFormat)] = [
            (.nv12, .nv12), (.p010, .p010), (.yu12, .i010), (.i010, .p010), (.nv12, .yu12), (.yuva, .yuva),
            (.nv12, .yuva), (.bgra8, .rgba8), (.rgba8, .rgba8), (.rgba16f, .rgba16f), (.p010, .nv12),
        ]
        return pairs.enumerated().map { index, formats in
            let (from, to) = sizes[index % sizes.count]
            var options = ConversionOptions()
            options.scaling.filter = index % 3 == 2 ? .bilinear : .lanczos
            return Conversion(
                source: image(formats.0, from.0, from.1), target: image(formats.1, to.0, to.1), options: options)
        }
    }

    /// Every pair of sitings.
    static var sitings: [Conversion] {
        ChromaSiting.allCases.flatMap { from in
            ChromaSiting.allCases.map { to in
                Conversion(
                    source: image(.nv12, 47, 35, SignalDescription(siting: from)),
                    target: image(.nv12, 30, 52, SignalDescription(siting: to)))
            }
        }
    }

    /// Pictures whose width becomes a half, of odd sizes and wider than what loops filter at a time.
    static var halved: [Conversion] {
        let sizes = [((66, 40), (33, 20)), ((402, 37), (201, 61)), ((130, 50), (65, 7)), ((8222, 12), (4111, 6))]
        let pairs: [(PixelFormat, PixelFormat)] = [
            (.p010, .p010), (.i010, .i010), (.nv12, .nv12), (.yu12, .yu12), (.nv12, .i010), (.p010, .i010),
            (.i010, .p010), (.p010, .nv12), (.yuva, .yuva), (.rgba8, .rgba8), (.bgra8, .rgba8), (.rgba8, .rgba16f),
            (.rgba16f, .rgba16f),
        ]
        return pairs.enumerated().flatMap { index, formats in
            sizes.prefix(index < 4 ? 4 : 3).map { from, to in
                var options = ConversionOptions(dither: formats == (.p010, .nv12))
                options.scaling.filter = index % 4 == 3 ? .bilinear : .lanczos
                options.scaling.flipsVertically = index % 2 == 1
                return Conversion(
                    source: image(formats.0, from.0, from.1), target: image(formats.1, to.0, to.1),
                    options: options)
            }
        }
    }

    /// Modes, mirrored pictures and parts.
    static var modes: [Conversion] {
        let part = PictureRectangle(x: 5, y: 4, width: 50, height: 31)
        var cases: [ScalingOptions] = ScalingOptions.Mode.allCases.map {
            ScalingOptions(mode: $0, cleanAperture: part)
        }
        cases.append(ScalingOptions(flipsHorizontally: true))
        cases.append(ScalingOptions(flipsVertically: true))
        cases.append(ScalingOptions(mode: .trim, flipsHorizontally: true, flipsVertically: true))
        return cases.flatMap { scaling in
            [(PixelFormat.nv12, 64, 64), (.rgba8, 33, 70), (.i010, 81, 29)].map { format, width, height in
                Conversion(
                    source: image(format, 64, 48), target: image(format, width, height),
                    options: ConversionOptions(scaling: scaling))
            }
        }
    }

    /// Several steps: colors are converted, light is filtered, or colors are not multiplied by alpha.
    static var stepped: [Conversion] {
        let linear = ConversionOptions(scaling: ScalingOptions(light: .linear))
        let halves = SignalDescription(primaries: .displayP3, transfer: .linear)
        return [
            Conversion(source: image(.p010, 64, 36, pq), target: image(.rgba16f, 32, 18, halves)),
            Conversion(source: image(.nv12, 40, 30), target: image(.bgra8, 57, 41)),
            Conversion(source: image(.rgba8, 41, 31), target: image(.nv12, 20, 16)),
            Conversion(source: image(.nv12, 48, 32), target: image(.nv12, 24, 16), options: linear),
            Conversion(source: image(.p010, 48, 32, pq), target: image(.p010, 24, 20, pq), options: linear),
            Conversion(source: image(.rgba8, 30, 20), target: image(.rgba8, 45, 33), options: linear),
            Conversion(
                source: image(.rgba8, 30, 20, nil, .straight), target: image(.rgba8, 21, 33, nil, .straight)),
            Conversion(source: image(.rgba16f, 30, 20, halves), target: image(.rgba8, 21, 33)),
            Conversion(source: image(.p010, 64, 36, pq), target: image(.bgrx10, 32, 20, pq)),
            Conversion(source: image(.rgbx10, 48, 32, pq), target: image(.bgrx10, 31, 45, pq)),
            Conversion(source: image(.bgra10, 30, 20), target: image(.rgba10, 21, 33)),
            Conversion(
                source: image(.rgba10, 30, 20, nil, .straight), target: image(.rgba8, 45, 33, nil, .straight)),
            Conversion(source: image(.bgrx10, 40, 30), target: image(.rgba16f, 20, 15, halves), options: linear),
            Conversion(source: image(.rgba8, 30, 20), target: image(.bgra10, 45, 33)),
            Conversion(source: image(.rgba16f, 30, 20, halves), target: image(.rgbx10, 21, 33, pq)),
        ]
    }

    /// A separate plane of alpha, which only the CPU converts.
    static var alphaPlanes: [Conversion] {
        [
            Conversion(
                source: image(.yuva, 48, 30, nil, .straight), target: image(.yuva, 31, 45, nil, .straight)),
            Conversion(source: image(.yuva, 48, 30), target: image(.rgba8, 31, 45)),
        ]
    }
}
