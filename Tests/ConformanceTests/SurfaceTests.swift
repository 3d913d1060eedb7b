// SPDX-License-Identifier: GPL-2.0-or-later
import HWDEncoderTesting
import HWDModel
import Testing

/// Decoded surfaces as drivers export them, with the memory of the simulated driver.
@Suite(
    .enabled(
        if: SimulatedDriver.unavailableReason == nil, Comment(rawValue: SimulatedDriver.unavailableReason ?? "")))
struct SurfaceTests {
    /// I915_FORMAT_MOD_Y_TILED (drm_fourcc.h).
    private static let tiled: UInt64 = 0x0100_0000_0000_0002

    /// A tiled surface must be exported as one: read as rows it is another picture.
    ///
    /// The copy to memory is always right.
    @Test(arguments: [PixelFormat.nv12, .p010])
    func exportsNameTheTiling(format: PixelFormat) throws {
        let job = EncodeJob(
            Clip(format: format, width: 192, height: 130, frames: 5), ["AllowFrameReordering": .bool(false)])
        let linear = try SimulatedDriver.surfaces(job, "full")
        try #require(linear.count == 5)
        #expect(linear.allSatisfy { $0.modifiers == [0, 0] && $0.isLinear })
        let other = try SimulatedDriver.surfaces(job, "full,tiled")
        #expect(other.allSatisfy { $0.modifiers == [Self.tiled, Self.tiled] && !$0.isLinear })
        #expect(other.map(\.samples) == linear.map(\.samples))
        // What was decoded is what the stream holds.
        let stream = try SimulatedDriver.run(job, "full").result.stream()
        let pixels = format == .nv12 ? "nv12" : "p010le"
        #expect(try StreamDecoders.ffmpeg(stream, pixelFormat: pixels) == linear.flatMap(\.samples))
    }
}
