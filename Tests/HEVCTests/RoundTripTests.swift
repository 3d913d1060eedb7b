// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDHEVC

@Suite struct RoundTripTests {
    @Test("every header of the real clips is rewritten bit for bit", arguments: Clips.hevc)
    func clip(name: String) throws {
        guard let stream = try Clips.annexB(name) else { return }
        let seen = try Inspection(stream)
        #expect(seen.counts[.vps, default: 0] > 0 && seen.counts[.sps, default: 0] > 0)
        #expect(seen.counts[.pps, default: 0] > 0 && !seen.headers.isEmpty)
        print("\(name): \(seen.counts.values.reduce(0, +)) NAL units, \(seen.headers.count) slices")
    }

    @Test("every syntax element of the real clips has the value ffmpeg reads", arguments: Clips.hevc)
    func trace(name: String) throws {
        // ffmpeg 5.1's tracer does not know layers.
        guard !name.contains("alpha"), let stream = try Clips.annexB(name) else { return }
        let ours = try Inspection(stream).traces
        compare(ours, try Trace.ffmpeg(stream), name)
        print("\(name): \(ours.map(\.count).reduce(0, +)) syntax elements agree with ffmpeg")
    }

    @Test(
        "streams of every kind x265 makes are rewritten bit for bit and read as ffmpeg does", arguments: Variant.all
    )
    func variant(_ variant: Variant) throws {
        let stream = try variant.encode()
        let seen = try Inspection(stream)
        #expect(seen.headers.count >= 12)
        compare(seen.traces, try Trace.ffmpeg(stream), variant.name)
        for (name, values) in variant.expected {
            let found = Set(seen.traces.joined().filter { $0.name == name }.map(\.value))
            #expect(
                found.contains { values.contains($0) }, "\(name) is never in \(values): the option had no effect")
        }
        print("\(variant.name): \(seen.headers.count) slices, \(seen.traces.joined().count) syntax elements")
    }

    @Test func syntaxNoEncoderWritesIsReadAsFfmpegDoes() throws {
        let stream = try SyntheticStream.bytes()
        let seen = try Inspection(stream)
        #expect(seen.headers == (try SyntheticStream.sliceHeaders()))
        #expect(seen.parameterSets == (try SyntheticStream.parameterSets()))
        compare(seen.traces, try Trace.ffmpeg(stream), "synthetic")
        print("synthetic: \(seen.traces.joined().count) syntax elements")
    }

    @Test func commonHRDFieldsOfAVPSComeFromTheEntryBefore() throws {
        var vps = SyntheticStream.vps()
        vps.hrdParameters[1].cprmsPresentFlag = false
        let nal = try vps.nalUnit()
        #expect(try VideoParameterSet(nal: nal) == vps)
        #expect(nal.count < (try SyntheticStream.vps().nalUnit().count))
    }

    @Test func shortFormOfAnEnhancementLayerSPSIsKept() throws {
        var sps = SequenceParameterSet()
        sps.header = NALUnitHeader(.sps, nuhLayerId: 1)
        sps.spsMaxSubLayersMinus1 = 7
        sps.spsSeqParameterSetId = 1
        sps.spsRepFormatIdx = 3
        sps.scalingListEnabledFlag = true
        sps.spsScalingListRefLayerId = 0
        sps.extensions = SPSExtensions()
        sps.extensions?.interViewMvVertConstraintFlag = false
        sps.extensions?.spsExtension4bits = 1
        sps.extensions?.rawExtensions = RawBits(bytes: [0xA5, 0x40], bitCount: 10)
        let parsed = try SequenceParameterSet(nal: try sps.nalUnit())
        #expect(parsed == sps && parsed.isMultiLayerExtension)
        var sets = ParameterSets()
        sets.add(sps)
        var pps = PictureParameterSet()
        pps.ppsSeqParameterSetId = 1
        sets.add(pps)
        #expect { try SliceSegment(nal: [0x26, 0x09, 0xAF, 0x80], parameterSets: sets) } throws: {
            ($0 as? BitstreamError)?.code == .unsupported
        }
    }

    @Test func trailingZerosOfCarelessMuxersAreOverlooked() throws {
        let pps = SyntheticStream.pps()
        #expect(try PictureParameterSet(nal: try pps.nalUnit() + [0]) == pps)
        let sei = SEI(messages: [SEIMessage(payloadType: 5, payload: [UInt8](repeating: 1, count: 16))])
        #expect(try SEI(nal: try sei.nalUnit() + [0, 0]) == sei)
    }

    private func compare(_ ours: [[SyntaxElement]], _ theirs: [[SyntaxElement]], _ name: String) {
        #expect(ours.count == theirs.count)
        for (index, (our, their)) in zip(ours, theirs).enumerated() where our != their {
            let place = zip(our, their).enumerated().first { $1.0 != $1.1 }
            Issue.record("\(name) unit \(index): \(String(describing: place)), \(our.count) vs \(their.count)")
            break
        }
    }
}
