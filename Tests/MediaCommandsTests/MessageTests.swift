// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import HWDControlCommands
import HWDEncoderTesting
import HWDMetadata
import HWDSystem
import Testing

@testable import hwctl_media

/// What reaches the terminal, whatever names and values contain.
@Suite struct MessageTests {
    /// Texts that a terminal would act on, and how they are shown.
    static let texts: [(text: String, shown: String)] = [
        ("a\u{1B}[31mb", #"a\x1B[31mb"#), ("a\u{7}b", #"a\x07b"#), ("a\u{9B}31mb", #"a\x9B31mb"#),
        ("a\u{7F}b", #"a\x7Fb"#), ("a\u{202E}b", #"a\u{202E}b"#), ("a\u{2066}b", #"a\u{2066}b"#),
        ("a\u{2028}b", #"a\u{2028}b"#), ("a\nb", #"a\nb"#), ("a\rb", #"a\rb"#), ("a\r\nb", #"a\r\nb"#),
        (FileName.string([0x61, 0xE9, 0x62] as [UInt8]), #"a\xE9b"#),
        (FileName.string([0x61, 0xC2, 0x1B, 0x62] as [UInt8]), #"a\xC2\x1Bb"#),
    ]

    /// Where a text is in a command line that is refused.
    static let commands: [@Sendable (String) -> [String]] = [
        { ["info", "clip.mov", $0] }, { ["info", "clip.mov", "b", $0] }, { ["info", "clip.mov", "--\($0)"] },
        { ["info", "clip.mov", "--\($0)=1"] }, { ["--\($0)"] }, { [$0, "clip.mov"] },
        { ["encode", "--quality", $0, "in.mp4", "out.mov"] }, { ["encode", "--alpha=\($0)", "in.mp4", "out.mov"] },
        { ["encode", "--property", $0, "in.mp4", "out.mov"] },
        { ["encode", "--segment", $0, "in.mp4", "out.mov"] },
        { ["encode", "--to", $0, "in.mp4", "-"] }, { ["decode", "--at", $0, "in.mov", "out.png"] },
        { ["decode", "in.mov", "out.y4m", "--background", $0] },
        { ["convert", "--size", $0, "--from", "nv12", "--to", "bgra8", "a", "b"] },
        { ["live-photo", "a", "b", "--pair", "--identifier", $0] }, { ["verify", "a", "b", "--frame-rate", $0] },
    ]

    @Test(arguments: sampled(texts.indices, oneIn: 3))
    func refusedArgumentsAreShownWithoutControlCharacters(_ index: Int) throws {
        let (text, shown) = Self.texts[index]
        for command in Self.commands {
            let arguments = command(text)
            let failure = try #require(Self.failure(arguments), "\(arguments) is accepted")
            #expect(failure.exitCode == 64)
            let line = Console.errorLine(failure.reason)
            #expect(line.hasPrefix("hwctl: ") && line.hasSuffix("\n"))
            #expect(line.contains(shown), "\(line.debugDescription)")
            let isClean = line.dropLast().unicodeScalars.allSatisfy { scalar in
                scalar.value >= 0x20 && !(0x7F..<0xA0).contains(scalar.value)
                    && !(0x2028...0x202E).contains(scalar.value) && !(0x2066...0x2069).contains(scalar.value)
                    && scalar.value < 0x10FF80
            }
            #expect(isClean, "\(line.debugDescription)")
        }
    }

    /// The failure of a command line that is refused; nil for one that is accepted.
    private static func failure(_ arguments: [String]) -> CommandFailure? {
        do {
            _ = try HWCtl.parseAsRoot(arguments)
            return nil
        } catch { return CommandArguments.failure(error, of: HWCtl.self, arguments) }
    }

    @Test func requestsOfHelpAreNoFailures() {
        for arguments in [["--help"], ["info", "--help"], ["--version"]] {
            #expect(Self.failure(arguments) == nil)
        }
    }

    @Test func errorsThatAreNoUsageErrorsAreReportedToo() {
        struct Surprise: Error, CustomStringConvertible { var description: String { "a\u{1B}b" } }
        let failure = CommandArguments.failure(Surprise(), of: HWCtl.self, ["info"])
        #expect(failure?.exitCode == 70)
        #expect(failure.map { Console.errorLine($0.reason) } == "hwctl: a\\x1Bb\n")
        #expect(CommandArguments.failure(ExitCode(65), of: HWCtl.self, ["info"]) == nil)
    }
}

/// Questions about files that exist, and errors that end an input early.
@Suite struct OutputRuleTests {
    @Test func severalFilesAreOneQuestion() {
        #expect(ReplaceArguments.question("a.mov", count: 1) == "hwctl: a.mov exists; replace it? [y/N] ")
        #expect(
            ReplaceArguments.question("f-1.png", count: 90).contains("f-1.png and 89 more exist; replace them?"))
        #expect(ReplaceArguments.refusal("a.mov", count: 1) == "a.mov exists and is not replaced")
        #expect(ReplaceArguments.refusal("f-1.png", count: 2) == "f-1.png and 1 more exist and are not replaced")
    }

    @Test func optionsDecideWhatHappensToFilesThatExist() throws {
        let arguments = { (words: [String]) in try ReplaceArguments.parse(words) }
        for words in [[], ["-y"], ["--no-overwrite"], ["--skip-existing"]] {
            #expect(try arguments(words).writes(over: [], asks: false))
        }
        #expect(try arguments([]).writes(over: ["a"], asks: false))
        #expect(try arguments(["-y"]).writes(over: ["a"], asks: true))
        #expect(try !arguments(["--skip-existing"]).writes(over: ["a", "b"], asks: true))
        #expect(throws: CommandFailure.self) { try arguments(["--no-overwrite"]).writes(over: ["a"], asks: false) }
    }

    @Test(
        arguments: [
            ["decode", "-y", "in.mov", "f-%d.png"], ["decode", "--no-overwrite", "in.mov", "out.y4m"],
            ["convert", "--size", "4x4", "--from", "nv12", "--to", "p010", "--skip-existing", "a", "b"],
            ["live-photo", "--pair", "--output-dir", "d", "-y", "a.heic", "a.mov"],
        ])
    func commandsThatWriteFilesTakeThem(_ arguments: [String]) throws {
        _ = try HWCtl.parseAsRoot(arguments)
    }

    @Test func onlyFaultsOfTheInputEndItEarly() {
        let kinds: [(MediaError.Kind, Bool)] = [
            (.badInput, true), (.io, true), (.unsupported, true), (.cannotWrite, false), (.cannotCreate, false),
            (.closedPipe, false), (.interrupted, false),
        ]
        for (kind, isEarlyEnd) in kinds {
            let error = MediaError(kind, "why")
            #expect((EarlyEnd(error, keepsPartial: true, frames: 1) != nil) == isEarlyEnd, "\(kind)")
            #expect(EarlyEnd(error, keepsPartial: true, frames: 0) == nil)
            #expect(EarlyEnd(error, keepsPartial: false, frames: 1) == nil)
        }
    }
}
