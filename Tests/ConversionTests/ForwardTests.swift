// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

extension VulkanTests {
    /// Y'CbCr to half floats, compared with `ReferenceConverter`.
    @Suite struct Forward {
        /// Every format with every siting, transfer, matrix, range, primaries and treatment of values over the range.
        ///
        /// Values that need another pipeline, which takes lavapipe 0.15 s, are combined with few sitings (P010 with all), and
        /// matrices and ranges alternate. HWDAEMON_TEST_ALL=1 tests all combinations of the first five.
        static let cases: [Conversion] = {
            var cases: [Conversion] = []
            let everything = getenv("HWDAEMON_TEST_ALL") != nil
            let targets: [Primaries] = [.displayP3, .bt709, .bt2020]
            for (f, format) in PixelFormat.yCbCr.enumerated() {
                for (s, siting) in ChromaSiting.allCases.enumerated() {
                    for (t, transfer) in TransferFunction.allCases.enumerated() {
                        let isSpecial = transfer == .hlg || transfer == .linear
                        for turn in 0..<6 where everything || (turn + s + t) % 3 == 0 {
                            for overRange in ConversionOptions.OverRange.allCases {
                                let isPaired =
                                    (s == f && (overRange == .clip || format.isSemiPlanar))
                                    || (format == .p010 && !isSpecial && overRange == .clip)
                                guard everything || isPaired else { continue }
                                let count = cases.count
                                let signal = SignalDescription(
                                    primaries: Primaries.allCases[count % 5], transfer: transfer,
                                    matrix: YCbCrMatrix.allCases[turn % 3], isFullRange: turn > 2, siting: siting)
                                let target = SignalDescription(primaries: targets[count / 5 % 3])
                                cases.append(
                                    Conversion(
                                        source: ImageDescription(
                                            format: format, width: 16, height: 10, signal: signal),
                                        target: ImageDescription(
                                            format: .rgba16f, width: 16, height: 10, signal: target),
                                        options: ConversionOptions(
                                            referenceWhite: count % 4 == 0 ? 100 : 203, overRange: overRange)))
                            }
                        }
                    }
                }
            }
            return cases
        }()

        @Test func everySignalIsWithinTheTolerance() throws {
            let device = try TestDevice.get()
            for (index, conversion) in Self.cases.enumerated() {
                let reference = try ReferenceConverter(conversion)
                let converter = try VulkanConverter(reference.plan, on: device)
                let source = conversion.source
                let picture = Picture.noise(source.format, source.width, source.height, seed: UInt64(index + 1))
                let result = try convert(picture, with: converter, to: .rgba16f)
                let isHLG = [.hlg, .hlgApple12].contains(source.signal.transfer)
                let error = distance(
                    result, from: reference.values(picture),
                    luminance: isHLG ? conversion.target.signal.primaries.luminance : nil)
                if error > 1 { Issue.record("\(error) units: \(conversion)") }
            }
            try TestDevice.checkValidation()
        }

        @Test(
            "Near black, where a curve is all bend", arguments: [TransferFunction.hlgApple12, .gamma28, .pq, .sRGB])
        func nearBlack(transfer: TransferFunction) throws {
            for seed in 4..<6 {
                try expectCorrect(
                    Conversion(
                        source: ImageDescription(
                            format: .nv12, width: 64, height: 64,
                            signal: SignalDescription(
                                primaries: .bt601_625, transfer: transfer, matrix: .bt2020, siting: .center)),
                        target: ImageDescription(
                            format: .rgba16f, width: 64, height: 64, signal: SignalDescription())),
                    seed: UInt64(seed))
            }
        }

        @Test("odd sizes", arguments: [(1, 1), (2, 1), (1, 2), (3, 3), (5, 7), (17, 3), (33, 19), (63, 2)])
        func oddSizes(width: Int, height: Int) throws {
            for format in PixelFormat.yCbCr {
                let conversion = Conversion(
                    source: ImageDescription(
                        format: format, width: width, height: height,
                        signal: SignalDescription(
                            primaries: .bt2020, transfer: .pq, matrix: .bt2020, siting: .center)),
                    target: ImageDescription(
                        format: .rgba16f, width: width, height: height,
                        signal: SignalDescription(primaries: .displayP3)))
                try expectCorrect(conversion, seed: UInt64(width * 100 + height))
            }
        }

        @Test("tone mapping, exposure, saturation and sepia", arguments: [TransferFunction.pq, .hlg])
        func effects(transfer: TransferFunction) throws {
            let effects = Effects(exposure: -0.5, saturation: 1.25, sepia: 0.25)
            for (headroom, effects) in [(1.0, Effects()), (2.5, Effects()), (4, effects)] {
                try expectCorrect(
                    Conversion(
                        source: ImageDescription(
                            format: .p010, width: 24, height: 18,
                            signal: SignalDescription(
                                primaries: .bt2020, transfer: transfer, matrix: .bt2020, siting: .topLeft)),
                        target: ImageDescription(
                            format: .rgba16f, width: 24, height: 18,
                            signal: SignalDescription(primaries: .displayP3)),
                        options: ConversionOptions(targetHeadroom: headroom, masteringPeak: 1000, effects: effects))
                )
            }
        }
    }
}
