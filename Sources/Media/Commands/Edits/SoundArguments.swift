// SPDX-License-Identifier: GPL-2.0-or-later
public import ArgumentParser
internal import HWDEdits

/// The options of `hwctl encode` about sound and subtitles.
struct SoundArguments: ParsableArguments {
    @Option(
        help: """
            The sound: copy its packets, convert it to AAC or ALAC, or none. By default it is copied where OUTPUT can hold its \
            codec, and converted otherwise: lossless sound to ALAC, other sound to AAC.
            """)
    var audio: SoundOptions.Form?

    @Option(
        help: ArgumentHelp(
            "Keep one audio track, by its number from 1, or those of a language, such as deu.", valueName: "n|lang")
    )
    var audioTrack: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Bits per second of AAC, with suffix k or M; 80k for each channel by default.", valueName: "rate"))
    var audioBitrate: String?

    @Flag(help: "Leave out sound that can be neither copied nor converted; without this it is an error.")
    var dropAudio = false

    @Option(
        help: """
            The subtitles: copy those that OUTPUT can hold, or none. By default other text is converted too, to mov_text or, \
            in .mkv, to SubRip.
            """)
    var subtitle: TextForm?

    func validate() throws {
        if let audioBitrate {
            guard let bits = EncoderArguments.bits(audioBitrate), (8000...2_000_000).contains(bits) else {
                throw ValidationError("--audio-bitrate takes a rate from 8k to 2M, not '\(audioBitrate)'.")
            }
            if let audio, audio != .aac {
                throw ValidationError(
                    "--audio-bitrate is for AAC: it has no effect with --audio \(audio.rawValue).")
            }
        }
        guard let audioTrack else { return }
        guard Self.track(audioTrack) != nil else {
            throw ValidationError(
                "--audio-track takes a number from 1 or a language of three letters, not '\(audioTrack)'.")
        }
        if audio == SoundOptions.Form.none {
            throw ValidationError("--audio none and --audio-track contradict each other.")
        }
    }

    /// Whether none of the options is given.
    var isDefault: Bool { options == SoundOptions() && subtitle == nil }

    private static func track(_ text: String) -> SoundOptions.Track? {
        if let number = Int(text) { return number > 0 ? .number(number) : nil }
        return text.count == 3 && text.allSatisfy { ("a"..."z").contains($0) } ? .language(text) : nil
    }

    /// The options for the writer of the output.
    var options: SoundOptions {
        var options = SoundOptions()
        options.form = audio
        options.track = audioTrack.flatMap(Self.track)
        options.bitRate = audioBitrate.flatMap(EncoderArguments.bits)
        options.dropsUnsupported = dropAudio
        return options
    }
}

extension SoundOptions.Form: ExpressibleByArgument {}
extension TextForm: ExpressibleByArgument {}
