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
    /// 10-bit RGB with 2 bits of alpha in a little-endian word, B lowest (`DRM_FORMAT_ARGB2101010`).
    case bgra10 = "AR30"
    /// 10-bit RGB with 2 bits of alpha in a little-endian word, R lowest (`DRM_FORMAT_ABGR2101010`).
    case rgba10 = "AB30"
    /// 10-bit RGB in a little-endian word, B lowest, below two unused bits (`DRM_FORMAT_XRGB2101010`).
    case bgrx10 = "XR30"
    /// 10-bit RGB in a little-endian word, R lowest, below two unused bits (`DRM_FORMAT_XBGR2101010`).
    case rgbx10 = "XB30"
    /// Half-float RGB with alpha, little-endian binary16 R, G, B, A (`DRM_FORMAT_ABGR16161616F`).
    case rgba16f = "AB4H"

    /// The 4:2:0 formats without alpha, which codecs use without conversion.
    public static let yCbCr: [PixelFormat] = [.nv12, .p010, .yu12, .i010]

    /// The formats with R, G, B and alpha in one plane that compression and decompression sessions convert.
    public static let rgb: [PixelFormat] = [.rgba16f, .bgra8, .rgba8]

    /// Whether the samples are R, G and B in one plane.
    public var isRGB: Bool { self == .rgba16f || packing != nil }

    /// The bits of a pixel's word; nil for formats whose samples are not parts of one 32-bit word.
    public var packing: PackedRGB? {
        switch self {
        case .bgra8: PackedRGB(red: 16, green: 8, blue: 0, alpha: 24)
        case .rgba8: PackedRGB(red: 0, green: 8, blue: 16, alpha: 24)
        case .bgra10: PackedRGB(red: 20, green: 10, blue: 0, alpha: 30)
        case .rgba10: PackedRGB(red: 0, green: 10, blue: 20, alpha: 30)
        case .bgrx10: PackedRGB(red: 20, green: 10, blue: 0, alpha: 30, hasAlpha: false)
        case .rgbx10: PackedRGB(red: 0, green: 10, blue: 20, alpha: 30, hasAlpha: false)
        case .nv12, .p010, .yu12, .i010, .yuva, .rgba16f: nil
        }
    }

    /// Whether components begin inside bytes: the word of a pixel is one sample.
    public var isWordPacked: Bool { packing.map { $0.bits != 8 } ?? false }

    /// The largest code of alpha; 1 of half floats.
    public var alphaTop: Int { self == .rgba16f ? 1 : packing?.alphaTop ?? 255 }

    /// Whether the samples are Y', Cb and Cr, 4:2:0, perhaps with alpha.
    public var isYCbCr: Bool { !isRGB }

    /// Whether each pixel carries its alpha.
    public var hasAlpha: Bool { packing?.hasAlpha ?? (self == .rgba16f || self == .yuva) }

    /// Significant bits of a sample, or of a color in a word.
    public var bitDepth: Int {
        switch self {
        case .nv12, .yu12, .yuva, .bgra8, .rgba8: 8
        case .p010, .i010, .bgra10, .rgba10, .bgrx10, .rgbx10: 10
        case .rgba16f: 16
        }
    }

    /// Bytes of a sample in memory.
    public var bytesPerSample: Int { isWordPacked ? 4 : bitDepth > 8 ? 2 : 1 }

    /// Whether Cb and Cr share a plane.
    public var isSemiPlanar: Bool { self == .nv12 || self == .p010 }

    /// Bytes from a pixel to the next of RGB, and from a sample of luma to the next.
    public var bytesPerPixel: Int { self == .rgba16f ? 8 : isRGB ? 4 : bytesPerSample }

    public var planeCount: Int {
        switch self {
        case .bgra8, .rgba8, .bgra10, .rgba10, .bgrx10, .rgbx10, .rgba16f: 1
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
        if isRGB { return width * bytesPerPixel }
        if plane == 0 || plane == 3 { return width * bytesPerSample }
        let chroma = (width + 1) / 2 * bytesPerSample
        return isSemiPlanar ? chroma * 2 : chroma
    }

    /// Rows of `plane` in a picture `height` samples high; 4:2:0 rounds an odd height up.
    public func rows(plane: Int, height: Int) -> Int {
        plane == 0 || plane == 3 ? height : (height + 1) / 2
    }
}

/// The layout of an RGB pixel in a 32-bit little-endian word (drm_fourcc.h); every component has the full range.
public struct PackedRGB: Hashable, Sendable {
    /// The lowest bit of each component; of `alpha` also where these bits are unused.
    public let red, green, blue, alpha: Int
    /// Whether the upper bits are alpha; unused ones are written as ones and not read.
    public let hasAlpha: Bool

    init(red: Int, green: Int, blue: Int, alpha: Int, hasAlpha: Bool = true) {
        (self.red, self.green, self.blue, self.alpha, self.hasAlpha) = (red, green, blue, alpha, hasAlpha)
    }

    /// The bits of a color.
    public var bits: Int { green - min(red, blue) }
    /// The bits of alpha, or the unused ones.
    public var alphaBits: Int { 32 - alpha }
    /// The largest code of a color.
    public var top: Int { 1 << bits - 1 }
    /// The largest code of alpha.
    public var alphaTop: Int { 1 << alphaBits - 1 }

    /// The lowest bit and the largest code of a component: 0 is R, 1 G, 2 B, 3 alpha.
    public func field(_ component: Int) -> (shift: Int, top: Int) {
        ([red, green, blue, alpha][component], component == 3 ? alphaTop : top)
    }
}
