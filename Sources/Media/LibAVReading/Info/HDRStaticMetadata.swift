// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDHEVC

/// HDR static metadata: converts libavutil's structures to the bytes that SEI messages and boxes share.
package enum HDRStaticMetadata {
    /// The 24 bytes of an `mdcv` box; nil where a part is missing or out of range.
    static func bytes(_ display: AVMasteringDisplayMetadata) -> [UInt8]? {
        guard display.has_primaries != 0, display.has_luminance != 0 else { return nil }
        func point(_ point: (AVRational, AVRational)) -> Chromaticity? {
            guard let x = units(point.0, 50_000), let y = units(point.1, 50_000) else { return nil }
            return Chromaticity(x: x, y: y)
        }
        let primaries = display.display_primaries
        // libavutil's order is red, green, blue; H.265 D.3.28 has green, blue, red.
        guard let red = point(primaries.0), let green = point(primaries.1), let blue = point(primaries.2),
            let white = point(display.white_point), let maxLuminance = units(display.max_luminance, 10_000),
            let minLuminance = units(display.min_luminance, 10_000)
        else { return nil }
        var volume = MasteringDisplayColourVolume()
        volume.displayPrimaries = [green, blue, red]
        volume.whitePoint = white
        volume.maxDisplayMasteringLuminance = maxLuminance
        volume.minDisplayMasteringLuminance = minLuminance
        return (try? SEIMessage(.masteringDisplayColourVolume(volume)))?.payload
    }

    /// The 4 bytes of a `clli` box; nil where a level is out of range.
    static func bytes(_ level: AVContentLightMetadata) -> [UInt8]? {
        let info = ContentLightLevelInfo(
            maxContentLightLevel: Int(level.MaxCLL), maxPicAverageLightLevel: Int(level.MaxFALL))
        return (try? SEIMessage(.contentLightLevelInfo(info)))?.payload
    }

    private static func units(_ value: AVRational, _ perUnit: Double) -> Int? {
        let number = Double(value.num) / Double(value.den) * perUnit
        return number.isFinite && number >= 0 && number <= Double(UInt32.max) ? Int(number.rounded()) : nil
    }
}

extension Demuxer {
    static func masteringDisplay(_ stream: AVStream) -> [UInt8]? {
        stream.sideData(AV_PKT_DATA_MASTERING_DISPLAY_METADATA, as: AVMasteringDisplayMetadata.self)
            .flatMap(HDRStaticMetadata.bytes)
    }

    static func contentLight(_ stream: AVStream) -> [UInt8]? {
        stream.sideData(AV_PKT_DATA_CONTENT_LIGHT_LEVEL, as: AVContentLightMetadata.self)
            .flatMap(HDRStaticMetadata.bytes)
    }
}
