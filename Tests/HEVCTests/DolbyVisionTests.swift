// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDHEVC

@Suite struct DolbyVisionTests {
    /// The RPUs of a clip, in decoding order.
    static func rpus(_ clip: String) throws -> [[UInt8]] {
        AnnexB.NALUnits(try Clips.annexB(clip)).map { Array($0) }.filter { $0.first == 0x7C }
    }

    /// An iPhone's RPU of profile 8.4, as dovi_tool's assets hold it: without a NAL unit header.
    static func otherPhone() throws -> [UInt8] {
        let bytes = try Clips.bytes("rpu_profile84_iphone.bin")
        return [0x7C, 1] + (try #require(Array(AnnexB.NALUnits(bytes)).first))
    }

    @Test(
        "Every RPU is written as it was read",
        arguments: [("dolby_vision_84.mov", 5), ("dolby_vision_81.hevc", 259)])
    func roundTrips(clip: String, count: Int) throws {
        let rpus = try Self.rpus(clip)
        #expect(rpus.count == count)
        for nal in rpus { #expect(try DolbyVisionRPU(nal: nal).nalUnit() == nal) }
    }

    @Test func roundTripsAnotherPhonesRPU() throws {
        let nal = try Self.otherPhone()
        let rpu = try DolbyVisionRPU(nal: nal)
        #expect(try rpu.nalUnit() == nal)
        let metadata = try #require(rpu.displayManagement)
        #expect(rpu.profile == 8 && metadata.extension2 == nil && metadata.color?.sourceMaxPQ == 3696)
        #expect(metadata.content(ofLevel: 1) == .level1(RPULight(min: 2, max: 3383, average: 819)))
        #expect(metadata.extension1.map(\.level).filter { ![1, 2, 4, 5, 6].contains($0) }.isEmpty)
        #expect(rpu.mapping == .coded(.hlg))
    }

    @Test func readsTheFieldsOfAnIPhone() throws {
        let rpus = try Self.rpus("dolby_vision_84.mov").map { try DolbyVisionRPU(nal: $0) }
        let anchors = rpus.map { rpu -> Int? in
            guard case .level4(let anchor)? = rpu.displayManagement?.content(ofLevel: 4) else { return nil }
            return anchor.anchorPQ
        }
        #expect(anchors.compactMap(\.self).sorted() == [2077, 2077, 2077, 2078, 2078])
        for rpu in rpus {
            #expect(rpu.profile == 8 && rpu.mapping == .coded(.hlg) && rpu.displayManagement?.sceneRefreshFlag == 1)
            #expect(rpu.displayManagement?.content(ofLevel: 11) == .level11(RPUContentType(contentType: 4)))
        }
    }

    @Test func readsShotsAndIdentityCurvesOfProfile81() throws {
        let rpus = try Self.rpus("dolby_vision_81.hevc").map { try DolbyVisionRPU(nal: $0) }
        let shots = rpus.indices.filter { rpus[$0].displayManagement?.sceneRefreshFlag == 1 }
        #expect(shots == [0, 120, 221])
        #expect(rpus.allSatisfy { $0.profile == 8 && $0.mapping == .coded(.identity) })
    }

    // The published test vectors: CRCs and sizes of what an iPhone wrote and of dovi_tool's defaults.

    @Test func generatesAnIPhonesRPUsByteForByte() throws {
        let generator = DolbyVisionGenerator(.iPhone)
        let light = RPULight(min: 0, max: 3044, average: 2077)
        let generated = try [2077, 2078].map {
            try generator.rpu(light: light, anchor: RPUAnchor(anchorPQ: $0, anchorPower: 643)).nalUnit()
        }
        let read = try Self.rpus("dolby_vision_84.mov")
        #expect(Set(read) == Set(generated) && read.count == 5)
        #expect(generated[0].count == 422)
        #expect(try Self.crc(DolbyVisionRPU(nal: generated[0])) == "5fd0306f")
        #expect(try Self.crc(DolbyVisionRPU(nal: generated[1])) == "a0d3c909")
    }

    @Test func generatesAnRPUWithoutAnAnchor() throws {
        let rpu = try DolbyVisionGenerator(.iPhone).rpu(light: RPULight(min: 0, max: 3044, average: 2077))
        #expect(try rpu.rbsp().count == 406 && rpu.nalUnit().count == 415 + 2 && Self.crc(rpu) == "ab8029b2")
    }

    @Test func generatesTheDefaultSetOfProfile84() throws {
        let rpu = try DolbyVisionGenerator(.profile84).rpu(light: RPULight(min: 0, max: 3044, average: 2077))
        #expect(try rpu.rbsp().count == 381 && rpu.nalUnit().count == 392 + 2 && Self.crc(rpu) == "b8b82375")
    }

    @Test func readsTheCRCOfAnotherPhone() throws {
        #expect(try Self.crc(DolbyVisionRPU(nal: Self.otherPhone())) == "41e68e9c")
    }

    @Test func generatesProfile81WithIdentityCurves() throws {
        let rpu = try DolbyVisionGenerator(
            .profile81, staticLight: RPUStaticLight(maxLuminance: 1000, minLuminance: 1)
        ).rpu(light: RPULight(min: 0, max: 3079, average: 1500), sceneRefresh: false)
        let read = try DolbyVisionRPU(nal: rpu.nalUnit())
        #expect(read == rpu && read.mapping == .coded(.identity) && read.displayManagement?.sceneRefreshFlag == 0)
    }

    @Test func aPicturesNALUnitHasItsLightWithinTheLimits() throws {
        let nal = try DolbyVisionGenerator().nalUnit(
            light: RPULight(min: 286, max: 500, average: 400), startsShot: false, temporalID: 2)
        let rpu = try DolbyVisionRPU(nal: nal)
        #expect(rpu.nalHeader.temporalID == 2 && rpu.displayManagement?.sceneRefreshFlag == 0)
        #expect(rpu.displayManagement?.content(ofLevel: 1) == .level1(RPULight(min: 12, max: 2081, average: 1229)))
    }

    private static func crc(_ rpu: DolbyVisionRPU) throws -> String {
        Hexadecimal.text(Array(try rpu.rbsp().dropLast().suffix(4)))
    }

    @Test func keepsWhatItDoesNotInterpret() throws {
        var rpu = try DolbyVisionRPU(nal: Self.rpus("dolby_vision_84.mov")[0])
        rpu.displayManagement?.extension1.append(RPUBlock(level: 77, payload: [1, 2, 3]))
        // A known level of an unknown length, and one whose padding is not zero.
        rpu.displayManagement?.extension1.append(RPUBlock(level: 6, payload: [1]))
        rpu.displayManagement?.extension2?.append(RPUBlock(level: 3, payload: [0, 0, 0, 0, 1]))
        rpu.remainder = [0xA5, 0, 0, 1]
        rpu.trailingZeros = [0, 0, 0]
        rpu.nalHeader.nuhTemporalIDPlus1 = 3
        let nal = try rpu.nalUnit()
        let read = try DolbyVisionRPU(nal: nal)
        #expect(try read == rpu && read.nalUnit() == nal && nal[1] == 3)
        #expect(read.displayManagement?.content(ofLevel: 77) == .other(RPUBlock(level: 77, payload: [1, 2, 3])))
        #expect(read.displayManagement?.content(ofLevel: 6) == .other(RPUBlock(level: 6, payload: [1])))
    }

    @Test func everyLevelRoundTrips() throws {
        var custom = RPUTargetDisplay(index: 1, maxPQ: 2081, minPQ: 62, primaryIndex: 255)
        custom.custom = Array(1...8)
        var (trim, full) = (RPUTrim(), RPUDisplayTrim(parts: 4))
        trim.msWeight = -1
        full.hueVectors = [1, 2, 3, 4, 5, 6]
        let levels: [(RPUBlockContent, Int)] = [
            (.level1(RPULight(min: 1, max: 4095, average: 2)), 5), (.level2(trim), 11),
            (.level3(RPULight(min: 2048, max: 2048, average: 2048)), 5),
            (.level4(RPUAnchor(anchorPQ: 4095, anchorPower: 1)), 3),
            (.level5(RPUActiveArea(left: 8191, bottom: 1)), 7),
            (.level6(RPUStaticLight(maxLuminance: 1000, minLuminance: 1)), 8), (.level8(RPUDisplayTrim()), 10),
            (.level8(RPUDisplayTrim(parts: 1)), 12), (.level8(RPUDisplayTrim(parts: 2)), 13),
            (.level8(RPUDisplayTrim(parts: 3)), 19), (.level8(full), 25), (.level9(RPUSourcePrimaries()), 1),
            (.level9(RPUSourcePrimaries(isCustom: true)), 17),
            (.level10(RPUTargetDisplay(index: 1, maxPQ: 2081, minPQ: 0, primaryIndex: 0)), 5),
            (.level10(custom), 21),
            (.level11(RPUContentType(contentType: 1, whitePoint: 16)), 4), (.level254(RPUVersion()), 2),
        ]
        for (content, length) in levels {
            let block = try RPUBlock(content)
            #expect(block.payload.count == length && block.content == content)
        }
    }
}
