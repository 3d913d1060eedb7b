// SPDX-License-Identifier: GPL-2.0-or-later
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension VulkanTests {
    /// RGB and Y'CbCr to Y'CbCr, within half a code and a tolerance for fp32 of the reference.
    @Suite struct Reverse {
        func image(
            _ format: PixelFormat, _ signal: SignalDescription, _ alpha: AlphaMode = .premultiplied,
            _ width: Int = 18,
            _ height: Int = 10
        ) -> ImageDescription {
            ImageDescription(format: format, width: width, height: height, signal: signal, alpha: alpha)
        }

        @Test("half floats to every transfer, matrix, range and format")
        func halfFloats() throws {
            var count = 0
            for transfer in TransferFunction.allCases {
                for turn in 0..<6 {
                    count += 1
                    let signal = SignalDescription(
                        primaries: Primaries.allCases[count % 5], transfer: transfer,
                        matrix: YCbCrMatrix.allCases[turn % 3], isFullRange: turn > 2, siting: .left)
                    // HLG and linear light need separate pipelines.
                    let format = transfer == .hlg || transfer == .linear ? .p010 : PixelFormat.yCbCr[turn % 4]
                    try expectCorrect(
                        Conversion(
                            source: image(.rgba16f, SignalDescription(primaries: .displayP3), .straight),
                            target: image(format, signal, .straight),
                            options: ConversionOptions(referenceWhite: turn == 1 ? 100 : 203)),
                        seed: UInt64(count))
                }
            }
        }

        @Test("every chroma siting", arguments: ChromaSiting.allCases)
        func sitings(siting: ChromaSiting) throws {
            let pq = SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020, siting: siting)
            for (width, height) in [(18, 10), (17, 9)] {
                try expectCorrect(
                    Conversion(
                        source: image(.rgba16f, SignalDescription(primaries: .bt2020), .straight, width, height),
                        target: image(.p010, pq, .straight, width, height),
                        options: ConversionOptions(chromaDownsampling: .siting)))
            }
        }

        @Test("extends values beyond the range", arguments: [TransferFunction.pq, .bt1886])
        func extended(transfer: TransferFunction) throws {
            try expectCorrect(
                Conversion(
                    source: image(.rgba16f, SignalDescription(primaries: .displayP3), .straight),
                    target: image(.i010, SignalDescription(transfer: transfer), .straight),
                    options: ConversionOptions(overRange: .extend)))
        }

        @Test(
            "Bytes, premultiplied and straight", arguments: zip([PixelFormat.bgra8, .rgba8], AlphaMode.allCases))
        func bytes(format: PixelFormat, alpha: AlphaMode) throws {
            let sRGB = SignalDescription(transfer: .sRGB)
            try expectCorrect(
                Conversion(source: image(format, sRGB, alpha), target: image(.nv12, sRGB, .premultiplied)))
            let p3 = SignalDescription(primaries: .displayP3, transfer: .gamma22)
            try expectCorrect(Conversion(source: image(format, sRGB, alpha), target: image(.yu12, p3, .straight)))
            try expectCorrect(
                Conversion(source: image(format, sRGB, alpha), target: image(.rgba16f, p3, .premultiplied)))
            try expectCorrect(
                Conversion(source: image(.rgba16f, p3, alpha), target: image(format, sRGB, .premultiplied)))
        }

        @Test(
            "Every format to two others, and odd sizes",
            arguments: zip(0..<8, PixelFormat.yCbCr + PixelFormat.yCbCr))
        func formats(index: Int, from: PixelFormat) throws {
            let to = PixelFormat.yCbCr[(index + (index < 4 ? 1 : 2)) % 4]
            let video = SignalDescription(siting: .topLeft)
            for (width, height) in [(18, 10), (9, 5)] {
                // Only depth and range change: chroma stays where it is, to the sample.
                var full = video
                full.isFullRange = index < 4
                try expectCorrect(
                    Conversion(
                        source: image(from, video, .premultiplied, width, height),
                        target: image(to, full, .premultiplied, width, height)))
            }
        }

        @Test("changes matrix, siting and transfer of Y'CbCr")
        func signals() throws {
            let hlg = SignalDescription(primaries: .bt2020, transfer: .hlg, matrix: .bt2020, siting: .topLeft)
            let pq = SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020, siting: .left)
            let sd = SignalDescription(primaries: .bt601_525, transfer: .bt1886, matrix: .bt601, siting: .left)
            let hd = SignalDescription(siting: .center)
            for (from, to) in [(hlg, pq), (pq, hlg), (sd, hd), (pq, hd)] {
                try expectCorrect(
                    Conversion(
                        source: image(.p010, from), target: image(.p010, to),
                        options: ConversionOptions(chromaDownsampling: .siting)))
            }
            // Same curve: the matrix alone.
            var other = hd
            other.matrix = .bt601
            try expectCorrect(Conversion(source: image(.p010, hd), target: image(.nv12, other)))
        }

        @Test("dither", arguments: [PixelFormat.nv12, .yu12, .bgra8])
        func dither(format: PixelFormat) throws {
            let sRGB = SignalDescription(transfer: .sRGB)
            try expectCorrect(
                Conversion(
                    source: image(.p010, sRGB), target: image(format, sRGB),
                    options: ConversionOptions(dither: true)))
        }

        @Test(
            "8 bits in 10 and back are what they were",
            arguments: [(PixelFormat.nv12, PixelFormat.p010), (.yu12, .i010)])
        func losslessDepth(from: PixelFormat, to: PixelFormat) throws {
            let device = try TestDevice.get()
            let signal = SignalDescription()
            let picture = Picture.noise(from, 50, 22, seed: 9)
            let there = try VulkanConverter(
                ConversionPlan(
                    Conversion(
                        source: image(from, signal, .straight, 50, 22), target: image(to, signal, .straight, 50, 22)
                    )),
                on: device)
            let back = try VulkanConverter(
                ConversionPlan(
                    Conversion(
                        source: image(to, signal, .straight, 50, 22), target: image(from, signal, .straight, 50, 22)
                    )),
                on: device)
            #expect(try convert(convert(picture, with: there, to: to), with: back, to: from) == picture)
        }

        @Test(
            "Half floats keep every 10-bit code that R'G'B' can show",
            arguments: [TransferFunction.pq, .hlg, .bt1886])
        func roundTrip(transfer: TransferFunction) throws {
            let device = try TestDevice.get()
            let signal = SignalDescription(primaries: .bt2020, transfer: transfer, matrix: .bt2020, siting: .center)
            let light = SignalDescription(primaries: .bt2020)
            // Grey of every legal code: chroma that was halved in size could not come back.
            var picture = Picture(.p010, width: 64, height: 16)
            for index in 0..<64 * 16 { picture[0, index % 64, index / 64] = min(64 + index, 940) }
            for index in 0..<32 * 8 { for c in 1...2 { picture[c, index % 32, index / 32] = 512 } }
            let there = try VulkanConverter(
                ConversionPlan(
                    Conversion(
                        source: image(.p010, signal, .straight, 64, 16),
                        target: image(.rgba16f, light, .straight, 64, 16))), on: device)
            let back = try VulkanConverter(
                ConversionPlan(
                    Conversion(
                        source: image(.rgba16f, light, .straight, 64, 16),
                        target: image(.p010, signal, .straight, 64, 16))), on: device)
            let result = try convert(convert(picture, with: there, to: .rgba16f), with: back, to: .p010)
            for component in 0..<3 {
                let (width, height) = component == 0 ? (64, 16) : (32, 8)
                for index in 0..<width * height {
                    let (x, y) = (index % width, index / width)
                    #expect(abs(result[component, x, y] - picture[component, x, y]) <= 1)
                }
            }
        }

        @Test("every half float is preserved by both ways of packing", arguments: [true, false])
        func everyHalfFloat(isSoftware: Bool) throws {
            var picture = Picture(.rgba16f, width: 256, height: 256)
            for bits in 0..<1 << 16 {
                for component in 0..<3 {
                    picture[component, bits % 256, bits / 256] = (bits + component * 0x1357) & 0xFFFF
                }
                picture[3, bits % 256, bits / 256] = 0x3C00
            }
            let light = SignalDescription(primaries: .displayP3)
            let kept = Conversion(
                source: image(.rgba16f, light, .straight, 256, 256),
                target: image(.rgba16f, light, .straight, 256, 256))
            let converter = try VulkanConverter(
                ConversionPlan(kept), on: TestDevice.get(), isSoftware: isSoftware)
            let result = try convert(picture, with: converter, to: .rgba16f)
            var wrong = 0
            for bits in 0..<1 << 16 {
                for component in 0..<3 {
                    let before = UInt16(picture[component, bits % 256, bits / 256])
                    // A sum turns −0 into 0.
                    let expected = before == 0x8000 ? 0 : Int(Half.bits(Half.value(before)))
                    if result[component, bits % 256, bits / 256] != expected { wrong += 1 }
                }
            }
            #expect(wrong == 0)
            // Values between half floats: ties and all.
            let dimmed = Conversion(
                source: image(.rgba16f, light, .straight, 48, 48),
                target: image(.rgba16f, light, .straight, 48, 48),
                options: ConversionOptions(effects: Effects(exposure: -1.37)))
            let reference = try ReferenceConverter(dimmed)
            let dimming = try VulkanConverter(reference.plan, on: TestDevice.get(), isSoftware: isSoftware)
            let noise = Picture.noise(.rgba16f, 48, 48, seed: 8)
            #expect(
                try distance(convert(noise, with: dimming, to: .rgba16f), from: reference.values(noise)) <= 0.51)
            try TestDevice.checkValidation()
        }

        @Test func strangeHalfFloats() throws {
            let device = try TestDevice.get()
            let bits: [UInt16] = [
                0x7C00, 0xFC00, 0x7E00, 0xFE01, 0x7C01, 0x0001, 0x8001, 0x03FF, 0x8000, 0x7BFF, 0xFBFF, 0x3C00,
                0xBC00,
                0x0400, 0x4200, 0x2E66,
            ]
            var picture = Picture(.rgba16f, width: 16, height: 16)
            for x in 0..<16 {
                for y in 0..<16 {
                    (picture[0, x, y], picture[1, x, y], picture[2, x, y]) =
                        (Int(bits[x]), Int(bits[y]), Int(bits[(x + y) % 16]))
                    picture[3, x, y] = Int(bits[(x * 3 + y) % 16])
                }
            }
            let pq = SignalDescription(primaries: .bt2020, transfer: .pq, matrix: .bt2020)
            for (target, overRange) in [
                (PixelFormat.p010, ConversionOptions.OverRange.clip), (.p010, .extend), (.rgba8, .clip),
                (.rgba16f, .clip),
            ] {
                let conversion = Conversion(
                    source: image(.rgba16f, SignalDescription(primaries: .displayP3), .straight, 16, 16),
                    target: image(
                        target, target == .rgba16f ? SignalDescription(primaries: .bt709) : pq, .straight, 16, 16),
                    options: ConversionOptions(overRange: overRange))
                let reference = try ReferenceConverter(conversion)
                let converter = try VulkanConverter(reference.plan, on: device)
                let result = try convert(picture, with: converter, to: target)
                // fp32 cannot hold 65504 and 0.1 in one sum to the last bit: a code is allowed, or a quarter unit of the largest.
                #expect(distance(result, from: reference.values(picture), slack: 0.5) <= 2)
            }
            try TestDevice.checkValidation()
        }
    }
}
