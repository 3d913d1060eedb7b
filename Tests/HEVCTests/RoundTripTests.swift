// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDHEVC

@Suite struct RoundTripTests {
    @Test("Rewrites every header of a clip bit for bit", arguments: Clips.hevc + Clips.layered)
    func rewritesClips(name: String) throws { try checkRewriting(name) }

    @Test(
        "Rewrites every header of a large clip bit for bit", .needsMediaSet,
        arguments: Clips.largeHEVC + Clips.largeLayered)
    func rewritesHeadersOfLargeClips(name: String) throws { try checkRewriting(name) }

    private func checkRewriting(_ name: String) throws {
        let seen = try Inspection(try Clips.annexB(name))
        #expect(seen.counts[.vps, default: 0] > 0 && seen.counts[.sps, default: 0] > 0)
        #expect(seen.counts[.pps, default: 0] > 0 && !seen.headers.isEmpty)
    }

    // Without layered clips: ffmpeg 5.1's trace_headers does not support layers.
    @Test("Reads every syntax element of a clip as ffmpeg does", arguments: Clips.hevc)
    func matchesTraceOfClips(name: String) throws { try checkTrace(name) }

    @Test("Reads every syntax element of a large clip as ffmpeg does", .needsMediaSet, arguments: Clips.largeHEVC)
    func matchesTraceOfLargeClips(name: String) throws { try checkTrace(name) }

    private func checkTrace(_ name: String) throws {
        let stream = try Clips.annexB(name)
        let ours = try Inspection(stream).traces
        #expect(!ours.isEmpty)
        compare(ours, try Trace.ffmpeg(stream), name)
    }

    @Test("Rewrites every kind of x265's streams bit for bit and reads it as ffmpeg does", arguments: Variant.all)
    func rewritesEncoderStreams(_ variant: Variant) throws {
        let stream = try variant.encode()
        let seen = try Inspection(stream)
        #expect(seen.headers.count >= 12)
        compare(seen.traces, try Trace.ffmpeg(stream), variant.name)
        for (name, values) in variant.expected {
            let found = Set(seen.traces.joined().filter { $0.name == name }.map(\.value))
            #expect(
                found.contains { values.contains($0) }, "\(name) is never in \(values): the option had no effect")
        }
    }

    @Test func readsSyntaxThatNoEncoderWritesAsFfmpegDoes() throws {
        let stream = try SyntheticStream.bytes()
        let seen = try Inspection(stream)
        #expect(seen.headers == (try SyntheticStream.sliceHeaders()))
        #expect(seen.parameterSets == (try SyntheticStream.parameterSets()))
        compare(seen.traces, try Trace.ffmpeg(stream), "synthetic")
    }

    @Test func infersCommonHRDFieldsOfAVPSFromTheEntryBefore() throws {
        var vps = SyntheticStream.vps()
        vps.hrdParameters[1].cprmsPresentFlag = false
        let nal = try vps.nalUnit()
        #expect(try VideoParameterSet(nal: nal) == vps)
        #expect(nal.count < (try SyntheticStream.vps().nalUnit().count))
    }

    @Test func keepsTheShortFormOfAnEnhancementLayerSPS() throws {
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

    @Test func ignoresTrailingZerosThatMuxersAppend() throws {
        let pps = SyntheticStream.pps()
        #expect(try PictureParameterSet(nal: try pps.nalUnit() + [0]) == pps)
        let sei = SEI(messages: [SEIMessage(payloadType: 5, payload: [UInt8](repeating: 1, count: 16))])
        #expect(try SEI(nal: try sei.nalUnit() + [0, 0]) == sei)
    }

    private func compare(_ ours: [[SyntaxElement]], _ theirs: [[SyntaxElement]], _ name: String) {
        #expect(ours.count == theirs.count)
        for (index, (our, their)) in zip(ours, theirs).enumerated() where our != their {
            let difference = zip(our, their).enumerated().first { $1.0 != $1.1 }
            Issue.record("\(name) unit \(index): \(String(describing: difference)), \(our.count) vs \(their.count)")
            break
        }
    }
}
