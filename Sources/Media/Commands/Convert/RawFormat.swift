// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDModel

/// Pixel formats as options name them.
enum RawFormat: String, ExpressibleByArgument, CaseIterable {
    case nv12, p010, i420, i010, yuva, rgba16f, bgra8, rgba8, bgra10, rgba10, bgrx10, rgbx10

    var pixelFormat: PixelFormat {
        switch self {
        case .nv12: .nv12
        case .p010: .p010
        case .i420: .yu12
        case .i010: .i010
        case .yuva: .yuva
        case .rgba16f: .rgba16f
        case .bgra8: .bgra8
        case .rgba8: .rgba8
        case .bgra10: .bgra10
        case .rgba10: .rgba10
        case .bgrx10: .bgrx10
        case .rgbx10: .rgbx10
        }
    }
}
