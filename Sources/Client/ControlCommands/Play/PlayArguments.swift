// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
package import HWDModel
internal import HWDSystem

/// The options of `hwctl play`, which `hwctl` checks and `hwctl-play` uses.
package struct PlayArguments: ParsableArguments {
    @Argument(help: "A .mov or .mp4 file with HEVC video.")
    package var file: String

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Speed, from -2 to 2; a negative one plays in reverse, from the end.", valueName: "r"))
    package var rate = 1.0

    @Flag(help: "Begin again after the end.")
    package var loop = false

    @Option(help: ArgumentHelp("Begin at this time, in seconds or h:m:s.", valueName: "time"))
    package var start: String?

    @Option(help: ArgumentHelp("Show the frame of this time, paused.", valueName: "time"))
    package var at: String?

    @Option(help: ArgumentHelp("End after this much time, in seconds or h:m:s, by the clock.", valueName: "time"))
    package var duration: String?

    @Option(
        name: .customLong("effect"),
        help: ArgumentHelp(
            "Apply an effect, such as exposure:ev=1 (hwctl effects lists them); several apply in order.",
            valueName: "name:key=value,…"))
    package var effects: [String] = []

    @Option(help: ArgumentHelp("Color behind transparent pictures: RRGGBB.", valueName: "color"))
    package var background = "808080"

    @Option(help: ArgumentHelp("Decode only temporal levels up to this one, 0 to 6.", valueName: "n"))
    package var maxLevel: Int?

    @Option(
        help: ArgumentHelp("Refresh rate of --headless: 60 (default), 59.94 or 60000/1001.", valueName: "rate"))
    package var displayRate: String?

    @Option(
        help: ArgumentHelp(
            """
            Samples of the frames: AR24 (8 bits), XR30 or XB30 (10 bits) or AB4H (half floats of linear light); \
            default AR24, and 10 bits for a video that has more than 8 where the window takes them.
            """,
            valueName: "format"))
    package var format: String?

    @Flag(help: "Play no sound.")
    package var noSound = false

    @Option(help: ArgumentHelp("Play this track of sound, from 1; default the first enabled one.", valueName: "n"))
    package var audioTrack: Int?

    @Flag(help: "Cover the whole screen.")
    package var fullscreen = false

    @Flag(help: "Show no window: play against a clock of the given refresh rate, as fast as the machine can.")
    package var headless = false

    @Flag(help: "Print what was shown, late, dropped and skipped, and the cadence.")
    package var stats = false

    @Flag(help: "Print that as one JSON document on standard output.")
    package var json = false

    @OptionGroup(title: "Messages")
    package var messages: VerbosityArguments

    /// Created by the parser.
    package init() {}

    /// Checks the options.
    package func validate() throws {
        guard rate.isFinite, rate != 0, rate.magnitude <= 2 else {
            throw ValidationError("--rate takes a number from -2 to 2 that is not 0.")
        }
        for (option, text) in [("--start", start), ("--at", at), ("--duration", duration)] {
            guard let text, Self.nanoseconds(text) == nil else { continue }
            throw ValidationError(
                "\(option) takes seconds or h:m:s, such as 12.5 or 1:02:03.5, not '\(FileName.printable(text))'.")
        }
        if start != nil, at != nil {
            throw ValidationError("--start and --at contradict each other: use one of them.")
        }
        guard displayRate == nil || headless else {
            throw ValidationError("--display-rate is for --headless: a window has the display's rate.")
        }
        guard !fullscreen || !headless else {
            throw ValidationError("--fullscreen needs a window, not --headless.")
        }
        guard audioTrack ?? 1 >= 1 else { throw ValidationError("--audio-track takes a number from 1 on.") }
        guard audioTrack == nil || !(noSound || headless) else {
            throw ValidationError("--audio-track has no effect with --\(noSound ? "no-sound" : "headless").")
        }
        guard rate == 1 || at == nil else {
            throw ValidationError("--rate has no effect with --at, which shows one frame: use --start.")
        }
        guard let display = Rational(text: displayRate ?? "60"), (1.0...1000).contains(display.value) else {
            throw ValidationError("--display-rate takes a rate from 1 to 1000, such as 59.94 or 60000/1001.")
        }
        guard (0...6).contains(maxLevel ?? 0) else { throw ValidationError("--max-level takes 0 to 6.") }
        guard ["AR24", "XR30", "XB30", "AB4H"].contains(format ?? "AR24") else {
            throw ValidationError("--format takes AR24, XR30, XB30 or AB4H.")
        }
        guard !headless || stats || json else { throw ValidationError("--headless shows nothing without --stats.") }
        guard !headless || !(loop || at != nil) || duration != nil else {
            throw ValidationError(
                "--headless needs --duration with \(loop ? "--loop" : "--at"), which have no end.")
        }
        do throws(SessionError) { _ = try EffectList(texts: effects, .command) } catch {
            throw ValidationError("--effect: \(error.reason)")
        }
        do throws(SessionError) { _ = try EffectList(texts: [backgroundText], .command) } catch {
            throw ValidationError("--background: \(error.reason)")
        }
    }

    /// The background as an effect.
    private var backgroundText: String { "background:color=\(background)" }

    /// The effects, and the background behind them, which opaque pictures do not show.
    package var effectList: EffectList {
        let own = EffectList.checked(effects)
        let hasBackground = own.effects.contains { $0.name == .background }
        return hasBackground ? own : EffectList.checked(effects + [backgroundText])
    }

    /// A time of seconds or h:m:s in nanoseconds; nil for other texts, and above 10⁶ hours.
    package static func nanoseconds(_ text: String) -> Int64? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard (1...3).contains(parts.count) else { return nil }
        var seconds = 0.0
        for (index, part) in parts.enumerated() {
            guard part.first != ".", part.allSatisfy({ "0123456789.".contains($0) }),
                let value = Double(part), value.isFinite,
                index == parts.count - 1 || !part.contains("."), index == 0 || value < 60
            else { return nil }
            seconds = seconds * 60 + value
        }
        return seconds <= 3.6e9 ? Int64((seconds * 1e9).rounded()) : nil
    }
}

extension EffectList {
    /// Effects that validation has checked.
    fileprivate static func checked(_ texts: [String]) -> EffectList {
        (try? EffectList(texts: texts, .command)) ?? EffectList()
    }
}
