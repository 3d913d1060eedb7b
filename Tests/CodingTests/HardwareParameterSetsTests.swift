// SPDX-License-Identifier: GPL-2.0-or-later
import HWDCoding
import HWDHEVC
import HWDModel
import HWDPolicy
import Testing

/// Parameter sets that hardware writes, which is not bound to what it was given.
@Suite struct HardwareParameterSetsTests {
    private let configuration: EncoderConfiguration
    private let size: CodedSize
    private let syntax: StreamSyntax

    init() throws {
        let request = try CompressionRequest(
            codec: "hevc", width: 318, height: 178, pixelFormat: "NV12", timeBase: Rational(1))
        var store = PropertyStore(backend: .vaapi)
        try store.set(
            ["ExpectedFrameRate": .int(25), "ContentLightLevelInfo": .string("03e80190")], isOpen: false)
        configuration = try EncoderConfiguration(request: request, properties: store)
        size = CodedSize(request, alignment: (16, 16), minimum: (16, 16))
        syntax = StreamSyntax(
            configuration, size: size,
            structure: PictureStructure(configuration, limits: ReferenceLimits(list0: 1)), tools: CodingTools())
    }

    /// The hardware's sets, of which the SPS is changed.
    private func sets(_ change: (inout SequenceParameterSet) -> Void) throws -> HardwareParameterSets {
        var units = try syntax.parameterSets()
        var sps = syntax.sps
        change(&sps)
        units[1] = try sps.nalUnit()
        return try HardwareParameterSets(units, configuration, size: size)
    }

    private func refusal(_ change: (inout SequenceParameterSet) -> Void) -> String {
        do {
            _ = try sets(change)
            return ""
        } catch { return (error as? BitstreamError)?.reason ?? "\(error)" }
    }

    @Test("The record has the session's window, VUI and HDR metadata, and the other sets as they are")
    func adjusts() throws {
        let found = try sets { sps in
            sps.conformanceWindow = nil
            sps.vuiParameters = nil
        }
        #expect(found.sps.width == 320 && found.sps.vuiParameters == nil)
        let units = try DecoderConfigurationRecord(bytes: found.record).nalUnits
        let expected = try syntax.parameterSets()
        #expect(units.count == 4 && units.contains(expected[0]) && units.contains(expected[2]))
        let sps = try #require(units.lazy.compactMap { try? SequenceParameterSet(nal: $0) }.first)
        #expect(sps.width == 318 && sps.height == 178 && sps.picWidthInLumaSamples == 320)
        #expect(sps.vuiParameters == VUIParameters(configuration))
        let messages = try #require(units.lazy.compactMap { try? SEI(nal: $0) }.first).messages
        #expect(messages.map(\.payloadType) == [SEIPayloadType.contentLight])
        #expect(messages.map(\.payload) == [[0x03, 0xE8, 0x01, 0x90]])
    }

    @Test("An SPS that needs no change stays byte for byte")
    func keeps() throws {
        let units = try syntax.parameterSets()
        let found = try HardwareParameterSets(units, configuration, size: size)
        #expect(try DecoderConfigurationRecord(bytes: found.record).nalUnits.contains(units[1]))
    }

    @Test("An SPS of another bit depth, another chroma format or a smaller picture is refused")
    func refuses() {
        #expect(refusal { $0.bitDepthLumaMinus8 = 2 } == "the SPS has 10 bits a sample, not 8")
        #expect(refusal { $0.bitDepthChromaMinus8 = 2 } != "")
        #expect(refusal { $0.chromaFormatIdc = 2 } != "")
        #expect(refusal { $0.picWidthInLumaSamples = 304 } == "the SPS has 304x192 samples")
        #expect(refusal { $0.picHeightInLumaSamples = 176 } == "the SPS has 320x176 samples")
        #expect(refusal { _ in } == "")
    }

    @Test("Without an SPS, or with a unit that is none, there is no stream")
    func incomplete() throws {
        let units = try syntax.parameterSets()
        #expect(throws: BitstreamError.self) {
            try HardwareParameterSets([units[0], units[2]], configuration, size: size)
        }
        #expect(throws: BitstreamError.self) {
            try HardwareParameterSets(units + [[]], configuration, size: size)
        }
        // What is no parameter set, such as an SEI message of the hardware's, is left out.
        let message = try SEI(messages: [SEIMessage(payloadType: 5, payload: [UInt8](repeating: 1, count: 16))])
            .nalUnit()
        let found = try HardwareParameterSets(units + [message], configuration, size: size)
        #expect(try !DecoderConfigurationRecord(bytes: found.record).nalUnits.contains(message))
    }
}
