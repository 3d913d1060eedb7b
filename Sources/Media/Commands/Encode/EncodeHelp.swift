// SPDX-License-Identifier: GPL-2.0-or-later
internal import ArgumentParser
internal import HWDControlCommands
internal import HWDModel
internal import HWDPolicy

/// The help of `hwctl encode`: on two screens, and what `--help-all` and the manual page have besides the descriptions of all
/// options.
///
/// A test compares its options with the command's.
enum EncodeHelp {
    /// The help that arguments ask for; nil for other commands, and where they ask for none.
    static func text(for arguments: [String]) -> String? {
        if arguments == ["help", "encode"] { return text }
        guard arguments.first == "encode" else { return nil }
        for argument in arguments.dropFirst().prefix(while: { $0 != "--" }) {
            switch argument {
            case "--help-all":
                let help = HWCtl.helpMessage(for: EncodeCommand.self)
                return CommandHelp.text(help) ?? help
            case "--help", "-h", "-help": return text
            default: continue
            }
        }
        return nil
    }

    /// The text of `--help-all` and of the manual page.
    static let discussion = """
        EXAMPLES
          hwctl encode talk.mp4 talk.mov
          hwctl encode --bitrate 6M --speed fast --hardware require clip.mkv clip.mp4
          hwctl encode --preset-name hevc-1080p clip.mov small.mov
          hwctl encode --output-dir hevc --skip-existing *.mp4
          hwctl encode --start 1:30 --duration 20 talk.mp4 part.mov
          hwctl encode --copy --start 1:30 --end 1:50 talk.mov part.mov
          hwctl encode --max-height 1080 --crop 3840:1600:0:280 film.mov film.mp4
          hwctl encode --audio aac --audio-track deu --audio-bitrate 128k film.mkv film.mp4
          hwctl encode --alpha premultiplied title.mov title-hevc.mov
          hwctl encode slow-motion.mp4 out.mov --base-layer-frame-rate 30 --expected-frame-rate 240
          ffmpeg -i in.avi -f yuv4mpegpipe - | hwctl encode - out.mov --quality 0.7
          ffmpeg -i in.webm -c copy -f nut - | hwctl encode - - --to nut | ffmpeg -i - -c copy out.mkv
          hwctl encode --copy --max-level 0 slow-motion.mov small.mov
          hwctl encode --segment 2/32 film.mov part-2.mov
          hwctl encode --parallel 4 film.mov film-hevc.mov
          hwctl encode photo.jpg photo.heic
          hwctl encode --burst --cover 2 1.jpg 2.jpg 3.jpg burst.heic
          hwctl encode --alpha straight sticker.gif sticker.heics

        INPUT is any file that libavformat reads, a series of pictures (frame-%04d.png), or - for standard input: \
        Y4M, Matroska, NUT, MPEG-TS, fragmented MP4 or raw HEVC, recognized by its first bytes. URLs are not opened. \
        The extension of OUTPUT selects the format. .mov and .mp4 hold the video (hvc1, fast start) with its \
        timestamps, rotation, color and HDR metadata, and the input's audio, subtitles, chapters and timecode; \
        .mkv, .ts and .nut hold less. What the format cannot hold is listed. .hevc is a raw Annex B stream, and so is \
        - (standard output), unless --to names another format. OUTPUT is created only when it is complete; see \
        --keep-partial. If the encoder fails in the middle of the video, the session continues in another process with \
        a key frame: on the same hardware, on another GPU or, unless hardware is required, in software. A session that \
        cannot continue is encoded again in software, unless INPUT or OUTPUT is -. The reason is reported.

        Sound is copied where OUTPUT holds its codec; otherwise lossless sound becomes ALAC and other sound AAC, with its \
        channels and in its place, and a line says so. Sound that can be neither copied nor converted is an error before \
        anything is written, unless --drop-audio is given; .hevc holds none, which is a note. Subtitles in text (SubRip, \
        ASS, WebVTT) become mov_text in .mov and .mp4, and SubRip in .mkv, without their positions and fonts.

        --start, --duration and --end keep a part of the input. It begins with the first picture at --start or later, \
        exactly, and its times begin with that picture; sound is cut to one packet, with an edit list that keeps it in its \
        place, subtitles and chapters to the part, and the timecode is that of the first picture. Decoding begins at the \
        key frame before, where the format has an index. With --copy the part begins with that key frame, or exactly with \
        --exact, by an edit list that hides the pictures before.

        --size, --max-height, --crop and --rotate change the picture as it is displayed, by a Lanczos filter of three lobes, \
        or --filter bilinear, that keeps 10 bits and the place of chroma. Values are filtered as they are coded; \
        --filter-light linear filters light. Metadata for its size are adapted, and those of each frame's light are \
        left out where the picture is cropped or turned. The aspect ratio of samples keeps the proportions of a picture \
        whose size does not. --orientation changes the display matrix alone.

        Where the size, bit depth or chroma format changes within the input, the frames are scaled and converted to \
        the format of the first one, and counted in a warning and in the JSON document (scaled_frames, \
        converted_frames).

        --hdr preserve, the default, keeps HDR metadata: the mastering display, light levels, the ambient environment, \
        HDR10+, and Dolby Vision's RPUs with their record; it adds nothing that the source lacks. RPUs and HDR10+ of frames \
        that are scaled are adapted. Closed captions are kept in every mode. regenerate makes a Dolby Vision 8.4 RPU for each frame of 10-bit HLG from its samples; drop \
        writes no HDR metadata. What is left out is named.

        --hdr sdr converts PQ and HLG to BT.709 with 8 bits (10 with --profile main10), tone-mapped to 203 cd/m² from \
        the peak of the mastering display, MaxCLL or 1000 cd/m² (BT.2390); pq and hlg convert to BT.2100 with 10 bits, \
        SDR's white at 203 cd/m². --property ColorPrimaries, TransferFunction, YCbCrMatrix, FullRangeVideo and \
        ChromaSampleLocType convert too, except where the source leaves the value unspecified; with --retag they change \
        the description alone. HDR metadata that no longer hold are left out and listed. Where the color changes \
        within the input, later frames are converted to the first color, or --hdr's, and counted (color_changed_frames).

        --copy copies the coded HEVC video and the other streams into OUTPUT without the daemon. A raw .hevc stream \
        gets times from the order of its pictures and --frame-rate. --max-level N \
        leaves out the temporal levels above N, with or without --copy: 0 keeps only the base layer. The sample \
        groups (tscl) of a .mov or .mp4 signal the level of each picture. If they are missing, or contradict a \
        picture's NAL unit header, the headers are used, and a note or warning is printed. The remaining \
        pictures keep their timestamps, each lasts until the next one, and the parameter sets and sample \
        groups describe the remaining levels. Where the parameter sets of a copied video change, a .mov or \
        .mp4 gets another sample entry (hvc1) from that key frame on, and a .hevc the new parameter sets.

        --two-pass codes the video twice in software, and the second time gives every scene the share of --bitrate that it \
        needs. The statistics of the first pass stay in the memory of the session's process. If that fails, the session \
        ends.

        --background puts a color behind an input with alpha, straight or premultiplied, by the values of the output's \
        samples, as players do. RRGGBB are R'G'B' of the output where it is SDR with BT.709's primaries, as browsers show \
        them; @p3 are those of Display P3, converted.

        --effect changes colors in linear light of the output's primaries; several apply in the order of the command line, and \
        hwctl effects lists them: --effect exposure:ev=0.5 --effect lut:file=look.cube,space=srgb. Tables \
        have 129³ entries at most. HDR metadata of the source do not describe the changed picture and are left out.

        --segment K/N encodes one of N segments, which several machines can do at the same time; hwctl join makes one file \
        of them. Segments begin with key frames of INPUT. The part holds each frame whose time is in the segment and says \
        what it is; the same command gives the same bytes with x265, on any number of processors. INPUT must store times: a \
        .mov, .mp4 or .mkv is read from the segment on, other formats from the beginning. With --bitrate each segment has \
        that rate. The exit status is 75 for a failure that another try, or another machine, may not have. --parallel N does \
        the same on one machine, in N processes and with sound and metadata; the parts are in a hidden folder beside \
        OUTPUT until it is complete.

        A .heic holds one picture, of a file in any format that libavcodec reads, or of another HEIC file: in one tile up to \
        512 samples on a side, else in a grid of 512x512 tiles, which one session codes with one quantizer (40 - 38 · \
        quality). Pictures of RGB become full-range Y'CbCr; more than 8 bits become 10. --alpha adds alpha as a picture of its \
        own. The orientation in INPUT's own Exif becomes a property of the file; the Exif that is written, of INPUT or of another \
        file, has orientation 1. Raw samples are read from .y4m, or without a header with --raw-size and --raw-format. With \
        --burst it holds several pictures in a group of type brst; thumbnail, Exif and maps are those of the --cover. A .heics is an \
        image sequence of pictures and videos, each picture decoded on its own and shown as long as its file says, or by \
        --frame-rate; its --cover is what viewers of pictures show.

        Without --bitrate, --quality or --qp the quality is \(PropertyTable.defaultQuality). The bit depth follows the source: a 10-bit source \
        is encoded as Main 10, and --profile main refuses it. With --alpha the profile is Main.

        The colors of files with alpha (ProRes 4444, PNG, Animation, VP9) are assumed to be straight (not \
        multiplied by alpha), unless --property SourceAlphaMode=premultiplied is given.
        """

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
          hwctl encode photo.jpg photo.heic
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
                 --effect NAME:KEY=VALUE,… (hwctl effects)
        COLOR    --hdr preserve|regenerate|drop|sdr|pq|hlg   --retag
        HEIC     --tile N   --thumbnail MAX   --exif keep|drop|FILE   --xmp FILE
                 --icc FILE   --primaries p3|709|2020   --depth-map FILE
                 --gain-map FILE   --depth-range MIN:MAX   --raw-size WxH
                 --raw-format FORMAT   --burst (of pictures)   --cover N (of it)
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
