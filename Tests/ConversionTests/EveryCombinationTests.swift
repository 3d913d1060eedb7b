// SPDX-License-Identifier: GPL-2.0-or-later
import Glibc
import HWDColor
import HWDModel
import Testing

@testable import HWDConversion

/// Every format with every siting, transfer function, matrix, range, primaries and primaries of light, in both directions.
///
/// HWDAEMON_TEST_ALL=1 tests all 23,760 signals in a quarter of an hour; otherwise one in 197 is tested, on the CPU only.
enum EveryCombination {
    static let isComplete = getenv("HWDAEMON_TEST_ALL") != nil
    static let note: Comment = "the complete matrix takes long: HWDAEMON_TEST_ALL=1"

    /// Conversions from the signal to half floats, or from half floats to it.
    static func conversions(toLight: Bool) -> [Conversion] {
        var found: [Conversion] = []
        var count = 0
        let lights: [Primaries] = [.displayP3, .bt709, .bt2020]
        // Formats, sitings and curves, which need separate pipelines, change slowest.
        for format in PixelFormat.yCbCr {
            for siting in ChromaSiting.allCases {
                for transfer in TransferFunction.allCases {
                    for index in 0..<(3 * 2 * Primaries.allCases.count * lights.count) {
                        count += 1
                        guard isComplete || count % 197 == 0 else { continue }
                        let signal = SignalDescription(
                            primaries: Primaries.allCases[index / 6 % Primaries.allCases.count],
                            transfer: transfer, matrix: YCbCrMatrix.allCases[index % 3],
                            isFullRange: index / 3 % 2 == 1, siting: siting)
                        let light = SignalDescription(
                            primaries: lights[index / 6 / Primaries.allCases.count], transfer: .linear)
                        let coded = ImageDescription(format: format, width: 10, height: 6, signal: signal)
                        let halves = ImageDescription(format: .rgba16f, width: 10, height: 6, signal: light)
                        found.append(
                            Conversion(
                                source: toLight ? coded : halves, target: toLight ? halves : coded,
                                options: ConversionOptions(
                                    referenceWhite: count % 4 == 0 ? 100 : 203,
                                    chromaDownsampling: count % 2 == 0 ? .box : .siting)))
                    }
                }
            }
        }
        return found
    }

    /// Converts noise and compares it with the reference: half floats within one unit in the last place, codes within 0.55.
    static func check(
        _ conversions: [Conversion], by converter: (ConversionPlan) throws -> any PixelConverter
    ) throws {
        #expect(!isComplete || conversions.count == 23_760)
        var worst = 0.0
        for (index, conversion) in conversions.enumerated() {
            let reference = try ReferenceConverter(conversion)
            let source = conversion.source
            let picture = Picture.noise(source.format, source.width, source.height, seed: UInt64(index + 1))
            let result = try convert(picture, with: converter(reference.plan), to: conversion.target.format)
            let error = distance(result, from: reference.values(picture))
            worst = max(worst, error)
            if error > 1 { Issue.record("\(error) of what is allowed: \(conversion)") }
        }
        print("\(conversions.count) conversions, the worst \(worst) of what is allowed")
    }
}

@Suite struct EveryCombinationOnTheCPU {
    @Test("every signal to half floats and back", arguments: [true, false])
    func everySignal(toLight: Bool) throws {
        try EveryCombination.check(EveryCombination.conversions(toLight: toLight)) { plan in
            try CPUConverter(plan.conversion, threads: 1)
        }
    }
}

extension VulkanTests {
    @Suite(.enabled(if: EveryCombination.isComplete, EveryCombination.note)) struct Complete {
        @Test("every signal to half floats and back", arguments: [true, false])
        func everySignal(toLight: Bool) throws {
            let device = try TestDevice.get()
            try EveryCombination.check(EveryCombination.conversions(toLight: toLight)) { plan in
                try VulkanConverter(plan, on: device)
            }
            try TestDevice.checkValidation()
        }
    }
}
