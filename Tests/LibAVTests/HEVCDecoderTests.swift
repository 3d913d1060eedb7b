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
}
