// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWDCoding
import HWDEncoderTesting
import HWDHEVC
import HWDModel
import Testing

@testable import HWDX265

/// The effects of properties on the stream.
@Suite struct PropertyEffectTests {
    private func parameterSets(_ encoder: X265Encoder) throws -> (ParameterSets, SequenceParameterSet, [[UInt8]]) {
        let units = try DecoderConfigurationRecord(bytes: encoder.formatDescription).nalUnits
        var sets = ParameterSets()
        for unit in units { try sets.add(nal: unit[...]) }
        return (sets, try #require(sets.sequenceParameterSets.values.first), units)
    }

    @Test(arguments: sampled([0, 3, 4, 7, 10, 20]))
    func keepsMaxFrameDelay(delay: Int) throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 40)
        var held = 0
        var most = 0
        let output = try encode(
            clip, ["MaxFrameDelayCount": .int(Int64(delay))], sent: { _ in held += 1 },
            got: { _ in
                held -= 1
            }, settled: { most = max(most, held) }
        ).output
        #expect(output.pictures.count == clip.frames)
        #expect(most <= delay, "\(most) frames were held")
    }

    @Test func streamHasAspectRatioLevelAndHDRMetadata() throws {
        // SEI 137 in units of 0.00002 and 0.0001 cd/m²: BT.2020 primaries, D65, 1000 and 0.005 cd/m².
        let mastering = "21349baa1996" + "08fc8a48" + "3908" + "3d134042" + "00989680" + "00000032"
        let clip = Clip(format: .i010, width: 64, height: 64, frames: 3)
        let (encoder, output) = try encode(
            clip,
            [
                "PixelAspectRatio": .string("4:3"), "ProfileLevel": .string("HEVC_Main10_4_1"),
                "MasteringDisplayColorVolume": .string(mastering), "ContentLightLevelInfo": .string("03e80190"),
            ])
        let (_, sps, units) = try parameterSets(encoder)
        let aspect = try #require(sps.vuiParameters?.sampleAspectRatio)
        #expect(aspect.width == 4 && aspect.height == 3)
        #expect(sps.profileTierLevel.generalLevelIdc == 3 * 41)
        let seen = try ffprobeSideData(units + output.nalUnits)
        #expect(seen.contains("max_luminance=10000000/10000"))
        #expect(seen.contains("min_luminance=50/10000"))
        #expect(seen.contains("white_point_x=15635/50000"))
        #expect(seen.contains("max_content=1000") && seen.contains("max_average=400"))
    }

    /// Frames with both fields' lines have pic_struct 3 or 4 (H.265 table D.2), with HRD parameters too.
    @Test(arguments: FieldDetail.interleavedNames, ["", "hrd=1:vbv-maxrate=500:vbv-bufsize=500"])
    func fieldsAreDeclared(_ name: String, _ options: String) throws {
        let clip = Clip(format: .nv12, width: 64, height: 64, frames: 5)
        let (encoder, output) = try encode(clip, ["FieldDetail": .string(name), "X265Params": .string(options)])
        let (_, sps, _) = try parameterSets(encoder)
        let general = try #require(sps.profileTierLevel.general)
        #expect(general.interlacedSourceFlag && !general.progressiveSourceFlag && general.frameOnlyConstraintFlag)
        #expect(sps.vuiParameters?.frameFieldInfoPresentFlag == true && sps.vuiParameters?.fieldSeqFlag == false)
        let messages = output.nalUnits.compactMap { try? SEI(nal: $0) }.flatMap(\.messages)
            .filter { $0.payloadType == 1 }
        let expected = FieldDetail(rawValue: name)?.isTopFirst == true ? 3 : 4
        #expect(messages.count == 5 && messages.allSatisfy { $0.payload.first.map { Int($0) >> 4 } == expected })
        #expect(throws: SessionError.self) {
            try encode(clip, ["FieldDetail": .string(name), "FieldCount": .int(1)])
        }
    }

    @Test func insertionModeNoneOmitsHDRMetadata() throws {
        let clip = Clip(format: .i010, width: 64, height: 64, frames: 2)
        let (encoder, output) = try encode(
            clip, ["ContentLightLevelInfo": .string("03e80190"), "HDRMetadataInsertionMode": .string("None")])
        let (_, _, units) = try parameterSets(encoder)
        #expect(try !ffprobeSideData(units + output.nalUnits).contains("max_content"))
    }

    @Test func codesKeyFramesOnlyWithoutTemporalCompression() throws {
        let clip = Clip(format: .nv12, width: 64, height: 64, frames: 8)
        let pictures = try encode(clip, ["AllowTemporalCompression": .bool(false)]).output.pictures
        #expect(pictures.count == 8 && pictures.allSatisfy(\.isSync))
    }

    /// SliceQpY = 26 + init_qp_minus26 + slice_qp_delta (H.265 equation 7-54).
    @Test(
        arguments: sampled([
            ("MinAllowedFrameQP", 40, "Quality", PropertyValue.double(1)),
            ("MaxAllowedFrameQP", 20, "Quality", .double(0)),
        ]))
    func keepsQPWithinItsBounds(name: String, bound: Int, rate: String, value: PropertyValue) throws {
        let clip = Clip(format: .yu12, width: 64, height: 64, frames: 12)
        let (encoder, output) = try encode(clip, [name: .int(Int64(bound)), rate: value])
        let (sets, _, _) = try parameterSets(encoder)
        for unit in vcl(output.nalUnits) {
            let header = try SliceSegment(nal: unit, parameterSets: sets).sliceHeader
            let picture = try sets.active(ppsId: header.slicePicParameterSetId).pps
            let qp = 26 + picture.initQpMinus26 + header.sliceQpDelta
            #expect(name == "MinAllowedFrameQP" ? qp >= bound : qp <= bound, "QP \(qp)")
        }
    }

    /// H.265 C.1 bounds the bytes of every second by rate · time + buffer.
    @Test func dataRateLimitsBoundEverySecond() throws {
        let clip = Clip(format: .yu12, width: 128, height: 96, frames: 100)
        let free = try encode(clip, ["Quality": .double(0.9)]).output
        let limited = try encode(
            clip, ["Quality": .double(0.9), "DataRateLimits": .array([.int(15_000), .int(1)])]
        ).output
        #expect(most(free, 25) > 45_000, "the clip is below the limit without it: \(most(free, 25))")
        #expect(most(limited, 25) <= 30_000, "\(most(limited, 25)) bytes in a second")
    }

    @Test func keepsConstantBitRate() throws {
        let clip = Clip(format: .yu12, width: 128, height: 96, frames: 150)
        let bytes = try encode(clip, ["ConstantBitRate": .int(400_000)]).output.sizes.reduce(0, +)
        let rate = Double(bytes) * 8 * 25 / 150
        #expect(rate > 300_000 && rate < 480_000, "\(rate) bit/s")
    }

    private func most(_ output: Output, _ window: Int) -> Int {
        (0...(output.sizes.count - window)).map { output.sizes[$0..<$0 + window].reduce(0, +) }.max() ?? 0
    }

    private func ffprobeSideData(_ units: [[UInt8]]) throws -> String {
        var stream: [UInt8] = []
        for unit in units { AnnexB.append(unit, to: &stream) }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("x265-\(UUID()).hevc")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(stream).write(to: file)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [
            "timeout", "60", "ffprobe", "-v", "error", "-show_frames", "-read_intervals", "%+#1", file.path,
        ]
        let pipe = Pipe()
        process.standardOutput = pipe
        try process.run()
        let text = String(decoding: pipe.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0 && text.contains("[FRAME]"))
        return text
    }
}
