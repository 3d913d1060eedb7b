// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDModel
internal import HWDSystem

/// Options of ffmpeg, HandBrake and other encoders that people try first, and what does the same here.
package enum ForeignOptions {
    /// What is said about an option.
    private enum Answer: Sendable {
        /// An option of ours, with the same value or none.
        case option(String)
        /// Words of ours that follow from the option's value; nil for a value that none follow from, or no value.
        case words(@Sendable (String) -> String?, otherwise: String)
        /// A sentence after the option's name.
        case note(String)
        /// The same, of an option that can be left out with its value.
        case needless(String)
        /// The same, of an option whose value is INPUT or OUTPUT.
        case name(String)
    }

    private struct Row: Sendable {
        var names: [String]
        var takesValue: Bool
        var answer: Answer
        /// What is said after the answer's words.
        var remark: String
        /// Whether the option can be left out with a value that no words follow from.
        var isNeedless: @Sendable (String) -> Bool

        /// - Parameter names: separated by spaces.
        init(
            _ names: String, takesValue: Bool = true, _ answer: Answer, remark: String = "",
            isNeedless: @escaping @Sendable (String) -> Bool = { _ in false }
        ) {
            self.names = names.split(separator: " ").map(String.init)
            (self.takesValue, self.answer) = (takesValue, answer)
            (self.remark, self.isNeedless) = (remark, isNeedless)
        }
    }

    /// The answers to the foreign options of a command line, in one line; nil where it has none.
    ///
    /// - Parameter arguments: the command and what follows it.
    package static func answers(to arguments: [String]) -> String? {
        var answers: [String] = []
        var notes: Set<String> = []
        let options = Array(arguments.prefix { $0 != "--" })
        for (index, argument) in options.enumerated() where argument.hasPrefix("-") && argument.count > 1 {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            guard let name = parts.first, let row = row(name, for: arguments.first) else { continue }
            let next = index + 1 < options.count ? options[index + 1] : nil
            let value = parts.count > 1 ? parts[1] : row.takesValue ? next : nil
            // What several options have in common is said of the first.
            if case .needless(let note) = row.answer, !notes.insert(note).inserted { continue }
            let text = text(name, value, row)
            if !answers.contains(text) { answers.append(text) }
        }
        return answers.isEmpty ? nil : answers.joined(separator: "; ")
    }

    /// The command line in words of ours; nil where an option has none, where words exclude each other or say a thing twice,
    /// and where options precede the command.
    package static func commandLine(for arguments: [String]) -> String? {
        guard let first = arguments.first, arguments.allSatisfy({ FileName.printable($0) == $0 }) else {
            return nil
        }
        let isStart = first.hasPrefix("-")
        let options = arguments.prefix { $0 != "--" }
        if isStart, options.contains(where: { !$0.hasPrefix("-") && !rows(for: $0).isEmpty }) { return nil }
        let command = isStart ? "encode" : first
        var rest = options.dropFirst(isStart ? 0 : 1)
        // Names, whatever they begin with.
        let names = arguments.dropFirst(options.count).map(quoted)
        var (words, output): ([String], [String]) = ([], [])
        while let argument = rest.popFirst() {
            let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
            guard argument.hasPrefix("-"), argument.count > 1, let row = row(parts[0], for: command) else {
                // A short option that nobody knows.
                if argument.hasPrefix("-"), !argument.hasPrefix("--"), argument.count > 2 { return nil }
                words.append(quoted(argument))
                continue
            }
            let value = !row.takesValue ? nil : parts.count > 1 ? parts[1] : rest.popFirst()
            if row.takesValue, value == nil { return nil }
            switch row.answer {
            case .option(let option): words += [option] + (value.map { [quoted($0)] } ?? [])
            case .words(let ours, _):
                if let found = value.flatMap(ours) {
                    words.append(found)
                } else if !row.isNeedless(value ?? "") {
                    return nil
                }
            case .name where parts[0].hasSuffix("o") || parts[0].hasSuffix("output"): output = [quoted(value ?? "")]
            case .name: words.append(quoted(value ?? ""))
            case .needless: continue
            case .note: return nil
            }
        }
        joinSides(&words)
        let given = words.flatMap { $0.split(separator: " ") }.filter { $0.hasPrefix("--") }
            .map { String($0.prefix { $0 != "=" }) }
        let single = given.filter { !repeatable.contains($0) }
        guard Set(single).count == single.count,
            !exclusive.contains(where: { $0.intersection(single).count > 1 })
        else { return nil }
        return (["hwctl", command] + words + names + output).joined(separator: " ")
    }

    /// Our options that may be there several times.
    private static let repeatable: Set = ["--effect", "--property"]
    /// Our options of which one may be there.
    private static let exclusive: [Set<String>] = [
        ["--quality", "--bitrate", "--qp"], ["--size", "--max-height"],
    ]

    /// Makes one size of a width and a height.
    private static func joinSides(_ words: inout [String]) {
        let (width, height) = ("--size -2x", "--size ")
        guard let tall = words.firstIndex(where: { $0.hasPrefix(width) }),
            let wide = words.firstIndex(where: { $0.hasPrefix(height) && $0.hasSuffix("x-2") }),
            wide != tall
        else { return }
        let size = words[wide].dropLast(2) + words[tall].dropFirst(width.count)
        words[min(wide, tall)] = String(size)
        words.remove(at: max(wide, tall))
    }

    /// A word for a shell.
    static func quoted(_ word: String) -> String {
        let plain = word.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "_@%+=:,./-".contains($0)) }
        return plain && !word.isEmpty ? word : "'\(word.replacing("'", with: "'\\''"))'"
    }

    /// The names of the options that are answered for a command; none of them may be the command's own.
    package static func names(for command: String) -> [String] { rows(for: command).flatMap(\.names) }

    private static func row(_ name: String, for command: String?) -> Row? {
        rows(for: command).first { $0.names.contains(name) }
    }

    private static func rows(for command: String?) -> [Row] {
        switch command {
        case "encode": files + encoding
        case "decode": files + decoding
        case "info": files + describing
        case "convert", "verify", "segments", "join": files
        // Before any command.
        case let first? where first.hasPrefix("-"): start + encoding
        default: []
        }
    }

    private static func text(_ name: String, _ value: String?, _ row: Row) -> String {
        let given = row.takesValue ? value.map { "\(name) \($0)" } ?? name : name
        func equal(_ words: String) -> String {
            name.hasPrefix("--") ? "\(given) is \(words) here" : "ffmpeg's \(given) is \(words)"
        }
        switch row.answer {
        case .option(let option): return equal(value.map { "\(option) \(quoted($0))" } ?? option)
        case .words(let words, let otherwise):
            return value.flatMap(words).map { equal($0) + row.remark } ?? "\(name): \(otherwise)"
        case .note(let note), .needless(let note), .name(let note): return "\(name) \(note)"
        }
    }

    private static let start: [Row] = [
        Row("-i", .note("belongs to ffmpeg: write hwctl encode INPUT OUTPUT")),
        Row("-version", takesValue: false, .note("is hwctl --version")),
        Row(
            "-encoders -decoders -codecs -hwaccels", takesValue: false,
            .note("is hwctl probe: what this machine encodes and decodes")),
        Row("-filters", takesValue: false, .note("is hwctl effects")),
    ]

    private static let describing: [Row] = [
        Row(
            "-show_streams -show_format -show_frames -show_chapters", takesValue: false,
            .needless("is not needed: hwctl info shows all of it")),
        Row("-of -print_format -show_entries", .note("is --json here: one document of everything")),
    ]

    private static let files: [Row] = [
        Row("-i --input", .name("is not needed: write INPUT alone, before OUTPUT")),
        Row("-o --output", .name("is not needed: OUTPUT is the last name")),
        Row("-n", takesValue: false, .option("--no-overwrite")),
        Row("--overwrite --force", takesValue: false, .option("-y")),
        Row("-hide_banner -nostdin", takesValue: false, .needless("is not needed")),
        Row("-strict -max_muxing_queue_size -fflags", .needless("is not needed")),
        Row("-loglevel", .needless("is -q or -v here")),
        Row(
            "--recursive -R", takesValue: false,
            .note("is not there: name the folders (hwctl encode --output-dir DIR FOLDER FOLDER/SUBFOLDER)")),
        Row("-stats -nostats", takesValue: false, .option("--no-progress")),
    ]

    private static let encoding: [Row] = coding + pictures + times + streams

    private static let coding: [Row] = [
        Row(
            "-crf --crf -cq -global_quality",
            .words({ quality($0).map { "--quality \($0)" } }, otherwise: "--quality 0.0-1.0 sets the quality")),
        Row("-q:v -qscale -qscale:v", .note("is --quality 0.0-1.0 here")),
        Row("-qp", .option("--qp")),
        Row(
            "-c:v -codec:v -vcodec -c -codec --codec -e --encoder --vcodec",
            .words(
                { $0 == "copy" ? "--copy" : nil },
                otherwise: "the output is always HEVC, in hardware where it is verified (--hardware)"),
            isNeedless: { name in ["hevc", "265"].contains { name.lowercased().contains($0) } }),
        Row("-b:v -b -vb --vb --video-bitrate", .option("--bitrate")),
        Row(
            "-maxrate -maxrate:v --maxrate --max-bitrate --vbv-maxrate",
            .words(
                { bytes($0).map { "--property 'DataRateLimits=[\($0),1]'" } },
                otherwise: "--property 'DataRateLimits=[BYTES,SECONDS]' limits the rate"),
            remark: " (bytes in 1 second)"),
        Row("-bufsize -bufsize:v", .needless("is part of DataRateLimits: see hwctl properties")),
        Row("-rc -rc:v -cbr", .note("is not there: --bitrate, --quality or --qp says what is kept")),
        Row(
            "-preset",
            .words(
                preset,
                otherwise: "--speed fast|balanced|best is for hardware and software, --preset for x265 alone")),
        Row("-Z", .option("--preset-name")),
        Row(
            "-tune --tune",
            .words(
                { $0 == "zerolatency" ? "--property RealTime=true" : nil },
                otherwise: "--property X265Params=KEY=VALUE sets a tune's options")),
        Row(
            "-x265-params --x265-params",
            .words({ "--property \(quoted("X265Params=\($0)"))" }, otherwise: "--property X265Params=KEY=VALUE")),
        Row("-profile:v -profile", .option("--profile")),
        Row(
            "-pix_fmt --pix-fmt",
            .words(
                { ["yuv420p": "--profile main", "yuv420p10le": "--profile main10"][$0] },
                otherwise: "the bit depth follows the source, or --profile main|main10; chroma is 4:2:0")),
        Row("-g --keyint -keyint", .option("--keyframe-interval")),
        Row(
            "-threads --threads",
            .needless(
                "is not needed: the encoder uses all processors, and --priority background gives way to others")),
        Row("-tag:v -vtag", .needless("is not needed: .mov and .mp4 always have hvc1")),
        Row("-movflags", .needless("is not needed: the index of .mov and .mp4 is always in front")),
    ]

    private static let pictures: [Row] = [
        Row(
            "-vf --vf -filter:v -filter_complex -lavfi",
            .words(
                filter,
                otherwise: "--size, --crop, --rotate, --output-frame-rate and --effect edit pictures; "
                    + "other filters: ffmpeg -i INPUT -vf FILTERS -c:v rawvideo -c:a copy -f nut - "
                    + "| hwctl encode - OUTPUT")),
        Row(
            "-s --scale --resolution",
            .words(size, otherwise: "--size WxH scales, --max-height N to a height at most")),
        Row(
            "--width -w",
            .words({ number($0) ? "--size \($0)x-2" : nil }, otherwise: "--size Wx-2 scales to a width")),
        Row(
            "--height -l",
            .words({ number($0) ? "--size -2x\($0)" : nil }, otherwise: "--size -2xH scales to a height")),
        Row("-r --fps -framerate --framerate", .option("--output-frame-rate")),
        Row("-vsync -fps_mode", .needless("is not needed: times are kept (--output-frame-rate)")),
        Row("--vfr --cfr", takesValue: false, .needless("is not needed: times are kept (--output-frame-rate)")),
        Row(
            "-hwaccel -hwaccel_device -vaapi_device -init_hw_device --gpu --hw",
            .needless("is not needed: verified hardware is used; --hardware require|off, --device NODE")),
        Row(
            "-color_primaries -color_trc -colorspace -color_range",
            .needless(
                "is not needed: color and HDR stay what INPUT has; --hdr sdr|pq|hlg converts, --retag renames")),
        Row("--keep-hdr", takesValue: false, .needless("is not needed: HDR stays; --hdr sdr converts")),
    ]

    private static let times: [Row] = [
        Row("-ss --ss --start-at", .option("--start")), Row("-t", .option("--duration")),
        Row("-to --stop-at", .option("--end")),
        Row("-frames:v -vframes --frames", .note("is not there: --duration keeps a part")),
        Row("-pass -2 --passes", .note("is --two-pass --bitrate RATE, in one command")),
    ]

    private static let streams: [Row] = [
        Row(
            "-c:a -codec:a -acodec --audio-codec --acodec -E --aencoder",
            .words(
                { ["copy", "aac", "alac"].contains($0) ? "--audio \($0)" : nil },
                otherwise: "--audio copy|aac|alac|none")),
        Row("-b:a -ab --ab -B", .option("--audio-bitrate")),
        Row("-an --no-audio --mute", takesValue: false, .option("--audio none")),
        Row(
            "-vn", takesValue: false,
            .note("is not there: an output has video; ffmpeg -i INPUT -vn writes sound alone")),
        Row("-sn --no-subtitles", takesValue: false, .option("--subtitle none")),
        Row("-c:s -scodec -codec:s", .note("is --subtitle copy|none here; text becomes what OUTPUT holds")),
        Row(
            "-map",
            .note("is not needed: all that OUTPUT holds is kept; --audio-track, --audio none, --subtitle none")),
        Row("-map_metadata -map_chapters", .needless("is not needed: metadata and chapters are kept")),
        Row(
            "-f --format --container", .needless("is not needed: the extension of OUTPUT decides; --to is for -")),
    ]

    private static let decoding: [Row] = [
        Row("-ss --start --ss", .option("--at")),
        Row("-pix_fmt --pix-fmt --pixel-format", .words(pixelFormat, otherwise: "--format names it")),
        Row("-f --to", .needless("is not needed: the extension of OUTPUT decides")),
        Row(
            "-frames:v -vframes --frames",
            .words({ _ in nil }, otherwise: "--at TIME,TIME writes single pictures"), isNeedless: { $0 == "1" }),
        Row("-q:v", .needless("is not needed: .png loses nothing")),
        Row("-hwaccel", .needless("is not needed: verified hardware is used; --hardware require|off")),
        Row("-r --fps", .option("--frame-rate")),
    ]
}
