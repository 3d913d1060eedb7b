// SPDX-License-Identifier: MIT

/// A layout of samples in memory, named by its DRM fourcc (drm_fourcc.h).
///
/// `I010` has no fourcc in DRM: it is `YU12` with 16-bit little-endian words that hold 10 bits at the low end.
public enum PixelFormat: String, CaseIterable, Hashable, Sendable {
    /// 8-bit 4:2:0: luma, then interleaved Cb/Cr.
    case nv12 = "NV12"
    /// 10-bit 4:2:0: luma, then interleaved Cb/Cr, 10 bits at the high end of 16-bit little-endian words.
    case p010 = "P010"
    /// 8-bit 4:2:0: luma, Cb, Cr.
    case yu12 = "YU12"
    /// 10-bit 4:2:0: luma, Cb, Cr, 10 bits at the low end of 16-bit little-endian words.
    case i010 = "I010"
    /// Half floats R, G, B, A (DRM_FORMAT_ABGR16161616F), extended linear: 1.0 is reference white. Pixel transfer only.
    case rgba16f = "AB4H"
    /// Bytes B, G, R, A (DRM_FORMAT_ARGB8888, whose fourcc names a little-endian word). Pixel transfer only.
    case bgra8 = "AR24"
    /// Bytes R, G, B, A (DRM_FORMAT_ABGR8888). Pixel transfer only.
    case rgba8 = "AB24"

    /// The 4:2:0 formats, which codecs take and give.
    public static let coded: [PixelFormat] = [.nv12, .p010, .yu12, .i010]

    /// Whether it is Y'CbCr 4:2:0; otherwise one plane of R, G, B and alpha.
    public var isYCbCr: Bool { Self.coded.contains(self) }

    /// Bits of a sample that carry its value.
    public var bitDepth: Int {
        switch self {
        case .nv12, .yu12, .bgra8, .rgba8: 8
        case .p010, .i010: 10
        case .rgba16f: 16
        }
    }

    /// Bytes of a sample in memory.
    public var bytesPerSample: Int { bitDepth > 8 ? 2 : 1 }

    /// Whether Cb and Cr share a plane.
    public var isSemiPlanar: Bool { self == .nv12 || self == .p010 }

    /// Planes a frame has.
    public var planeCount: Int { isSemiPlanar ? 2 : isYCbCr ? 3 : 1 }

    /// The fourcc as a little-endian integer, as it stands in messages.
    public var fourcc: UInt32 {
        rawValue.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The format with this fourcc, if it is one of ours.
    public init?(fourcc: UInt32) {
        guard let format = Self.allCases.first(where: { $0.fourcc == fourcc }) else { return nil }
        self = format
    }

    /// Bytes that a row of `plane` occupies in a picture `width` samples wide; 4:2:0 rounds an odd width up.
    public func rowBytes(plane: Int, width: Int) -> Int {
        if !isYCbCr { return width * 4 * bytesPerSample }
        if plane == 0 { return width * bytesPerSample }
        let chroma = (width + 1) / 2 * bytesPerSample
        return isSemiPlanar ? chroma * 2 : chroma
    }

    /// Rows that `plane` has in a picture `height` samples high; 4:2:0 rounds an odd height up.
    public func rows(plane: Int, height: Int) -> Int {
        plane == 0 ? height : (height + 1) / 2
    }
}
