// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDPolicy

/// The help of `hwctl encode` on two screens; `--help-all` and the manual page have the descriptions of all options.
///
/// A test compares its options with the command's.
enum EncodeHelp {
    /// The help that arguments ask for; nil for other commands, and where they ask for none.
    static func text(for arguments: [String]) -> String? {
        if arguments == ["help", "encode"] { return text }
        guard arguments.first == "encode" else { return nil }
        for argument in arguments.dropFirst().prefix(while: { $0 != "--" }) {
            switch argument {
            case "--help-all": return HWCtl.helpMessage(for: EncodeCommand.self)
            case "--help", "-h", "-help": return text
            default: continue
            }
        }
        return nil
    }

    private static let text = """
        USAGE: hwctl encode [options] INPUT OUTPUT
               hwctl encode [options] --output-dir DIR INPUT...

        EXAMPLES
          hwctl encode talk.mp4 talk.mov
          hwctl encode --two-pass --bitrate 6M film.mkv film.mp4
          hwctl encode --preset-name hevc-1080p clip.mov small.mov
          hwctl encode --start 1:30 --duration 20 talk.mp4 part.mov
          hwctl encode --max-height 1080 --hdr sdr film.mov film.mp4
          hwctl encode --alpha premultiplied title.mov title-hevc.mov
          hwctl encode --output-dir hevc --skip-existing *.mp4
          hwctl encode --exif copy photo.jpg photo.heic
          ffmpeg -i in.avi -f yuv4mpegpipe - | hwctl encode - out.mov

        Encodes as HEVC. INPUT is a video, pictures (frame-%04d.png) or - for standard
        input; the extension of OUTPUT is .mov, .mp4, .mkv, .ts, .nut, .hevc or .heic.

        QUALITY  --quality 0.0-1.0 (\(PropertyTable.defaultQuality)) | --bitrate 6M [--two-pass] | --qp 0-51
                 --speed fast|balanced|best     --preset NAME (x265's)
                 --preset-name NAME (hwctl presets)   --keyframe-interval N
                 --profile main|main10   --property KEY=VALUE (hwctl properties)
        TIME     --start T   --duration T   --end T   (seconds or h:m:s)
                 --frame-rate N (of pictures)   --output-frame-rate N
        PICTURE  --size WxH (either may be -2)   --max-height N   --crop W:H:X:Y
                 --filter lanczos|bilinear   --filter-light coded|linear
                 --rotate 90|180|270   --orientation 0|90|180|270 (tag alone)
                 --alpha premultiplied|straight   --alpha-quality 0.0-1.0
                 --background RRGGBB[@p3] (instead of alpha)
        COLOR    --hdr preserve|regenerate|drop|sdr|pq|hlg   --retag
        HEIC     --tile N   --thumbnail MAX   --exif FILE|copy   --xmp FILE   --icc FILE
                 --primaries p3|709|2020   --depth-map FILE   --gain-map FILE
                 --depth-range MIN:MAX   --raw-size WxH   --raw-format FORMAT
                 --burst (several pictures)   --cover N (of a burst, a .heics)
        SOUND    --audio copy|aac|alac|none   --audio-track N|LANG
                 --audio-bitrate 128k   --drop-audio   --subtitle copy|none
        FILES    --output-dir DIR   --skip-existing   --no-overwrite   -y, --yes
                 --to nut|matroska|mpegts|fmp4|hevc (on -)   --keep-partial
        FARM     --segment K/N (then hwctl join)   --parallel N (processes)
        COPY     --copy (no encoding)   --exact (with --start)   --max-level 0-6
        GPU      --hardware prefer|require|off   --device NODE
        DAEMON   --priority normal|background   --wait   --max-wait SECONDS
        LEVELS   --base-layer-frame-rate N   --expected-frame-rate N
        RESULT   --verify   --check (encode nothing)   --json   -q, --quiet
                 -v, --verbose   --no-progress   --help-all (every option)

        --help-all and man hwctl-encode describe every option.
        """
}
