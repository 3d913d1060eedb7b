// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

@Suite struct DamageTrackerTests {
    @Test func keepsDamageUntilTheNextKeyFrame() {
        var tracker = DamageTracker()
        #expect(tracker.admit(1, .trailR) == .waitsForKeyFrame)
        #expect(tracker.admit(2, .idrWRADL) == .decode)
        #expect(tracker.admit(3, .trailR) == .decode)
        tracker.damage(3)
        #expect(tracker.admit(4, .trailN) == .decode)
        #expect(tracker.admit(5, .craNUT) == .decode)
        #expect(tracker.admit(6, .raslN) == .decode)
        #expect(tracker.admit(7, .radlN) == .decode)
        #expect(!tracker.isDamaged(2, .idrWRADL))
        #expect(tracker.isDamaged(3, .trailR))
        #expect(tracker.isDamaged(4, .trailN))
        #expect(!tracker.isDamaged(5, .craNUT))
        // It may refer to pictures before the key frame.
        #expect(tracker.isDamaged(6, .raslN))
        #expect(!tracker.isDamaged(7, .radlN))
    }

    @Test func skipsLeadingPicturesOfTheFirstKeyFrame() {
        var tracker = DamageTracker()
        #expect(tracker.admit(1, .craNUT) == .decode)
        #expect(tracker.admit(2, .raslR) == .skippedLeading)
        #expect(tracker.admit(3, .radlR) == .decode)
        #expect(tracker.admit(4, .craNUT) == .decode)
        #expect(tracker.admit(5, .raslR) == .decode)
        tracker.endSequence()
        #expect(tracker.admit(6, .craNUT) == .decode)
        #expect(tracker.admit(7, .raslN) == .skippedLeading)
        tracker.flush()
        #expect(tracker.admit(8, .trailR) == .waitsForKeyFrame)
    }
}

@Suite struct StreamReaderTests {
    /// An SPS of this size with its VPS and PPS.
    private static func sets(width: Int, height: Int) throws -> [[UInt8]] {
        var sps = SequenceParameterSet()
        (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples) = (width, height)
        sps.profileTierLevel.general = ProfileTier()
        return [try VideoParameterSet().nalUnit(), try sps.nalUnit(), try PictureParameterSet().nalUnit()]
    }

    private static func prefixed(_ units: [[UInt8]]) throws -> [UInt8] {
        var bytes: [UInt8] = []
        for unit in units { try LengthPrefixedNALUnits.append(unit, to: &bytes) }
        return bytes
    }

    private static func format(width: Int = 64, height: Int = 64) throws -> StreamFormat {
        try StreamFormat(
            description: DecoderConfigurationRecord(nalUnits: sets(width: width, height: height)).bytes())
    }

    private static let slice: [UInt8] = [0x26, 0x01, 0xAF, 0x08]

    @Test func refusesSizesBeyondLevel6_2() throws {
        for (width, height) in [(16_384, 16_384), (16_384, 2_184), (4_096, 8_712)] {
            #expect(throws: SessionError.self) { try Self.format(width: width, height: height) }
            var reader = StreamReader(try Self.format())
            let packet = try Self.prefixed(Self.sets(width: width, height: height) + [Self.slice])
            let unit = reader.read(packet)
            #expect(unit.isRefused)
            #expect(unit.fault?.status == .videoDecoderUnsupportedDataFormat)
            // The previous SPS does not apply either.
            #expect(reader.read(try Self.prefixed([Self.slice])).isRefused)
            let good = reader.read(try Self.prefixed(Self.sets(width: 64, height: 64) + [Self.slice]))
            #expect(!good.isRefused)
            #expect(good.pictureType == .idrWRADL)
        }
    }

    @Test func refusesPacketsAfterADamagedSPSUntilTheNext() throws {
        var reader = StreamReader(try Self.format())
        let cut = Array(try Self.sets(width: 64, height: 64)[1].prefix(6))
        #expect(reader.read(try Self.prefixed([cut, Self.slice])).isRefused)
        #expect(!reader.read(try Self.prefixed(Self.sets(width: 64, height: 64) + [Self.slice])).isRefused)
    }

    /// A client may send any number of sets without having a packet decoded: the pending sets stay small.
    @Test func limitsPendingParameterSets() throws {
        var reader = StreamReader(try Self.format())
        func set(_ number: Int, _ size: Int) -> [UInt8] {
            [0x44, 0x01, UInt8(number % 250 + 2), UInt8(number / 250 + 2)] + [UInt8](repeating: 0xFF, count: size)
        }
        for number in 0..<400 {
            for size in [40_000, 100] {
                reader.deferParameterSets(reader.read(try Self.prefixed([set(number, size), Self.slice])))
            }
        }
        let unit = reader.read(try Self.prefixed([Self.slice]))
        #expect(unit.fault == nil && unit.bytes.count < 1_100_000)
        // The newest are kept, in order.
        #expect(unit.bytes.dropLast(8).suffix(108).elementsEqual([0, 0, 0, 104] + set(399, 100)))
        let large = reader.read(try Self.prefixed([set(1, 70_000), Self.slice]))
        #expect(large.fault?.status == .videoDecoderBadData && large.fault?.reason.contains("70004") == true)
        #expect(large.bytes == [0, 0, 0, 4] + Self.slice && large.pictureType != nil)
    }

    @Test func dropsOtherLayersAndMessages() throws {
        var reader = StreamReader(try Self.format())
        let alpha: [UInt8] = [0x26, 0x09, 0xAF, 0x08]
        let rpu: [UInt8] = [0x7C, 0x01, 0x19, 0x80]
        let light = try SEI(messages: [
            SEIMessage(.contentLightLevelInfo(ContentLightLevelInfo(maxContentLightLevel: 1000)))
        ]).nalUnit()
        let unit = reader.read(try Self.prefixed([light, Self.slice, alpha, rpu]))
        #expect(unit.bytes == [0, 0, 0, 4] + Self.slice)
        #expect(unit.sideData.map(\.kind) == [.contentLight, .dolbyVisionRPU])
        #expect(unit.sideData.last?.bytes == rpu)
        // Static metadata apply until replaced; an RPU applies to its picture.
        #expect(reader.read(try Self.prefixed([Self.slice])).sideData.map(\.kind) == [.contentLight])
    }

    /// In front of the slices it is the previous picture's: an end of sequence NAL unit ends that one's packet early.
    @Test func anRPUInFrontOfThePictureIsNotItsOwn() throws {
        var reader = StreamReader(try Self.format())
        let (old, own): ([UInt8], [UInt8]) = ([0x7C, 0x01, 0x19, 0x80], [0x7C, 0x01, 0x19, 0x81])
        let unit = reader.read(try Self.prefixed([[0x48, 0x01], old, Self.slice, own]))
        #expect(unit.sideData.map(\.bytes) == [own] && unit.hasLostSideData)
        #expect(!reader.read(try Self.prefixed([Self.slice, own])).hasLostSideData)
    }

    @Test func limitsMetadata() throws {
        var reader = StreamReader(try Self.format())
        let huge = [UInt8]([0x7C, 0x01, 0x19]) + [UInt8](repeating: 0x55, count: 1 << 20)
        let small: [UInt8] = [0x7C, 0x01, 0x19, 0x80]
        let units = [Self.slice, huge] + [[UInt8]](repeating: small, count: 100)
        let unit = reader.read(try Self.prefixed(units))
        #expect(unit.hasLostSideData)
        #expect(unit.sideData.count == 8)
        #expect(unit.fault == nil)
    }

    @Test func reportsLengthsThatExceedThePacket() throws {
        var reader = StreamReader(try Self.format())
        let whole = try Self.prefixed([Self.slice, Self.slice])
        for length in 1..<whole.count {
            let unit = reader.read(Array(whole.prefix(length)))
            #expect((unit.fault == nil) == (length == 8))
        }
        let many = [UInt8](repeating: 0, count: 4 * 5000)
        #expect(reader.read(many).fault != nil)
    }
}

@Suite struct DecompressionAdmissionTests {
    private func session() throws -> DecompressionAdmission {
        let sets = [
            try VideoParameterSet().nalUnit(),
            try {
                var sps = SequenceParameterSet()
                (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples) = (64, 64)
                sps.profileTierLevel.general = ProfileTier()
                return try sps.nalUnit()
            }(), try PictureParameterSet().nalUnit(),
        ]
        let request = try DecompressionRequest(
            codec: "hevc", formatDescription: DecoderConfigurationRecord(nalUnits: sets).bytes(),
            timeBase: Rational(1), pixelFormat: nil)
        return DecompressionAdmission(
            request: request, properties: PropertyStore(backend: .libavcodec))
    }

    /// Pool 1 with 4096 bytes.
    private func pools() throws -> PoolLedger<Void> {
        var pools = PoolLedger<Void>(maxBytes: 1 << 20)
        try pools.add(1, (), size: 4096, isWritable: false)
        return pools
    }

    private func packet(_ id: UInt64, _ change: (inout DecodeFrame) -> Void = { _ in }) -> DecodeFrame {
        var packet = DecodeFrame(
            frameID: id, pts: Int64(id), duration: 0, poolID: 1, offset: 0, size: 100)
        change(&packet)
        return packet
    }

    @Test func refusesPacketsOutsideTheirPool() throws {
        var session = try session()
        let pools = try pools()
        try session.admit(packet(1) { $0.offset = 3996 }, in: pools)
        let wrong: [(inout DecodeFrame) -> Void] = [
            { $0.offset = 3997 }, { $0.offset = .max }, { $0.size = 4097 }, { $0.poolID = 2 },
            { $0.pts = 1 << 61 }, { $0.duration = -1 }, { $0.frameID = 1 }, { $0.size = .max },
        ]
        for change in wrong {
            #expect(throws: SessionError.self) { try session.admit(packet(2, change), in: pools) }
        }
        try session.admit(packet(2) { $0.pts = .min }, in: pools)
        #expect(session.isUsing(pool: 1))
        session.release(1)
        session.release(2)
        #expect(!session.isUsing(pool: 1))
    }

    @Test func limitsPacketsInFlight() throws {
        var session = try session()
        let pools = try pools()
        for id in 0..<UInt64(DecompressionAdmission.maxPacketsInFlight) { try session.admit(packet(id), in: pools) }
        #expect(throws: SessionError.self) { try session.admit(packet(99), in: pools) }
        session.release(0)
        try session.admit(packet(99), in: pools)
    }

    /// A session's process has no memory for the stacks of more.
    @Test(arguments: [Int64](15...18) + [32, 63, 64])
    func usesAtMost16Threads(_ count: Int64) throws {
        var session = try session()
        try session.setProperties(["ThreadCount": .int(count)])
        #expect(session.options.threads == min(Int(count), 16))
    }

    @Test(arguments: [Int64](65...66) + [.max, -1, .min])
    func refusesThreadsOutsideTheRange(_ count: Int64) throws {
        var session = try session()
        let error = #expect(throws: SessionError.self) { try session.setProperties(["ThreadCount": .int(count)]) }
        #expect(error?.status == .parameter && error?.reason.contains("from 0 to 64") == true)
    }

    @Test func refusesPropertyChangesAfterTheFirstPacket() throws {
        var session = try session()
        try session.setProperties(["RealTime": .bool(true), "ThreadCount": .int(2)])
        let pools = try pools()
        try session.admit(packet(1), in: pools)
        #expect(throws: SessionError.self) { try session.setProperties(["RealTime": .bool(false)]) }
        try session.setProperties(["CleanAperture": .string("32x32+0+4")])
        #expect(session.cleanAperture(width: 64, height: 64)?.y == 4)
        #expect(session.cleanAperture(width: 64, height: 32) == nil)
    }
}
