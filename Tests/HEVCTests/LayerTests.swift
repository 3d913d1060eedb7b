// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import Testing

@testable import HWDHEVC

/// VPS extensions: written ones have the published form; those of other encoders are read as far as possible.
@Suite struct LayerTests {
    /// The VPS of a 640x360 stream with alpha, known to decode in FFmpeg 8.1 and 9.0.
    static let published =
        "40010c11ffff01600000030090000003000003003f959415bf3f08000410a702800168a00a295969"
    /// The VPS of x265 4.3: two scalability dimensions, explicit layer ids, three profiles.
    static let x265v4 =
        "40010c11ffff01600000030090000003000003003f959815bf3f1800010704383808000004fc400000030001fc6814"

    static func bytes(_ hex: String) -> [UInt8] { Hexadecimal.bytes(hex) ?? [] }

    /// The VPS and SPS of one layer that the published VPS is derived from.
    static func singleLayer() -> (vps: VideoParameterSet, sps: SequenceParameterSet) {
        var profile = ProfileTier()
        profile.profileIdc = 1
        profile.profileCompatibilityFlags = 0x6000_0000
        (profile.progressiveSourceFlag, profile.frameOnlyConstraintFlag) = (true, true)
        var (vps, sps) = (VideoParameterSet(), SequenceParameterSet())
        vps.profileTierLevel.general = profile
        vps.profileTierLevel.generalLevelIdc = 63
        vps.orderingInfo.subLayers = [
            SubLayerOrdering(maxDecPicBufferingMinus1: 4, maxNumReorderPics: 2, maxLatencyIncreasePlus1: 4)
        ]
        vps.timingInfo = TimingInfo(numUnitsInTick: 1, timeScale: 25)
        sps.profileTierLevel = vps.profileTierLevel
        sps.orderingInfo = vps.orderingInfo
        (sps.picWidthInLumaSamples, sps.picHeightInLumaSamples) = (640, 360)
        return (vps, sps)
    }

    @Test func writesThePublishedVPSOfAnAlphaStream() throws {
        let (vps, sps) = Self.singleLayer()
        let written = try vps.addingAlphaLayer(base: sps, alpha: sps)
        #expect(try written.nalUnit() == Self.bytes(Self.published))
        let read = try VideoParameterSet(nal: Self.bytes(Self.published))
        #expect(read == written && read.alphaLayerId == 1)
        let layers = try #require(try read.multilayerExtension())
        let relations = try #require(layers.relations)
        #expect(layers.scalabilityId(.auxiliary, ofLayer: 1) == 1)
        #expect(layers.scalabilityId(.auxiliary, ofLayer: 0) == 0)
        #expect(relations.repFormats == [RepFormat(sps)] && relations.pocLsbNotPresentFlag)
        var again = vps
        (again.vpsMaxLayersMinus1, again.vpsMaxLayerId) = (1, 1)
        (again.layerIdIncludedFlag, again.timingInfo) = ([[true, true]], nil)
        try again.setMultilayerExtension(layers)
        #expect(try again.nalUnit() == Self.bytes(Self.published))
    }

    @Test func writesConformanceWindowAndHigherLevelIntoTheExtension() throws {
        var (vps, sps) = Self.singleLayer()
        sps.conformanceWindow = WindowOffsets(right: 3, bottom: 1)
        var alpha = sps
        alpha.profileTierLevel.generalLevelIdc = 90
        vps = try VideoParameterSet(nal: try vps.addingAlphaLayer(base: sps, alpha: alpha).nalUnit())
        let layers = try #require(try vps.multilayerExtension())
        #expect(layers.relations?.repFormats.first?.conformanceWindow == sps.conformanceWindow)
        #expect(layers.baseProfileTierLevel?.generalLevelIdc == 90 && vps.profileTierLevel.generalLevelIdc == 63)
    }

    @Test func findsTheAlphaLayerOfANonconformingExtension() throws {
        let nal = Self.bytes(Self.x265v4)
        let vps = try VideoParameterSet(nal: nal)
        #expect(vps.alphaLayerId == 1)
        let layers = try #require(try vps.multilayerExtension())
        #expect(layers.vpsNuhLayerIdPresentFlag && layers.dimensionIdLenMinus1 == [0, 0])
        #expect(layers.scalabilityId(.dependency, ofLayer: 1) == 1)
        #expect(layers.relations == nil, "the extension ends inside the picture size")
        #expect(try vps.nalUnit() == nal)
        #expect(throws: BitstreamError.self) {
            var copy = vps
            try copy.setMultilayerExtension(layers)
        }
    }

    @Test("Finds the layers of a truncated extension, or throws", arguments: [published, x265v4])
    func readsTruncatedExtensions(hex: String) throws {
        let vps = try VideoParameterSet(nal: Self.bytes(hex))
        let raw = try #require(vps.vpsExtension)
        var found: [Bool] = []
        for bits in 0...raw.bitCount {
            var cut = vps
            cut.vpsExtension = RawBits(bytes: raw.bytes, bitCount: bits)
            found.append(cut.alphaLayerId == 1)
            let again = try VideoParameterSet(nal: try cut.nalUnit())
            #expect(again.alphaLayerId == cut.alphaLayerId)
        }
        #expect(found.first == false && found.last == true)
        // Found once the layers are complete, at the latest after 5 alignment bits, level, masks and ids.
        #expect(found.firstIndex(of: true) ?? 99 <= 48 && found.lastIndex(of: false) ?? 0 < 48)
    }

    @Test func rewritesEveryBranchOfTheExtension() throws {
        for dependent in [false, true] {
            var vps = SyntheticStream.vps()
            vps.vpsMaxLayersMinus1 = 1
            let content = Self.everything(dependent: dependent)
            try vps.setMultilayerExtension(content)
            let nal = try vps.nalUnit()
            let read = try VideoParameterSet(nal: nal)
            #expect(try read.multilayerExtension() == content)
            #expect(try read.nalUnit() == nal)
        }
    }

    @Test func reducesTheExtensionToFewerSubLayers() throws {
        for highest in 0...1 {
            var vps = SyntheticStream.vps()
            vps.vpsMaxLayersMinus1 = 1
            try vps.setMultilayerExtension(Self.everything(dependent: false))
            try vps.keepSubLayers(upTo: highest)
            let layers = try #require(try VideoParameterSet(nal: try vps.nalUnit()).multilayerExtension())
            let relations = try #require(layers.relations)
            #expect(layers.baseProfileTierLevel?.subLayers.count == highest)
            #expect(relations.profileTierLevels.map(\.subLayers.count) == [highest, highest])
            #expect(relations.subLayersMaxMinus1 == (highest == 0 ? nil : [1, 1]))
            #expect(relations.outputLayerSets.map(\.ordering.count) == [highest + 1, highest + 1])
            #expect(relations.nonVuiExtensionData == [0, 0, 1, 255])
        }
        // vps_vui() describes sub-layers and is not interpreted, so the set is unchanged.
        var vps = SyntheticStream.vps()
        vps.vpsMaxLayersMinus1 = 1
        try vps.setMultilayerExtension(Self.everything(dependent: true))
        let before = vps
        try vps.keepSubLayers(upTo: 0)
        #expect(vps == before)
    }

    @Test func splitsLayerIdsIntoDimensions() throws {
        var vps = Self.singleLayer().vps
        (vps.vpsMaxLayersMinus1, vps.vpsMaxLayerId) = (2, 9)
        var layers = VPSExtension()
        layers.baseProfileTierLevel = ProfileTierLevel()
        layers.splittingFlag = true
        layers.scalabilityMaskFlag[2] = true
        layers.scalabilityMaskFlag[3] = true
        layers.dimensionIdLenMinus1 = [2]
        layers.vpsNuhLayerIdPresentFlag = true
        // Three bits of DependencyId; the other bits are AuxId.
        layers.layers = [.init(), .init(nuhLayerId: 1), .init(nuhLayerId: 9)]
        for index in layers.layers.indices { layers.layers[index].dimensionId = [0, 0] }
        layers.relations = VPSLayerRelations()
        #expect(throws: BitstreamError.self, "relations of three layers cannot be written") {
            var copy = vps
            try copy.setMultilayerExtension(layers)
        }
        // Written as bits: the reader aligns, so only the layers follow.
        var writer = BitWriter()
        vps.vpsExtension = RawBits()
        try vps.codeUpToExtension(&writer)
        let start = writer.bitCount
        #expect(throws: BitstreamError.self) { try layers.code(&writer, of: vps) }
        var reader = BitReader(writer.bytes)
        try reader.skip(start)
        vps.vpsExtension = try reader.readRaw(writer.bitCount - start)
        let read = try #require(try vps.multilayerExtension())
        #expect(read.layers.map(\.dimensionId) == [[0, 0], [1, 0], [1, 1]])
        #expect(read.alphaLayerId == 9 && read.relations == nil)
    }

    @Test func rewritesOrRefusesTwentyThousandDamagedExtensions() throws {
        var full = SyntheticStream.vps()
        full.vpsMaxLayersMinus1 = 1
        try full.setMultilayerExtension(Self.everything(dependent: false))
        let seeds = [Self.bytes(Self.published), Self.bytes(Self.x265v4), try full.nalUnit()]
        var (random, interpreted, refused) = (HostileInputTests.Generator(state: 165), 0, 0)
        for round in 0..<20_000 {
            var nal = seeds[round % seeds.count]
            HostileInputTests.mutate(&nal, &random, keeping: 2)
            guard var vps = try? VideoParameterSet(nal: nal), let layers = try? vps.multilayerExtension(),
                layers.relations != nil
            else {
                refused += 1
                continue
            }
            try vps.setMultilayerExtension(layers)
            #expect(try vps.multilayerExtension() == layers)
            try vps.keepSubLayers(upTo: round % 3)
            #expect(try vps.multilayerExtension()?.relations != nil)
            interpreted += 1
        }
        #expect(interpreted > 1000 && refused > 1000)
    }

    @Test func writesHeadersOfLayerOne() throws {
        #expect(try NALUnitHeader(.sps, nuhLayerId: 1).bytes() == [0x42, 0x09])
        #expect(try NALUnitHeader(.idrWRADL, nuhLayerId: 1).bytes() == [0x26, 0x09])
        #expect(try NALUnitHeader(nal: [0x02, 0x09]).nuhLayerId == 1)
    }

    /// An extension with every optional part, for a VPS of three sub-layers and two layer sets besides the base's.
    static func everything(dependent: Bool) -> VPSExtension {
        let base = levels
        var layers = VPSExtension()
        layers.baseProfileTierLevel = base
        for type in [1, 3, 15] { layers.scalabilityMaskFlag[type] = true }
        layers.dimensionIdLenMinus1 = [1, 2, 7]
        layers.layers = [.init(dimensionId: [0, 0, 0]), .init(nuhLayerId: 1, dimensionId: [3, 5, 200])]
        layers.relations = relations(dependent: dependent)
        return layers
    }

    private static var levels: ProfileTierLevel {
        var levels = ProfileTierLevel()
        levels.general = nil
        levels.subLayers = [.init(profile: nil, levelIdc: 30), .init(profile: ProfileTier(), levelIdc: nil)]
        return levels
    }

    private static func relations(dependent: Bool) -> VPSLayerRelations {
        let base = levels
        var withProfile = base
        withProfile.general = ProfileTier()
        var relations = VPSLayerRelations()
        relations.viewIdLen = 5
        relations.viewIdVal = [30, 31]
        relations.directDependencyFlag = dependent
        relations.subLayersMaxMinus1 = [2, 1]
        relations.maxTidRefPresentFlag = true
        relations.maxTidIlRefPicsPlus1 = dependent ? 2 : 7
        relations.defaultRefLayersActiveFlag = true
        relations.numProfileTierLevelMinus1 = 3
        relations.profileTierLevels = [base, withProfile]
        relations.defaultOutputLayerIdc = 2
        relations.outputLayerSets = outputLayerSets(dependent: dependent)
        relations.repFormats = repFormats
        relations.repFormatIdx = 2
        relations.pocLsbAlignedFlag = true
        relations.pocLsbNotPresentFlag = !dependent
        relations.directDepTypeLenMinus2 = 3
        relations.directDependencyAllLayersFlag = !dependent
        relations.directDependencyType = 17
        relations.nonVuiExtensionData = [0, 0, 1, 255]
        relations.vpsExtension2Flag = !dependent
        relations.vpsVuiPresentFlag = dependent
        relations.uninterpreted = RawBits(bytes: [0xA5, 0x80], bitCount: 9)
        return relations
    }

    private static func outputLayerSets(dependent: Bool) -> [OutputLayerSet] {
        var (both, second) = (OutputLayerSet(), OutputLayerSet())
        both.outputLayerFlag = [true, false]
        both.profileTierLevelIdx = [3]
        both.ordering = [
            LayerSetOrdering(maxDecPicBufferingMinus1: [4], maxNumReorderPics: 2, maxLatencyIncreasePlus1: 7), nil,
            nil,
        ]
        second.outputLayerFlag = [true]
        second.profileTierLevelIdx = [2]
        second.altOutputLayerFlag = dependent
        second.subLayerFlagInfoPresentFlag = true
        second.ordering = [
            LayerSetOrdering(maxDecPicBufferingMinus1: [1]), LayerSetOrdering(maxDecPicBufferingMinus1: [15]),
        ]
        return [both, second]
    }

    private static var repFormats: [RepFormat] {
        var other = RepFormat()
        (other.picWidthInLumaSamples, other.picHeightInLumaSamples) = (65535, 8)
        other.chromaAndBitDepth?.chromaFormatIdc = 3
        other.chromaAndBitDepth?.separateColourPlaneFlag = true
        other.conformanceWindow = WindowOffsets(left: 1, right: 2, top: 3, bottom: 4)
        var same = RepFormat()
        same.chromaAndBitDepth = nil
        return [RepFormat(), other, same]
    }
}
