// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDColor

/// The taps of scaling, and the steps of conversions that scale.
@Suite struct ScalingTapTests {
    private func image(_ format: PixelFormat, _ width: Int, _ height: Int) -> ImageDescription {
        ImageDescription(
            format: format, width: width, height: height,
            signal: SignalDescription(transfer: format == .rgba16f ? .linear : .bt1886))
    }

    private func axes(
        _ from: Int, _ to: Int, _ filter: ScalingOptions.Filter = .lanczos,
        sitings: (ChromaSiting, ChromaSiting)? = nil
    ) throws -> ScalingAxis {
        let conversion = Conversion(source: image(.nv12, from, 16), target: image(.nv12, to, 16))
        return try ScalingGeometry(conversion).axes(filter, sitings).across
    }

    @Test(
        "weights add up to 1 and stay inside the picture",
        arguments: [(97, 31), (31, 97), (100, 13), (16, 128), (3, 24)])
    func sums(from: Int, to: Int) throws {
        for filter in ScalingOptions.Filter.allCases {
            let axis = try axes(from, to, filter)
            #expect(axis.first.count == to && axis.weights.count == to * axis.taps)
            for index in 0..<to {
                let weights = axis.weights[index * axis.taps..<(index + 1) * axis.taps]
                #expect(abs(weights.reduce(0, +) - 1) < 1e-6)
                #expect(axis.first[index] >= 0 && Int(axis.first[index]) + axis.taps <= from)
            }
        }
    }

    @Test("a mirrored picture has mirrored taps")
    func symmetry() throws {
        let axis = try axes(40, 25)
        for index in 0..<25 {
            for tap in 0..<axis.taps {
                let place = Int(axis.first[index]) + tap
                let other = 39 - place - Int(axis.first[24 - index])
                guard (0..<axis.taps).contains(other) else { continue }
                let mirrored = axis.weights[(24 - index) * axis.taps + other]
                #expect(abs(axis.weights[index * axis.taps + tap] - mirrored) < 1e-9)
            }
        }
    }

    @Test("bilinear doubling has quarters, and chroma moves by its siting")
    func knownWeights() throws {
        let axis = try axes(8, 16, .bilinear)
        #expect(axis.taps == 2)
        // The middle of the eighth sample is 3.25 samples of the source behind the middle of its first.
        #expect(axis.first[7] == 3)
        #expect(abs(axis.weights[2 * 7] - 0.75) < 1e-9 && abs(axis.weights[2 * 7 + 1] - 0.25) < 1e-9)
        // The same size: only the position changes, from the left column to between the columns.
        let moved = try axes(16, 16, .bilinear, sitings: (.left, .center))
        #expect(moved.first.count == 8)
        #expect(abs(moved.weights[2 * 3] - 0.75) < 1e-9 && abs(moved.weights[2 * 3 + 1] - 0.25) < 1e-9)
    }

    @Test("steps")
    func steps() throws {
        let plain = try ScalingPlan(Conversion(source: image(.p010, 64, 48), target: image(.nv12, 32, 24)))
        #expect(plain.before == nil && plain.after == nil)
        var linear = ConversionOptions()
        linear.scaling.light = .linear
        let light = try ScalingPlan(
            Conversion(source: image(.nv12, 64, 48), target: image(.nv12, 32, 24), options: linear))
        #expect(light.before?.target.isLight == true && light.after?.source.isLight == true)
        let colored = try ScalingPlan(Conversion(source: image(.nv12, 64, 48), target: image(.rgba16f, 32, 24)))
        #expect(colored.before == nil && colored.scaling.target.format == .p010)
        // A list of effects is applied at the target's size, tone mapping and the older members before.
        var listed = linear
        (listed.effects, listed.targetHeadroom) = (Effects(list: try EffectList(texts: ["sepia"], .call)), 2)
        let effects = try ScalingPlan(
            Conversion(source: image(.nv12, 64, 48), target: image(.nv12, 32, 24), options: listed))
        #expect(effects.before?.options.effects == Effects() && effects.before?.options.targetHeadroom == 2)
        #expect(effects.after?.options.effects == listed.effects && effects.after?.options.targetHeadroom == nil)
        listed.effects = Effects(exposure: 1)
        let members = try ScalingPlan(
            Conversion(source: image(.nv12, 64, 48), target: image(.nv12, 32, 24), options: listed))
        #expect(members.before?.options.effects == listed.effects)
        #expect(members.after?.options.effects == Effects())
        // What does not scale is no such plan, and a plan of colors does not scale.
        #expect(!Conversion(source: image(.nv12, 64, 48), target: image(.nv12, 64, 48)).isScaled)
        #expect(throws: SessionError.self) {
            try ConversionPlan(Conversion(source: image(.nv12, 64, 48), target: image(.nv12, 32, 24)))
        }
    }
}
