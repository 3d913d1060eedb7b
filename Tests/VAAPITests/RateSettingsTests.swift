// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDVA
import HWDCoding
import HWDModel
import HWDPolicy
import Testing

@testable import HWDVAAPI

@Suite struct RateSettingsTests {
    private func rate(
        _ properties: [String: PropertyValue], _ modes: [String], notes: inout [String]
    ) throws -> RateSettings {
        let request = try CompressionRequest(
            codec: "hevc", width: 64, height: 64, pixelFormat: "NV12", timeBase: try #require(Rational(1, 25)))
        var store = PropertyStore(backend: .vaapi)
        try store.set(properties, isOpen: false)
        return try RateSettings(
            try EncoderConfiguration(request: request, properties: store),
            mask: ConfigAttributes.rateControls(modes), notes: &notes)
    }

    private static let limits = PropertyValue.array([.int(250_000), .int(1)])

    /// Each request with the driver's modes and the outcome: mode, bits a second, percent, buffer, factor.
    static let mappings: [(request: [String: PropertyValue], modes: [String], outcome: [Int], notes: Int)] = [
        (["QP": .int(30)], ["CQP", "VBR"], [16, 0, 100, 0, 0], 0),
        ([:], ["CQP", "CBR", "VBR"], [16, 0, 100, 0, 0], 0),
        ([:], ["CQP", "ICQ", "QVBR"], [0x40, 0, 100, 0, 25], 0),
        (["Quality": .double(0)], ["ICQ"], [0x40, 0, 100, 0, 40], 0),
        (["Quality": .double(1)], ["ICQ"], [0x40, 0, 100, 0, 2], 0),
        (["DataRateLimits": limits], ["CQP", "ICQ", "QVBR"], [0x400, 2_000_000, 100, 2_000_000, 25], 0),
        (["DataRateLimits": limits], ["CQP", "VBR"], [4, 2_000_000, 100, 2_000_000, 0], 0),
        (["AverageBitRate": .int(1_000_000)], ["CQP", "CBR", "VBR"], [4, 2_000_000, 50, 1_000_000, 0], 0),
        (
            ["AverageBitRate": .int(1_000_000), "DataRateLimits": limits], ["VBR"],
            [4, 2_000_000, 50, 2_000_000, 0], 0
        ),
        (["AverageBitRate": .int(1_000_000)], ["CBR"], [2, 1_000_000, 100, 1_000_000, 0], 1),
        (["ConstantBitRate": .int(1_000_000)], ["CBR", "VBR"], [2, 1_000_000, 100, 1_000_000, 0], 0),
        (["ConstantBitRate": .int(1_000_000)], ["VBR"], [4, 1_000_000, 100, 1_000_000, 0], 1),
    ]

    @Test(arguments: mappings.indices)
    func mapsRequestsToTheDriversModes(index: Int) throws {
        let mapping = Self.mappings[index]
        var notes: [String] = []
        let rate = try rate(mapping.request, mapping.modes, notes: &notes)
        #expect(
            [
                Int(rate.mode), Int(rate.bitsPerSecond), Int(rate.targetPercentage), Int(rate.bufferBits),
                Int(rate.qualityFactor),
            ] == mapping.outcome)
        #expect(notes.count == mapping.notes, "\(notes)")
    }

    static let refusals: [(request: [String: PropertyValue], modes: [String])] = [
        (["QP": .int(30)], ["CBR", "VBR"]), ([:], ["CBR"]), (["AverageBitRate": .int(1_000_000)], ["CQP"]),
        (["ConstantBitRate": .int(1_000_000)], ["CQP", "ICQ"]), (["DataRateLimits": limits], ["CQP", "CBR"]),
    ]

    @Test(arguments: refusals.indices)
    func refusesModesThatTheDriverLacks(index: Int) {
        var notes: [String] = []
        let error = #expect(throws: VAAPIFailure.self) {
            try rate(Self.refusals[index].request, Self.refusals[index].modes, notes: &notes)
        }
        #expect(error?.error.status == .couldNotFindVideoEncoder && error?.isTransient == false)
        for mode in Self.refusals[index].modes { #expect(error?.error.reason.contains(mode) == true) }
    }

    @Test func constantQPDependsOnThePicture() throws {
        var notes: [String] = []
        let rate = try rate(["QP": .int(30)], ["CQP"], notes: &notes)
        var planner = StructurePlanner(PictureStructure(anchorDistance: 4))
        var queue: [PlannedPicture] = []
        for _ in 0..<5 { planner.add(forceKeyFrame: false, to: &queue) }
        #expect(queue.map { rate.qp(of: $0, base: nil) } == [27, 30, 31, 32, 32])
        #expect(rate.qp(of: queue[0], base: 44) == 44)
    }

    @Test func keepsQPBounds() throws {
        var notes: [String] = []
        var rate = try rate(["MinAllowedFrameQP": .int(30), "Quality": .double(1)], ["CQP"], notes: &notes)
        #expect(rate.baseQP == 30)
        rate = try self.rate(
            ["DataRateLimits": Self.limits, "MaxAllowedFrameQP": .int(10)], ["VBR"], notes: &notes)
        #expect(rate.minQP == 10 && rate.maxQP == 10 && notes.count == 1)
        let parameters = VAEncMiscParameterRateControl(rate, frameQP: 25)
        #expect(parameters.min_qp == 25 && parameters.max_qp == 25 && parameters.window_size == 1000)
    }
}
