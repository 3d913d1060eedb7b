// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import Glibc
internal import HWDModel

/// `hwctl play`: checks its options and executes `hwctl-play`, a program of its own, since no other needs a display server.
package struct PlayCommand: ParsableCommand {
    /// The command's name and help.
    package static let configuration = CommandConfiguration(
        commandName: "play",
        abstract: "Show a video in a window, each frame at its time.",
        discussion: """
            EXAMPLES
              hwctl play talk.mov
              hwctl play --effect exposure:ev=1 --loop talk.mov
              hwctl play --headless --stats --display-rate 144 talk.mov

            The video is decoded and converted in sessions of the daemon. The window needs a Wayland compositor; hwctl decode \
            --at writes a frame without one. Pictures brighter than reference white are tone-mapped, unless --format is AB4H.

            Sound is played by PipeWire, and the pictures follow it. At rates other than 1, and without PipeWire, play is \
            silent.

            --headless plays against a clock instead, without waiting for it, so that the cadence is exact: frames by the \
            number of refreshes for which they stay, beside the ideal for the file's times.

            KEYS (by their positions on a US keyboard)
              space         pause, continue
              left, right   1 second back, ahead; 10 seconds with shift
              , .           one frame back, ahead
              [ ]           slower, faster
              up, down      louder, quieter
              m             mute
              l             loop
              f             full screen
              q             quit
            """)

    @OptionGroup var arguments: PlayArguments

    /// Created by the parser.
    package init() {}

    /// Executes `hwctl-play`.
    package func run() throws {
        try report {
            let number = SiblingProgram.execute("hwctl-play")
            guard number == ENOENT else {
                throw CommandFailure(.software, "hwctl-play cannot be run: \(String(cString: strerror(number)))")
            }
            throw CommandFailure(
                .unavailable,
                "hwctl play needs the program hwctl-play beside hwctl or in ../libexec/hwdaemon: make install and the "
                    + "package hwdaemon-play have it")
        }
    }
}
