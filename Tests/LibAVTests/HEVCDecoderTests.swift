// SPDX-License-Identifier: GPL-2.0-or-later
import HWDLibAV
import Testing

/// Parts of the decoder that no message of the protocol reaches; end-to-end tests cover the rest.
@Suite struct HEVCDecoderTests {
    @Test("libavcodec has the decoder and reports its version")
    func version() {
        #expect(ReferenceDecoder.isAvailable)
        #expect(ReferenceDecoder.libraryVersion.split(separator: ".").count == 3)
    }

    @Test(
        "What the decoder logs of layers that it ignores is no damage",
        arguments: [
            "hevc: Scalability type 1 not supported", "hevc: VPS has 3 layers, only 2 layers are supported",
        ])
    func ignoredLayers(_ message: String) { #expect(LogFinding(message) == .ignoredLayers) }

    @Test("Damage is no ignored layer", arguments: ["hevc: VPS 1 does not exist", "hevc: Unsupported bit depth"])
    func damage(_ message: String) { #expect(LogFinding(message) == .other) }
}
