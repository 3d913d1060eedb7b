// SPDX-License-Identifier: GPL-2.0-or-later

/// The color of a camera's pictures, by Video4Linux2's enumerations: their numbers are those of linux/videodev2.h, the defaults
/// those of its `V4L2_MAP_*_DEFAULT`.
struct CameraColor: Hashable {
    /// Names as `CaptureFormat` has them; nil where the driver does not say.
    var primaries: String?
    var transfer: String?
    var matrix: String?
    var isFullRange: Bool

    init(colorspace: UInt32, transfer: UInt32, encoding: UInt32, quantization: UInt32, isRGB: Bool, isJPEG: Bool) {
        switch colorspace {
        case 1: primaries = "601-525"  // SMPTE170M
        case 3, 8: primaries = "709"  // REC709, SRGB
        case 5, 6: primaries = colorspace == 5 ? "601-525" : "601-625"  // 470_SYSTEM_M, 470_SYSTEM_BG
        case 7: primaries = "709"  // JPEG: as sRGB
        case 10: primaries = "2020"
        case 12: primaries = "p3"
        default: primaries = nil
        }
        let ownTransfer: UInt32 =
            transfer != 0 ? transfer : [7, 8].contains(colorspace) ? 2 : colorspace == 0 ? 0 : 1
        switch ownTransfer {
        case 1: self.transfer = primaries == nil ? nil : "bt1886"  // 709: seen as displays show it
        case 2: self.transfer = "srgb"
        case 7: self.transfer = "pq"  // SMPTE2084
        default: self.transfer = nil
        }
        let ownEncoding: UInt32 =
            encoding != 0 ? encoding : colorspace == 3 ? 2 : colorspace == 10 ? 6 : colorspace == 0 ? 0 : 1
        switch ownEncoding {
        case _ where isRGB: matrix = nil
        case 1: matrix = "601"
        case 2: matrix = "709"
        case 6: matrix = "2020"
        default: matrix = nil
        }
        isFullRange = quantization == 0 ? isRGB || isJPEG || colorspace == 7 : quantization == 1
    }
}
