// SPDX-License-Identifier: GPL-2.0-or-later
import HWDHEVC
import HWDModel
import Testing

@testable import HWDCoding

/// Extraction of the alpha layer, NAL unit by NAL unit.
@Suite struct AlphaLayerTests {
    /// The parameter sets of a 640x360 stream with alpha by x265 4.3, and its message: straight, 0 to 255.
    static let vps =
        "40010c11ffff01600000030090000003000003003f959815bf3f1800010704383808000004fc400000030001fc6814000b4500514acd48"
    static let baseSPS = "42010101600000030090000003000003003fa00502016965959a4932bc05a02000000300200000030321"
    static let alphaSPS = "42090101600000030090000003000003003f480140805a596566924caf016801"
    static let basePPS = "4401c172b46240"
    static let alphaPPS = "440948172b0624"
    static let message = "4e01a50400007f9080"
    static let all = [vps, baseSPS, alphaSPS, basePPS, alphaPPS, message].map(bytes)

    static func bytes(_ hex: String) -> [UInt8] { Hexadecimal.bytes(hex) ?? [] }

    static func format(_ nalUnits: [[UInt8]] = all) throws -> StreamFormat {
        try StreamFormat(description: try DecoderConfigurationRecord(nalUnits: nalUnits).bytes())
    }

    static func packet(_ nalUnits: [[UInt8]]) throws -> [UInt8] {
        var packet: [UInt8] = []
        for nal in nalUnits { try LengthPrefixedNALUnits.append(nal, to: &packet) }
        return packet
    }

    static func units(_ bytes: [UInt8]) throws -> [[UInt8]] {
        var (reader, units) = (try LengthPrefixedNALUnits(bytes[...]), [[UInt8]]())
        while let nal = try reader.next() { units.append(Array(nal)) }
        return units
    }

    /// A slice with contents that these tests do not read.
    static func slice(_ type: NALUnitType, layer: Int) throws -> [UInt8] {
        try NALUnitHeader(type, nuhLayerId: layer).bytes() + [0x80, 1, 2, UInt8(layer)]
    }

    static func picture(_ type: NALUnitType, alpha: NALUnitType? = nil) throws -> [UInt8] {
        try packet([slice(type, layer: 0)] + (alpha.map { [try slice($0, layer: 1)] } ?? []))
    }

    @Test func separatesTheAlphaLayerAsAStream() throws {
        var reader = StreamReader(try Self.format(), readsAlpha: true)
        let key = reader.read(try Self.picture(.idrNLP, alpha: .idrNLP))
        #expect(try Self.units(key.bytes) == [try Self.slice(.idrNLP, layer: 0)])
        let alpha = try #require(key.alpha)
        let units = try Self.units(alpha.bytes)
        #expect(try units.allSatisfy { try NALUnitHeader(nal: $0).nuhLayerId == 0 })
        let types = try units.map { try NALUnitHeader(nal: $0).nalUnitType }
        #expect(types.last == .idrNLP && types.contains(.vps) && alpha.pictureType == .idrNLP)
        #expect(units.last?.suffix(4) == [0x80, 1, 2, 1])
        // A stream of one layer with consistent ids.
        let sets = try ParameterSets(nalUnits: units.dropLast())
        let sps = try sets.active(ppsId: 1).sps
        #expect(sps.spsSeqParameterSetId == 1 && sps.width == 640 && sps.header.nuhLayerId == 0)
        #expect(sets.videoParameterSets[sps.spsVideoParameterSetId]?.vpsMaxLayersMinus1 == 0)
        let interpretation = alpha.interpretation
        #expect(
            interpretation.mode == .straight && interpretation.isModeSignaled && interpretation.opacities == nil)
        // Later pictures have slices only.
        let next = reader.read(try Self.picture(.trailR, alpha: .trailR))
        #expect(try Self.units(next.alpha?.bytes ?? []).count == 1 && next.alpha?.fault == nil)
    }

    @Test func ignoresTheAlphaLayerUnlessRequested() throws {
        let format = try Self.format()
        var reader = StreamReader(format)
        let unit = reader.read(try Self.picture(.idrNLP, alpha: .idrNLP))
        #expect(unit.alpha == nil)
        #expect(try Self.units(unit.bytes) == [try Self.slice(.idrNLP, layer: 0)])
        // The decoder's record does not contain it either.
        for nal in format.record.nalUnits {
            #expect(try NALUnitHeader(nal: nal).nuhLayerId == 0)
            if let vps = try? VideoParameterSet(nal: nal) { #expect(vps.vpsExtension == nil) }
        }
        let again = reader.read(try Self.packet([Self.bytes(Self.vps), Self.slice(.trailR, layer: 0)]))
        let vps = try #require(try Self.units(again.bytes).first)
        #expect(try VideoParameterSet(nal: vps).vpsMaxLayersMinus1 == 0)
    }

    @Test func reportsMissingAlphaSlices() throws {
        var reader = StreamReader(try Self.format(), readsAlpha: true)
        _ = reader.read(try Self.picture(.idrNLP, alpha: .idrNLP))
        let without = try #require(reader.read(try Self.picture(.trailR)).alpha)
        #expect(without.bytes.isEmpty && without.fault == "the access unit has no slices of the alpha layer")
        // Messages alone are not a picture.
        let messages = reader.read(try Self.packet([Self.bytes(Self.message)]))
        #expect(messages.alpha?.fault == nil && messages.alpha?.bytes == [])
        var single = StreamReader(
            try Self.format([
                try VideoParameterSet(nal: Self.bytes(Self.vps)).singleLayer.nalUnit(), Self.bytes(Self.baseSPS),
                Self.bytes(Self.basePPS),
            ]), readsAlpha: true)
        #expect(single.read(try Self.picture(.idrNLP, alpha: .idrNLP)).alpha == nil)
    }

    @Test func reportsWhyALayerCannotBeExtracted() throws {
        var vps = try VideoParameterSet(nal: Self.bytes(Self.vps))
        var layers = try #require(try vps.multilayerExtension())
        var relations = try #require(layers.relations)
        relations.directDependencyFlag = true
        relations.pocLsbNotPresentFlag = false
        layers.relations = relations
        try vps.setMultilayerExtension(layers)
        let dependent = try Self.format([try vps.nalUnit()] + Self.all.dropFirst())
        #expect(dependent.alpha == nil)
        var reader = StreamReader(dependent, readsAlpha: true)
        let unit = reader.read(try Self.picture(.idrNLP, alpha: .idrNLP))
        #expect(unit.alpha?.bytes == [] && unit.alpha?.fault?.contains("predicted from the base layer") == true)
        #expect(try Self.units(unit.bytes).count == 1 && unit.fault == nil)

        var large = try SequenceParameterSet(nal: Self.bytes(Self.alphaSPS))
        (large.picWidthInLumaSamples, large.picHeightInLumaSamples) = (16384, 16384)
        var hostile = StreamReader(
            try Self.format([Self.all[0], Self.all[1], try large.nalUnit()] + Self.all.dropFirst(3)),
            readsAlpha: true)
        let refused = try #require(hostile.read(try Self.picture(.idrNLP, alpha: .idrNLP)).alpha)
        #expect(refused.bytes.isEmpty && refused.fault?.contains("16384x16384") == true)
    }

    @Test func completesAShortSPSFromTheVPS() throws {
        var short = try SequenceParameterSet(nal: Self.bytes(Self.alphaSPS))
        let whole = short
        short.spsMaxSubLayersMinus1 = 7
        var reader = StreamReader(
            try Self.format([Self.all[0], Self.all[1], try short.nalUnit()] + Self.all.dropFirst(3)),
            readsAlpha: true)
        let alpha = try #require(reader.read(try Self.picture(.idrNLP, alpha: .idrNLP)).alpha)
        let sets = try ParameterSets(nalUnits: try Self.units(alpha.bytes).dropLast())
        var made = try #require(sets.sequenceParameterSets[1])
        #expect((made.width, made.height, made.bitDepthLuma) == (640, 360, 8))
        made.header = whole.header
        made.profileTierLevel = whole.profileTierLevel
        #expect(made == whole)
    }

    @Test func preservesOrRemovesTheOrderCountOfAnIDRPicture() throws {
        var vps = try VideoParameterSet(nal: Self.bytes(Self.vps))
        var layers = try #require(try vps.multilayerExtension())
        layers.relations?.pocLsbNotPresentFlag = false
        try vps.setMultilayerExtension(layers)
        let format = try Self.format([try vps.nalUnit()] + Self.all.dropFirst())
        var sets = try ParameterSets(nalUnits: Array(Self.all.prefix(5)))
        sets.layersWithIdrPocLsb = [1]
        for (count, type) in [(0, NALUnitType.idrWRADL), (5, .blaWRADL)] {
            var header = SliceSegmentHeader(NALUnitHeader(.idrWRADL, nuhLayerId: 1))
            header.slicePicParameterSetId = 1
            header.slicePicOrderCntLsb = count
            let nal = try SliceSegment(sliceHeader: header, data: [9, 9, 9]).nalUnit(parameterSets: sets)
            var reader = StreamReader(format, readsAlpha: true)
            let packet = try Self.packet([Self.slice(.idrWRADL, layer: 0), nal])
            let units = try Self.units(try #require(reader.read(packet).alpha).bytes)
            let alone = try ParameterSets(nalUnits: Array(units.dropLast()))
            let slice = try SliceSegment(nal: try #require(units.last), parameterSets: alone)
            #expect(slice.sliceHeader.header == NALUnitHeader(type))
            #expect(slice.sliceHeader.slicePicOrderCntLsb == count && Array(slice.data) == [9, 9, 9])
        }
    }

    @Test func interpretsValuesByMessageOrRange() throws {
        var info = AlphaChannelInfo(alphaChannelUseIdc: 1)
        #expect(AlphaInterpretation(info, isFullRange: false).opacities == nil, "the message's values hold")
        #expect(AlphaInterpretation(info, isFullRange: true).mode == .premultiplied)
        #expect(AlphaInterpretation(nil, isFullRange: nil).opacities == nil)
        let videoRange = AlphaInterpretation(nil, isFullRange: false)
        #expect(videoRange.mode == .premultiplied && !videoRange.isModeSignaled)
        let expanded = try #require(videoRange.opacities)
        #expect([expanded[0], expanded[16], expanded[126], expanded[235], expanded[255]] == [0, 0, 128, 255, 255])
        (info.alphaTransparentValue, info.alphaOpaqueValue) = (255, 0)
        #expect(AlphaInterpretation(info, isFullRange: nil).opacities?.elementsEqual((0...255).reversed()) == true)
        (info.alphaTransparentValue, info.alphaOpaqueValue) = (7, 7)
        #expect(AlphaInterpretation(info, isFullRange: nil).opacities == nil)
        (info.alphaTransparentValue, info.alphaOpaqueValue) = (0, 511)
        #expect(AlphaInterpretation(info, isFullRange: nil).opacities?[255] == 127)
        info = AlphaChannelInfo()
        info.alphaChannelClipTypeFlag = false
        let ends = try #require(AlphaInterpretation(info, isFullRange: nil).opacities)
        #expect(ends[127] == 0 && ends[128] == 255)
    }
}
