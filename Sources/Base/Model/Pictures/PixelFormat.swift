// SPDX-License-Identifier: MIT

/// A layout of samples in memory, named by its DRM fourcc (drm_fourcc.h).
///
/// DRM defines no fourcc for two of them: `I010` is `YU12` with 16-bit little-endian words that hold 10 bits at the
/// low end, and `YUVA` is `YU12` with a fourth plane of full-range alpha.
public enum PixelFormat: String, CaseIterable, Hashable, Sendable {
    /// 8-bit 4:2:0: luma, then interleaved Cb/Cr.
    case nv12 = "NV12"
    /// 10-bit 4:2:0: luma, then interleaved Cb/Cr, 10 bits at the high end of 16-bit little-endian words.
    case p010 = "P010"
    /// 8-bit 4:2:0: luma, Cb, Cr.
    case yu12 = "YU12"
    /// 10-bit 4:2:0: luma, Cb, Cr, 10 bits at the low end of 16-bit little-endian words.
    case i010 = "I010"
    /// 8-bit 4:2:0 with alpha: luma, Cb, Cr, then alpha at luma's size, full range (`AV_PIX_FMT_YUVA420P`).
    case yuva = "YUVA"
    /// 8-bit RGB with alpha, bytes B, G, R, A (`DRM_FORMAT_ARGB8888`, a little-endian word).
    case bgra8 = "AR24"
    /// 8-bit RGB with alpha, bytes R, G, B, A (`DRM_FORMAT_ABGR8888`, a little-endian word).
    case rgba8 = "AB24"
    /// Half-float RGB with alpha, little-endian binary16 R, G, B, A (`DRM_FORMAT_ABGR16161616F`).
    case rgba16f = "AB4H"

    /// The 4:2:0 formats without alpha, which codecs use without conversion.
    public static let yCbCr: [PixelFormat] = [.nv12, .p010, .yu12, .i010]

    /// The formats with R, G, B and alpha in one plane, which sessions convert.
    public static let rgb: [PixelFormat] = [.rgba16f, .bgra8, .rgba8]

    /// Whether the samples are R, G and B in one plane.
    public var isRGB: Bool { self == .bgra8 || self == .rgba8 || self == .rgba16f }

    /// Whether the samples are Y', Cb and Cr, 4:2:0, perhaps with alpha.
    public var isYCbCr: Bool { !isRGB }

    /// Whether each pixel carries its alpha.
    public var hasAlpha: Bool { isRGB || self == .yuva }

    /// Significant bits of a sample.
    public var bitDepth: Int {
        switch self {
        case .nv12, .yu12, .yuva, .bgra8, .rgba8: 8
        case .p010, .i010: 10
        case .rgba16f: 16
        }
    }

    /// Bytes of a sample in memory.
    public var bytesPerSample: Int { bitDepth > 8 ? 2 : 1 }

    /// Whether Cb and Cr share a plane.
    public var isSemiPlanar: Bool { self == .nv12 || self == .p010 }

    public var planeCount: Int {
        switch self {
        case .bgra8, .rgba8, .rgba16f: 1
        case .nv12, .p010: 2
        case .yu12, .i010: 3
        case .yuva: 4
        }
    }

    /// The fourcc as a little-endian integer, as in messages.
    public var fourcc: UInt32 {
        rawValue.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// The supported format with this fourcc, if any.
    public init?(fourcc: UInt32) {
        guard let format = Self.allCases.first(where: { $0.fourcc == fourcc }) else { return nil }
        self = format
    }

    /// Bytes of one row of `plane` in a picture `width` samples wide; 4:2:0 rounds an odd width up.
    public func rowBytes(plane: Int, width: Int) -> Int {
        if isRGB { return width * bytesPerSample * 4 }
        if plane == 0 || plane == 3 { return width * bytesPerSample }
        let chroma = (width + 1) / 2 * bytesPerSample
        return isSemiPlanar ? chroma * 2 : chroma
    }

    /// Rows of `plane` in a picture `height` samples high; 4:2:0 rounds an odd height up.
    public func rows(plane: Int, height: Int) -> Int {
        plane == 0 || plane == 3 ? height : (height + 1) / 2
    }
}
