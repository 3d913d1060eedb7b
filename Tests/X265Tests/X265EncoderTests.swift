// SPDX-License-Identifier: GPL-2.0-or-later
import EncoderTesting
import Foundation
import HEVC
import Model
import Sessions
import Testing

@testable import X265

@Suite struct X265EncoderTests {
    @Test(arguments: PixelFormat.allCases)
    func codedPicturesAreThoseOfTheCommandLine(format: PixelFormat) throws {
        let clip = Clip(format: format, width: 192, height: 128, frames: 40)
        let depth = format.bitDepth
        let own = try encode(clip, ["X265Preset": .string("fast"), "X265Params": .string("crf=24")]).output
        let theirs = try commandLine(
            clip, ["--preset", "fast", "--crf", "24", "--output-depth", "\(depth)"])
        #expect(own.pictures.count == clip.frames)
        #expect(vcl(own.nalUnits) == vcl(theirs))
    }

    @Test func constantQPIsTheCommandLinesToo() throws {
        let clip = Clip(format: .yu12, width: 192, height: 128, frames: 25)
        let own = try encode(clip, ["QP": .int(30), "MaxKeyFrameInterval": .int(10)]).output
        #expect(vcl(own.nalUnits) == vcl(try commandLine(clip, ["--qp", "30", "--keyint", "10"])))
    }

    @Test func parameterSetsSayWhatTheSessionIs() throws {
        let clip = Clip(format: .p010, width: 192, height: 128, frames: 2)
        let encoder = try encode(
            clip,
            [
                "ColorPrimaries": .string("ITU_R_2020"), "TransferFunction": .string("ITU_R_2100_HLG"),
                "YCbCrMatrix": .string("ITU_R_2020"), "ChromaSampleLocType": .int(2),
            ]
        ).encoder
        let record = try DecoderConfigurationRecord(bytes: encoder.formatDescription)
        #expect(record.bitDepthLumaMinus8 == 2 && record.lengthSize == 4)
        let sps = try SequenceParameterSet(
            nal: try #require(record.arrays.first { $0.nalUnitType == .sps }?.nalUnits.first))
        #expect(sps.width == 192 && sps.height == 128)
        let colour = try #require(sps.colourDescription)
        #expect(colour.colourPrimaries == 9 && colour.transferCharacteristics == 18 && colour.matrixCoeffs == 9)
        // Main 10 is general_profile_idc 2 (H.265 A.3.3).
        #expect(sps.profileTierLevel.general?.profileIdc == 2)
    }

    /// With open GOPs x265 codes a key frame as CRA (nal_unit_type 21), with closed ones as IDR (19, 20).
    @Test(arguments: [(true, [0, 7, 13]), (false, [0, 7, 13])])
    func forcedKeyFramesAreRandomAccessPoints(isOpenGOP: Bool, expected: [UInt64]) throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 20)
        let output = try encode(clip, ["AllowOpenGOP": .bool(isOpenGOP)], forced: [7, 13]).output
        #expect(output.pictures.filter(\.isSync).map(\.frameID) == expected)
        // No leading picture: nothing that is decoded after a forced key frame is shown before it.
        var latest = Int64.min
        for picture in output.pictures {
            if picture.isSync { latest = picture.pts }
            #expect(picture.pts >= latest)
        }
        #expect(isOpenGOP || output.pictures.allSatisfy { $0.nalUnitType != 21 })
    }

    @Test(arguments: [
        ["RealTime": PropertyValue.bool(true)], ["AllowFrameReordering": .bool(false)],
    ])
    func withoutReorderingPicturesComeInOrder(properties: [String: PropertyValue]) throws {
        let clip = Clip(format: .nv12, width: 64, height: 64, frames: 20)
        let pictures = try encode(clip, properties).output.pictures
        #expect(pictures.map(\.pts) == (0..<20).map { Int64($0) })
        #expect(pictures.allSatisfy { $0.dts == $0.pts })
    }

    @Test func everyFrameComesOutOnceWithRisingDecodeTimes() throws {
        let clip = Clip(format: .nv12, width: 64, height: 64, frames: 61)
        let pictures = try encode(clip, [:]).output.pictures
        #expect(Set(pictures.map(\.frameID)) == Set((0..<61).map { UInt64($0) }))
        #expect(zip(pictures, pictures.dropFirst()).allSatisfy { $0.dts < $1.dts })
        #expect(pictures.allSatisfy { $0.dts <= $0.pts })
        #expect(pictures.contains { $0.dts < $0.pts }, "the default reorders")
    }

    /// The next even size, by the conformance window; the clean aperture of an odd one is the container's business.
    @Test(
        arguments: PixelFormat.allCases,
        [(1, 1), (2, 2), (8, 8), (16, 16), (64, 2), (17, 40), (65, 33), (853, 480)])
    func everySizeIsCodedAndShown(format: PixelFormat, size: (Int, Int)) throws {
        let clip = Clip(format: format, width: size.0, height: size.1, frames: 3)
        let (encoder, output) = try encode(clip, ["Quality": .double(1)])
        #expect(output.pictures.count == 3)
        let record = try DecoderConfigurationRecord(bytes: encoder.formatDescription)
        var stream: [UInt8] = []
        for unit in record.nalUnits + output.nalUnits { AnnexB.append(unit, to: &stream) }
        let decoded = try StreamDecoders.ffmpeg(stream, pixelFormat: format.bitDepth == 8 ? "yuv420p" : "yuv420p10le")
        let (w, h) = ((size.0 + 1) / 2 * 2, (size.1 + 1) / 2 * 2)
        #expect(decoded.count == 3 * w * h * 3 / 2 * format.bytesPerSample)
        // The picture is there and not shifted: at this quality every luma sample is close to the source's.
        var worst = 0
        for y in 0..<size.1 {
            for x in 0..<size.0 {
                let at = (y * w + x) * format.bytesPerSample
                let value =
                    format.bytesPerSample == 1 ? Int(decoded[at]) : Int(decoded[at]) | Int(decoded[at + 1]) << 8
                worst = max(worst, abs(value - clip.sample(0, x, y, 0)))
            }
        }
        #expect(worst <= 40 << (format.bitDepth - 8), "worst luma error \(worst)")
    }

    @Test func anOptionValueX265RefusesIsNamed() {
        let error = #expect(throws: SessionError.self) {
            try encode(
                Clip(format: .yu12, width: 64, height: 64, frames: 0), ["X265Params": .string("aq-mode=banana")])
        }
        #expect(error?.status == .parameter)
        #expect(error?.reason.contains("aq-mode") == true)
    }
}
