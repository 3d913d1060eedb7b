// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDModel

/// Pixel formats as options name them.
enum RawFormat: String, ExpressibleByArgument, CaseIterable {
    case nv12, p010, i420, i010, yuva, rgba16f, bgra8, rgba8

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
        }
    }
}

/// Pixel formats as `hwctl convert` names them: those of `RawFormat`, and those that pixel-transfer sessions alone take.
struct FrameFormat: ExpressibleByArgument {
    let pixelFormat: PixelFormat

    private static let words: KeyValuePairs<String, PixelFormat> = [
        "bgra10": .bgra10, "rgba10": .rgba10, "bgrx10": .bgrx10, "rgbx10": .rgbx10,
    ]

    init?(argument: String) {
        let word = Self.words.first { $0.key == argument }?.value
        guard let format = RawFormat(rawValue: argument)?.pixelFormat ?? word else { return nil }
        pixelFormat = format
    }

    static var allValueStrings: [String] { RawFormat.allValueStrings + words.map(\.key) }

    static var defaultCompletionKind: CompletionKind { .list(allValueStrings) }
}
