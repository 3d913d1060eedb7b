// SPDX-License-Identifier: GPL-2.0-or-later
import HWDLibAV
import Testing

/// What is tested over the socket needs no second test here; these are the parts that have no message.
@Suite struct HEVCDecoderTests {
    @Test("libavcodec has the decoder, and says which version it is")
    func version() {
        #expect(ReferenceDecoder.isAvailable)
        #expect(ReferenceDecoder.libraryVersion.split(separator: ".").count == 3)
    }
}
