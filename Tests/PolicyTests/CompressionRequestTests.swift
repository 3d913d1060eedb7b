// SPDX-License-Identifier: GPL-2.0-or-later
import HWDModel
import HWDPolicy
import Testing

@Suite struct CompressionRequestTests {
    @Test(arguments: [
        ("avc1", 64, 64, "NV12", Status.couldNotFindVideoEncoder), ("hevc", 0, 64, "NV12", .parameter),
        ("hevc", 64, -1, "NV12", .parameter), ("hevc", 1 << 20, 64, "NV12", .parameter),
        ("hevc", 64, 64, "XR24", .parameter),
    ])
    func refusesImpossibleRequests(codec: String, width: Int, height: Int, format: String, status: Status) {
        let error = #expect(throws: SessionError.self) {
            try CompressionRequest(
                codec: codec, width: width, height: height, pixelFormat: format, timeBase: Rational(1))
        }
        #expect(error?.status == status)
    }
}
