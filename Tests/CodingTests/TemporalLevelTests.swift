// SPDX-License-Identifier: GPL-2.0-or-later
import func Glibc.exp2
import HWDModel
import HWDPolicy
import Testing

@testable import HWDCoding

@Suite struct TemporalLevelTests {
    private func levels(_ base: String, _ full: String) throws -> TemporalLevels {
        try TemporalLevels(base: try #require(Rational(text: base)), full: try #require(Rational(text: full)))
    }

    @Test(arguments: [
        ("30", "240", 4), ("60", "240", 3), ("120", "240", 2), ("240", "240", 1), ("15", "240", 5),
        ("30", "120", 3),
        ("30", "60", 2), ("30000/1001", "60000/1001", 2), ("29.97", "240", 4), ("30", "60000/1001", 2),
        ("240000/1001", "240", 1), ("240", "240000/1001", 1),
    ])
    func keepsARatioThatIsAPowerOfTwo(base: String, full: String, count: Int) throws {
        let levels = try levels(base, full)
        #expect(levels.count == count && levels.notice == nil)
        #expect(levels.groupSize == 1 << (count - 1))
        #expect(levels.frameRate(through: count - 1).value == levels.frameRate.value)
    }

    /// The base layer is never faster than requested, and its rate is reported.
    @Test(arguments: [
        ("25", "60", 3, "15"), ("50", "120", 3, "30"), ("24", "30", 2, "15"), ("100", "240", 3, "60"),
    ])
    func roundsOtherRatiosToTheNextLowerBase(base: String, full: String, count: Int, rate: String) throws {
        let levels = try levels(base, full)
        #expect(levels.count == count)
        #expect(levels.notice?.contains("\(rate) frames per second instead of \(base)") == true)
    }

    @Test(arguments: [("60", "30"), ("1", "240"), ("7", "240")])
    func refusesImpossibleRates(base: String, full: String) {
        let error = #expect(throws: SessionError.self) { try levels(base, full) }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains("BaseLayerFrameRate \(base)") == true)
        #expect(error?.reason.contains("ExpectedFrameRate \(full)") == true)
    }

    @Test func derivesAFramesLevelFromItsPosition() throws {
        #expect(try (0..<9).map(levels("30", "240").level) == [0, 3, 2, 3, 1, 3, 2, 3, 0])
        #expect(try (0..<5).map(levels("30", "60").level) == [0, 1, 0, 1, 0])
        #expect(try (0..<3).map(levels("30", "30").level) == [0, 0, 0])
    }

    private func configuration(
        _ properties: [String: PropertyValue], _ backend: PropertySpec.Backend = .x265
    ) throws -> EncoderConfiguration {
        var store = PropertyStore(backend: backend)
        try store.set(properties, isOpen: false)
        return try EncoderConfiguration(request: .sample, properties: store)
    }

    private static let both: [String: PropertyValue] = [
        "BaseLayerFrameRate": .int(30), "ExpectedFrameRate": .int(240),
    ]

    @Test func alignsKeyFramesToGroups() throws {
        #expect(try configuration(Self.both).maxKeyFrameInterval == 248)
        #expect(
            try configuration(Self.both.merging(["MaxKeyFrameInterval": .int(30)]) { $1 }).maxKeyFrameInterval == 24
        )
        #expect(try configuration(["ExpectedFrameRate": .int(240)]).maxKeyFrameInterval == nil)
        // Two levels are in groups of four.
        let two = Self.both.merging(["BaseLayerFrameRate": .int(120), "MaxKeyFrameInterval": .int(30)]) { $1 }
        #expect(try configuration(two).maxKeyFrameInterval == 28)
        #expect(try configuration(two, .vaapi).maxKeyFrameInterval == 28)
        let short = two.merging(["MaxFrameDelayCount": .int(9)]) { $1 }
        #expect(try configuration(short).maxKeyFrameInterval == 30)
        var continuing = CompressionRequest.sample
        continuing.maxReorder = 1
        var store = PropertyStore(backend: .x265)
        try store.set(two, isOpen: false)
        let continued = try EncoderConfiguration(request: continuing, properties: store)
        #expect(continued.temporalLevels.anchorDistance == 2)
        let shortest = two.merging(["MaxKeyFrameInterval": .int(3)]) { $1 }
        #expect(try configuration(shortest).maxKeyFrameInterval == 2)
    }

    @Test(arguments: [
        ["BaseLayerFrameRate": PropertyValue.int(30)],
        both.merging(["MaxKeyFrameInterval": .int(7)]) { $1 },
        both.merging(["AllowTemporalCompression": .bool(false)]) { $1 },
        both.merging(["RealTime": .bool(true)]) { $1 },
        both.merging(["AllowFrameReordering": .bool(false)]) { $1 },
        both.merging(["MaxFrameDelayCount": .int(26)]) { $1 },
        both.merging(["X265Params": .string("aq-mode=2:no-open-gop")]) { $1 },
        both.merging(["X265Params": .string("ref=3")]) { $1 },
    ])
    func namesContradictions(properties: [String: PropertyValue]) {
        let error = #expect(throws: SessionError.self) { try configuration(properties) }
        #expect(error?.status == .parameter)
        let named = properties.keys.filter { error?.reason.contains($0) == true }
        #expect(named.count >= min(2, properties.count), "\(error?.reason ?? "")")
    }

    @Test func hardwareNeedsNeitherReorderingNorALongDelay() throws {
        _ = try configuration(Self.both.merging(["RealTime": .bool(true)]) { $1 }, .vaapi)
        _ = try configuration(Self.both.merging(["MaxFrameDelayCount": .int(27)]) { $1 })
        _ = try configuration(Self.both.merging(["X265Params": .string("aq-mode=2:slices=2")]) { $1 })
    }

    /// Both layers have the same levels; with x265 the alpha encoder follows the base encoder.
    @Test func appliesLevelsToBothLayersOfAlphaStreams() throws {
        let request = try CompressionRequest(
            codec: CompressionRequest.alphaCodec, width: 64, height: 64, pixelFormat: PixelFormat.yuva.rawValue,
            timeBase: Rational(1))
        func configuration(
            _ more: [String: PropertyValue], _ backend: PropertySpec.Backend = .x265
        ) throws -> EncoderConfiguration {
            var store = PropertyStore(backend: backend, hasAlpha: true)
            try store.set(Self.both.merging(more) { $1 }, isOpen: false)
            return try EncoderConfiguration(request: request, properties: store)
        }
        let whole = try configuration(["MaxFrameDelayCount": .int(54)])
        let (base, alpha) = (whole.baseLayer(.yu12), whole.alphaLayer(.yu12))
        #expect(base.temporalLevels.count == 4 && alpha.temporalLevels == base.temporalLevels)
        let two = try configuration(["BaseLayerFrameRate": .int(120), "MaxFrameDelayCount": .int(30)])
        #expect(two.baseLayer(.yu12).temporalLevels.anchorDistance == 4)
        #expect(two.alphaLayer(.yu12).temporalLevels == two.temporalLevels)
        let tight = try configuration(["BaseLayerFrameRate": .int(120), "MaxFrameDelayCount": .int(29)])
        #expect(tight.temporalLevels.anchorDistance == 2)
        #expect(base.maxFrameDelay == 27 && alpha.maxKeyFrameInterval == base.maxKeyFrameInterval)
        let error = #expect(throws: SessionError.self) { try configuration(["MaxFrameDelayCount": .int(53)]) }
        #expect(error?.status == .parameter && error?.reason.contains("MaxFrameDelayCount") == true)
        let hardware = try configuration(["MaxFrameDelayCount": .int(3), "RealTime": .bool(false)], .vaapi)
        let limits = ReferenceLimits(list0: 3, list1: 1)
        let structure = PictureStructure(hardware.baseLayer(.yu12), limits: limits)
        #expect(structure.temporalLevels == 4)
        #expect(PictureStructure(hardware.alphaLayer(.yu12), limits: limits) == structure)
    }

    @Test func reportsRoundedRatesInNotices() throws {
        var session = try CompressionAdmission(
            request: .sample, properties: PropertyStore(backend: .x265))
        try session.setProperties(["BaseLayerFrameRate": .int(25), "ExpectedFrameRate": .int(60)])
        let copied = try session.properties.copy(["NumberOfTemporalLevels", "Notices"])
        #expect(copied["NumberOfTemporalLevels"] == .int(3))
        #expect(copied["Notices"]?.description.contains("15 frames per second instead of 25") == true)
        try session.setProperties(["BaseLayerFrameRate": .int(15)])
        #expect(try session.properties.copy(["Notices"])["Notices"] == .null)
    }

    @Test func requiresABitRateAndLevelsForAShare() throws {
        let share: [String: PropertyValue] = ["BaseLayerBitRateFraction": .double(0.5)]
        for (more, name) in [
            (Self.both, "AverageBitRate"), (["AverageBitRate": .int(100_000)], "BaseLayerFrameRate"),
            (Self.both.merging(["Quality": .double(0.5)]) { $1 }, "AverageBitRate"),
        ] {
            let error = #expect(throws: SessionError.self) { try configuration(share.merging(more) { $1 }) }
            #expect(error?.status == .parameter && error?.reason.contains(name) == true)
        }
        let all = share.merging(Self.both) { $1 }.merging(["AverageBitRate": .int(100_000)]) { $1 }
        #expect(try configuration(all).baseLevelFraction == 0.5)
        #expect(try configuration(all).alphaLayer(.yu12).baseLevelFraction == nil)
        let error = #expect(throws: SessionError.self) { try configuration(all, .vaapi) }
        #expect(error?.status == .propertyNotSupported)
    }

    /// Encoders that respond more or less to an offset than expected, tens of pictures later, with a key frame per second.
    @Test(arguments: [0.3, 0.5, 0.7], [0.6, 1.0, 1.4])
    func reachesAndKeepsAShare(fraction: Double, answer: Double) throws {
        let levels = try levels("30", "240")
        var share = BaseLevelShare(fraction: fraction, baseFrameRate: 30)
        var inside: [(frame: Int, offset: Double)] = []
        var bits = [[0, 0], [0, 0]]
        for frame in 0..<1920 {
            let offset = share.offset(of: UInt64(frame), level: levels.level(atPosition: frame))
            inside.append((frame, offset))
            guard inside.count > 60 else { continue }
            let (number, old) = inside.removeFirst()
            let level = levels.level(atPosition: number)
            let cost = number % 240 == 0 ? 20_000.0 : [3000, 900, 500, 300][level]
            let size = Int(cost * exp2(-old * answer / 6))
            share.record(UInt64(number), level: level, bits: size)
            bits[number < 480 ? 0 : 1][level == 0 ? 0 : 1] += size
        }
        let found = bits.map { Double($0[0]) / Double($0[0] + $0[1]) }
        #expect(abs(found[1] - fraction) < 0.02, "\(found)")
        #expect(abs(found[0] - fraction) < 0.1, "\(found)")
        #expect(abs(share.difference) < BaseLevelShare.maxDifference)
    }

    /// A key frame is requested before the limit, at the start of a group and not in the middle.
    @Test func alignsTimedKeyFramesToGroups() throws {
        let timeBase = try #require(Rational(1, 240))
        let clockOf = { (seconds: Double) in
            KeyFrameClock(seconds: seconds, timeBase: timeBase, levels: try? levels("30", "240"))
        }
        for (seconds, frames) in [(0.25, 56), (1.0, 240), (0.05, 8)] {
            var clock = clockOf(seconds)
            let keys = (0..<500).filter { clock.isDue(pts: Int64($0), isForced: false) }
            #expect(keys == Array(stride(from: 0, to: 500, by: frames)), "\(seconds) s")
        }
        // With groups longer than the limit, the limit applies.
        var clock = clockOf(4.9 / 240)
        #expect((0..<12).filter { clock.isDue(pts: Int64($0), isForced: false) } == [0, 5, 10])
    }
}
