// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HEVC

@Suite struct RoundTripTests {
    @Test("parameter sets of real clips are rewritten bit for bit", arguments: Clips.hevc)
    func parameterSets(clip: String) throws {
        guard let stream = try Clips.annexB(clip) else { return }
        var seen: Set<NALUnitType> = []
        for nal in AnnexB.NALUnits(stream) {
            let type = try NALUnitHeader(nal: nal).nalUnitType
            switch type {
            case .vps: #expect(try VideoParameterSet(nal: nal).nalUnit() == Array(nal))
            case .sps: #expect(try SequenceParameterSet(nal: nal).nalUnit() == Array(nal))
            case .pps: #expect(try PictureParameterSet(nal: nal).nalUnit() == Array(nal))
            default: continue
            }
            seen.insert(type)
        }
        #expect(seen == [.vps, .sps, .pps])
    }
}
