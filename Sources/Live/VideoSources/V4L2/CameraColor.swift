// SPDX-License-Identifier: GPL-2.0-or-later

/// The color of a camera's pictures, by Video4Linux2's enumerations: their numbers are those of linux/videodev2.h, the defaults
/// those of its `V4L2_MAP_*_DEFAULT`.
struct CameraColor: Hashable {
    /// Code points of ITU-T H.273; nil where the driver does not say.
    var primaries: Int?
    var transfer: Int?
    var matrix: Int?
    var isFullRange: Bool

    init(colorspace: UInt32, transfer: UInt32, encoding: UInt32, quantization: UInt32, isRGB: Bool, isJPEG: Bool) {
        // JFIF (ITU-T T.871 clause 7) has BT.601's matrix and the full range, as libavcodec's decoder states; the rest is that of
        // V4L2_COLORSPACE_JPEG.
        let colorspace = colorspace == 0 && isJPEG ? 7 : colorspace
        switch colorspace {
        case 1: primaries = 6  // SMPTE170M
        case 3, 7, 8: primaries = 1  // REC709, JPEG, SRGB
        case 6: primaries = 5  // 470_SYSTEM_BG
        case 10: primaries = 9  // BT2020
        default: primaries = nil
        }
        let ownTransfer: UInt32 =
            transfer != 0 ? transfer : [7, 8].contains(colorspace) ? 2 : colorspace == 0 ? 0 : 1
        switch ownTransfer {
        case 1: self.transfer = primaries == nil ? nil : 1
        case 2: self.transfer = 13
        case 7: self.transfer = 16  // SMPTE2084
        default: self.transfer = nil
        }
        let ownEncoding: UInt32 =
            encoding != 0 ? encoding : colorspace == 3 ? 2 : colorspace == 10 ? 6 : colorspace == 0 ? 0 : 1
        switch ownEncoding {
        case _ where isRGB: matrix = nil
        case 1: matrix = 6
        case 2: matrix = 1
        case 6: matrix = 9
        default: matrix = nil
        }
        isFullRange = quantization == 0 ? isRGB || isJPEG || colorspace == 7 : quantization == 1
    }
}
