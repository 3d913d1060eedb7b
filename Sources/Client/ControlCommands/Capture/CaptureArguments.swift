// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
package import HWDModel
internal import HWDSystem

/// The options of `hwctl capture`, which `hwctl` checks and `hwctl-capture` uses.
package struct CaptureArguments: ParsableArguments {
    package enum Hardware: String, ExpressibleByArgument, CaseIterable { case prefer, require, off }

    package enum Control: String, ExpressibleByArgument, CaseIterable { case stdin, off }

    package enum AudioCodec: String, ExpressibleByArgument, CaseIterable { case aac, alac }

    /// The pointer of a screen or a window: not in the picture, in it, or beside the pictures, which are recorded without it.
    package enum Cursor: String, ExpressibleByArgument, CaseIterable { case hidden, embedded, metadata }

    @Argument(help: "The .mov or .mp4 file.")
    package var file: String?

    @Flag(help: "List the sources and what is recorded of each.")
    package var list = false

    @Option(help: ArgumentHelp("What is recorded: a name of --list.", valueName: "source"))
    package var source: String?

    @Option(
        help: ArgumentHelp(
            "The sound: default (the default microphone), monitor (what is played), a name of --list, or none, which is "
                + "the default; of the source test: test (clicks with its flashes), its default.",
            valueName: "source"))
    package var audio: String?

    @Option(help: "The codec of the sound, aac by default.")
    package var audioCodec: AudioCodec?

    @Option(help: ArgumentHelp("Width and height in pixels, such as 1280x720.", valueName: "WxH"))
    package var size: String?

    @Option(
        help: ArgumentHelp(
            "Frames per second that the source is asked for, such as 30, 59.94 or 30000/1001.", valueName: "rate"))
    package var frameRate: String?

    @Flag(
        help:
            "Record exactly --frame-rate: a frame is repeated where the source sends less, and left out where it sends more."
    )
    package var constantFrameRate = false

    @Flag(help: "Copy what the camera codes itself, HEVC before H.264, and code nothing.")
    package var copy = false

    @Option(
        help: ArgumentHelp(
            "Wait this long for a camera or node that goes away, in seconds or h:m:s, and continue when it is back.",
            valueName: "time"))
    package var reconnect: String?

    @Option(help: "The pointer of a screen or a window; by default embedded where the desktop has that.")
    package var cursor: Cursor?

    @Flag(help: "Choose the screen or the window again, although an earlier choice is kept.")
    package var choose = false

    @Option(help: ArgumentHelp("End after this much time, in seconds or h:m:s.", valueName: "time"))
    package var duration: String?

    @Option(help: ArgumentHelp("End before a file has more bytes, such as 500M or 4G.", valueName: "bytes"))
    package var maxSize: String?

    @Option(
        help: ArgumentHelp(
            "Begin another file after this much time: talk.mov becomes talk-001.mov, talk-002.mov and so on.",
            valueName: "time"))
    package var segmentTime: String?

    @Option(
        help: ArgumentHelp(
            "Keep this much time in memory, and write it at each save (CONTROLS), as talk-001.mov, talk-002.mov and so "
                + "on; --max-size is then the most bytes that are kept, 1G by default.", valueName: "time"))
    package var last: String?

    @Option(
        help: ArgumentHelp(
            "The .heic or .jpg of stills, which the control still takes (CONTROLS): shot.heic becomes shot-001.heic, shot-002.heic and so on.",
            valueName: "file"))
    package var still: String?

    @Option(
        help: ArgumentHelp(
            "Memory for stills that wait to be coded, such as 500M; by default about a second's frames, at most 256M.",
            valueName: "bytes"))
    package var stillBuffer: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Quality from 0.0 to 1.0, whatever the bit rate is.", valueName: "0.0-1.0"))
    package var quality: Double?

    @Option(
        help: ArgumentHelp(
            "Average bit rate in bits per second, such as 6M; by default what hwctl settings has for the size and the rate.",
            valueName: "rate"))
    package var bitrate: String?

    @Option(help: "Whether hardware is preferred, required or off.")
    package var hardware = Hardware.prefer

    @Option(
        help: ArgumentHelp(
            "x265's preset, for software; by default a trial of about a second before the recording chooses it.",
            valueName: "name"))
    package var preset: String?

    @Option(
        help: ArgumentHelp(
            "Set a session property, named as in VideoToolbox; may be repeated.", valueName: "key=value"))
    package var property: [String] = []

    @Option(
        help:
            "Read controls as lines of standard input, or do not read it; by default keys of a terminal are controls."
    )
    package var control: Control?

    @Flag(name: [.customShort("y"), .customLong("yes")], help: "Replace a file that exists.")
    package var yes = false

    @Flag(help: "Print what was recorded, or the list, as one JSON document on standard output.")
    package var json = false

    @Option(
        help: ArgumentHelp(
            "Write what --json prints into this file as well, however the recording ends.", valueName: "file"))
    package var receipt: String?

    @OptionGroup(title: "Messages")
    package var messages: VerbosityArguments

    /// Created by the parser.
    package init() {}

    /// Checks the options.
    package func validate() throws {
        if list {
            guard file == nil, source == nil else { throw ValidationError("--list takes no file and no source.") }
            return
        }
        guard let file else { throw ValidationError("hwctl capture needs a file to write.") }
        guard [".mov", ".mp4"].contains(where: file.lowercased().hasSuffix) else {
            throw ValidationError("a recording is a .mov or a .mp4, not '\(FileName.printable(file))'.")
        }
        guard let source, !source.isEmpty else {
            throw ValidationError("hwctl capture needs --source; --list names the sources.")
        }
        if let size, pictureSize == nil {
            throw ValidationError(
                "--size takes WxH from 64x64 to 16384x16384, such as 1280x720, not '\(FileName.printable(size))'.")
        }
        if let frameRate, rate == nil {
            throw ValidationError(
                "--frame-rate takes a rate from 1 to 1000, such as 30, 59.94 or 30000/1001, not "
                    + "'\(FileName.printable(frameRate))'.")
        }
        guard !constantFrameRate || frameRate != nil else {
            throw ValidationError("--constant-frame-rate needs --frame-rate.")
        }
        for (option, text) in [
            ("--duration", duration), ("--segment-time", segmentTime), ("--reconnect", reconnect),
        ] {
            guard let text, PlayArguments.nanoseconds(text).map({ $0 <= 0 }) ?? true else { continue }
            throw ValidationError(
                "\(option) takes seconds or h:m:s above 0, such as 90 or 1:02:03.5, not "
                    + "'\(FileName.printable(text))'.")
        }
        if let segment = segmentTime.flatMap(PlayArguments.nanoseconds), segment < 1_000_000_000 {
            throw ValidationError("--segment-time is at least 1 second.")
        }
        if let maxSize, (ScaledNumber.whole(maxSize) ?? 0) < 1_000_000 {
            throw ValidationError(
                "--max-size takes bytes of at least 1M, such as 500M or 4G, not '\(FileName.printable(maxSize))'.")
        }
        guard cursor == nil && !choose || ["screen", "window"].contains(source) else {
            throw ValidationError("\(choose ? "--choose" : "--cursor") is for the sources screen and window.")
        }
        // The source test has sound of its own.
        guard audioCodec == nil || (audio ?? (source == "test" ? "test" : "none")) != "none" else {
            throw ValidationError("--audio-codec needs sound: --audio names its source.")
        }
        try validateFiles()
        try validateStills()
        try validateEncoder()
    }

    private func validateFiles() throws {
        if let last, lastTime == nil {
            throw ValidationError(
                "--last takes seconds or h:m:s from 1 second to 1 hour, such as 60, 60s or 5:00, not "
                    + "'\(FileName.printable(last))'.")
        }
        guard last == nil || segmentTime == nil else {
            throw ValidationError("--last and --segment-time contradict each other: use one of them.")
        }
        if let receipt, receipt.isEmpty || receipt == file {
            throw ValidationError("--receipt takes a file other than that of the recording.")
        }
    }

    private static let heicSuffixes = [".heic", ".heif"]
    package static let jpegSuffixes = [".jpg", ".jpeg"]

    private func validateStills() throws {
        guard let still else {
            guard stillBuffer == nil else { throw ValidationError("--still-buffer needs --still.") }
            return
        }
        guard !copy else {
            throw ValidationError("--still needs pictures, and --copy takes none: use one of them.")
        }
        guard (Self.heicSuffixes + Self.jpegSuffixes).contains(where: still.lowercased().hasSuffix) else {
            throw ValidationError("a still is a .heic or a .jpg, not '\(FileName.printable(still))'.")
        }
        if let stillBuffer, (ScaledNumber.whole(stillBuffer) ?? 0) < 1_000_000 {
            throw ValidationError(
                "--still-buffer takes bytes of at least 1M, such as 500M, not '\(FileName.printable(stillBuffer))'."
            )
        }
    }

    private func validateEncoder() throws {
        if copy {
            let others = [
                ("--constant-frame-rate", constantFrameRate), ("--quality", quality != nil),
                ("--bitrate", bitrate != nil), ("--preset", preset != nil), ("--property", !property.isEmpty),
                ("--hardware \(hardware.rawValue)", hardware != .prefer),
            ]
            if let other = others.first(where: \.1) {
                throw ValidationError("--copy codes nothing, so \(other.0) has no effect: use one of them.")
            }
        }
        guard quality == nil || bitrate == nil else {
            throw ValidationError("--quality and --bitrate contradict each other: use one of them.")
        }
        guard (0...1).contains(quality ?? 0) else {
            throw ValidationError("--quality takes a number from 0.0 to 1.0, not \(quality ?? 0).")
        }
        if let bitrate, (ScaledNumber.whole(bitrate) ?? 0) < 1000 {
            throw ValidationError(
                "--bitrate takes a number of at least 1000, such as 800k or 6M, not "
                    + "'\(FileName.printable(bitrate))'.")
        }
        for text in property where !text.contains("=") || text.hasPrefix("=") {
            throw ValidationError("--property takes KEY=VALUE, not '\(FileName.printable(text))'.")
        }
        guard preset == nil || hardware != .require else {
            throw ValidationError("--preset is for software, which --hardware require excludes.")
        }
    }

    /// Nanoseconds that are kept in memory; nil without `--last`.
    package var lastTime: UInt64? {
        guard let last, let time = PlayArguments.nanoseconds(last.hasSuffix("s") ? String(last.dropLast()) : last),
            (1_000_000_000...3_600_000_000_000).contains(time)
        else { return nil }
        return UInt64(time)
    }

    /// Pixels; nil without `--size`.
    package var pictureSize: (width: Int, height: Int)? {
        guard let parts = size?.split(separator: "x", omittingEmptySubsequences: false), parts.count == 2,
            parts.allSatisfy({ $0.allSatisfy(\.isNumber) }), let width = Int(parts[0]), let height = Int(parts[1]),
            (64...16384).contains(width), (64...16384).contains(height)
        else { return nil }
        return (width, height)
    }

    /// Frames per second; nil without `--frame-rate`.
    package var rate: Rational? {
        frameRate.flatMap { Rational(text: $0) }.flatMap { (1.0...1000).contains($0.value) ? $0 : nil }
    }

    /// The properties of the options; `--property` overrides the others.
    package var properties: [PropertyKey: PropertyValue] {
        var properties: [PropertyKey: PropertyValue] = [:]
        if let quality { properties[.quality] = .double(quality) }
        if let bits = bitrate.flatMap(ScaledNumber.whole) { properties[.averageBitRate] = .int(bits) }
        if let preset { properties[.x265Preset] = .string(preset) }
        for text in property {
            let pair = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            properties[PropertyKey(rawValue: String(pair[0]))] = PropertyValue(commandLine: String(pair[1]))
        }
        return properties
    }

    /// How the encoder is chosen.
    package var specification: [PropertyKey: PropertyValue] {
        switch hardware {
        case .prefer: [.enableHardware: .bool(true)]
        case .require: [.requireHardware: .bool(true)]
        case .off: [.enableHardware: .bool(false)]
        }
    }
}
