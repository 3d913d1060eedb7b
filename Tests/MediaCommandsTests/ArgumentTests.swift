// SPDX-License-Identifier: GPL-2.0-or-later
import ArgumentParser
import Testing

@testable import hwctl_media

/// Command lines that the parser and the commands' `validate()` refuse, before any file or daemon is touched.
@Suite struct ArgumentTests {
    /// The message for a command line that is refused; nil for one that is accepted.
    private func refusal(_ arguments: [String]) -> String? {
        do {
            _ = try HWCtl.parseAsRoot(arguments)
            return nil
        } catch {
            return HWCtl.message(for: error)
        }
    }

    @Test(
        arguments: [
            (
                ["encode", "--bitrate", "6", "in.mp4", "out.mov"],
                "--bitrate 6 is 6 bits a second: did you mean 6M?"
            ),
            (["encode", "--quality", "23", "in.mp4", "out.mov"], "CRF 23 is --quality 0.45"),
            (
                ["encode", "--crf", "23", "in.mp4", "out.mov"],
                "--crf is --quality here (CRF = 40 - 38 · quality): CRF 23 is --quality 0.45"
            ),
            (["encode", "--codec", "hevc", "in.mp4", "out.mov"], "the output is always HEVC"),
            (["encode", "--qualty=0.5", "in.mp4", "out.mov"], "Unknown option"),
            (["encode", "in.mp4"], "an INPUT and an OUTPUT"),
            (["encode", "--qp", "20", "--quality", "0.5", "in.mp4", "out.mov"], "contradict"),
            (["encode", "--size", "320", "in.mp4", "out.mov"], "--size"),
            (["encode", "--alpha", "half", "in.mov", "out.mov"], "--alpha"),
            (["encode", "--segment", "9/4", "in.mov", "out.mov"], "--segment"),
            (["decode", "in.mov"], "<output>"),
            (["convert", "a", "b", "--size", "0x0", "--from", "nv12", "--to", "bgra8"], "--size"),
            (["probe", "--nonsense"], "Unknown option"),
        ])
    func refused(arguments: [String], words: String) throws {
        let message = try #require(refusal(arguments), "\(arguments) is accepted")
        #expect(message.contains(words), "\(message)")
    }

    @Test(
        arguments: [
            ["encode", "in.mp4", "out.mov"], ["encode", "--quality", "0.5", "in.mp4", "out.mov"],
            ["encode", "--output-dir", "hevc", "a.mp4", "b.mp4"],
            ["encode", "--segment", "3/4", "in.mov", "out.mov"],
            ["encode", "--bitrate", "6M", "--two-pass", "in.mkv", "out.mp4"], ["decode", "in.mov", "out.y4m"],
            ["verify", "in.mov", "out.mov"], ["sessions", "--json"],
        ])
    func accepted(arguments: [String]) {
        #expect(refusal(arguments) == nil)
    }
}
