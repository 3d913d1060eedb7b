// SPDX-License-Identifier: GPL-2.0-or-later
import CHWDRawPictures
import HWDCapturing
import HWDModel
import Testing

@testable import HWDVideoSources

@Suite struct RawPictureTests {
    /// Bytes that a picture needs, found by the least size that is not refused.
    private func needed(_ layout: hwd_raw_layout, _ width: Int, _ height: Int, stride: Int) -> Int? {
        let bytes = [UInt8](repeating: 0, count: 4096)
        return bytes.withUnsafeBytes { bytes in
            (0...bytes.count).first { count in
                var source = hwd_raw_source()
                return hwd_raw_split(
                    layout, UInt32(width), UInt32(height), bytes.baseAddress, UInt64(count), UInt32(stride), &source
                )
            }
        }
    }

    @Test func nothingIsReadPastTheBytes() {
        // The last row needs only its samples.
        #expect(needed(HWD_RAW_NV12, 6, 4, stride: 8) == 8 * 4 + 8 + 6)
        #expect(needed(HWD_RAW_YU12, 6, 4, stride: 8) == 8 * 4 + 4 * 2 + 4 + 3)
        #expect(needed(HWD_RAW_P010, 6, 4, stride: 12) == 12 * 6)
        #expect(needed(HWD_RAW_YUYV, 5, 3, stride: 12) == 36)
        #expect(needed(HWD_RAW_RGBX, 6, 4, stride: 24) == 96)
        #expect(needed(HWD_RAW_RGBA16F, 3, 2, stride: 24) == 48)
        // GstVideoInfo's layout: rows of a multiple of four bytes, and an even number of them.
        #expect(needed(HWD_RAW_NV12, 5, 3, stride: 0) == 8 * 4 + 8 + 6)
        #expect(needed(HWD_RAW_YU12, 6, 2, stride: 0) == 8 * 2 + 4 + 3)
        // Rows that are too short, no size and sizes that are not possible.
        #expect(needed(HWD_RAW_NV12, 6, 4, stride: 5) == nil)
        #expect(needed(HWD_RAW_NV12, 0, 4, stride: 8) == nil && needed(HWD_RAW_NV12, 8, 20_000, stride: 8) == nil)
        #expect(needed(HWD_RAW_NV12, 8, 4, stride: 0xffff_ffff) == nil)
    }

    /// A 4:2:2 picture becomes 4:2:0 with the mean of two rows of chroma; the last row of an odd height keeps its own.
    @Test(arguments: [(6, 4), (5, 3), (1, 1), (64, 33)])
    func packed422(width: Int, height: Int) {
        let (pairs, rows) = ((width + 1) / 2, (height + 1) / 2)
        let stride = pairs * 4 + 4
        let bytes = (0..<stride * height).map { UInt8(truncatingIfNeeded: $0 * 31 + $0 / 7) }
        for (layout, luma) in [(HWD_RAW_YUYV, 0), (HWD_RAW_UYVY, 1)] {
            var (y, chroma) = (
                [UInt8](repeating: 9, count: width * height), [UInt8](repeating: 9, count: pairs * 2 * rows)
            )
            bytes.withUnsafeBytes { bytes in
                y.withUnsafeMutableBufferPointer { y in
                    chroma.withUnsafeMutableBufferPointer { chroma in
                        var (source, target) = (hwd_raw_source(), hwd_raw_target())
                        let fits = hwd_raw_split(
                            layout, UInt32(width), UInt32(height), bytes.baseAddress, UInt64(bytes.count),
                            UInt32(stride), &source)
                        #expect(fits)
                        (target.base.0, target.base.1) = (y.baseAddress, chroma.baseAddress)
                        (target.stride.0, target.stride.1) = (UInt32(width), UInt32(pairs * 2))
                        hwd_raw_copy(layout, UInt32(width), UInt32(height), &source, &target)
                    }
                }
            }
            for row in 0..<height {
                for x in 0..<width { #expect(y[row * width + x] == bytes[row * stride + 2 * x + luma]) }
            }
            for row in 0..<rows {
                let below = min(2 * row + 1, height - 1)
                for x in 0..<pairs * 2 {
                    let sum =
                        Int(bytes[2 * row * stride + 2 * x + 1 - luma])
                        + Int(bytes[below * stride + 2 * x + 1 - luma])
                    #expect(Int(chroma[row * pairs * 2 + x]) == (sum + 1) / 2)
                }
            }
        }
    }

    @Test func theFourthByteIsOpaque() {
        let scratch = ScratchPicture(.bgra8, width: 3, height: 2)
        let bytes = [UInt8](0..<24)
        bytes.withUnsafeBytes { bytes in
            var source = hwd_raw_source()
            var target = scratch.target
            #expect(hwd_raw_split(HWD_RAW_RGBX, 3, 2, bytes.baseAddress, 24, 12, &source))
            hwd_raw_copy(HWD_RAW_RGBX, 3, 2, &source, &target)
        }
        let plane = scratch.planes[0]
        #expect(
            Array(plane.bytes[plane.stride..<plane.stride + 12]) == [
                12, 13, 14, 255, 16, 17, 18, 255, 20, 21, 22, 255,
            ])
    }
}
