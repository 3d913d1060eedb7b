// SPDX-License-Identifier: GPL-2.0-or-later
package import ArgumentParser
internal import Glibc
internal import HWDModel

/// `hwctl capture`: checks its options and executes `hwctl-capture`, a program of its own, since no other needs PipeWire.
package struct CaptureCommand: ParsableCommand {
    /// The command's name and help.
    package static let configuration = CommandConfiguration(
        commandName: "capture",
        abstract: "Record a source into a file that survives.",
        discussion: """
            EXAMPLES
              hwctl capture --list
              hwctl capture --source test --duration 10 test.mov
              hwctl capture --source test --size 1920x1080 --frame-rate 60 --segment-time 10:00 talk.mov
              hwctl capture --source v4l2:/dev/video0 --audio default camera.mov
              hwctl capture --source pipewire:NODE --duration 1:00:00 node.mov
              hwctl capture --source v4l2:/dev/video0 --copy --reconnect 60 copy.mov
              hwctl capture --source v4l2:/dev/video0 --last 60s goal.mov
              hwctl capture --source screen --cursor hidden --audio monitor screen.mov
              hwctl capture --source v4l2:/dev/video0 --still shot.heic camera.mov

            Frames are coded as HEVC in a session of the daemon in real time. Ctrl-C, SIGTERM and SIGHUP end the recording \
            cleanly; a second signal ends the program at once, and leaves a file that plays.

            CONTROLS
            While it records, each of these is a key of the terminal, a signal, or with --control stdin a line of standard \
            input:
              p  SIGUSR2     toggle, pause, resume  pause or resume
              m  SIGRTMIN    mark TITLE             begin a chapter
              s  SIGUSR1     save                   write what --last keeps
              c  SIGRTMIN+1  still                  take a still (--still)
              q              stop                   end the recording
            Without a title, a chapter has a number. Pictures and sound of a pause are not recorded: the parts are joined, and \
            --duration does not count pauses. Chapters are \
            in the files that the recording or hwctl repair finishes. \
            The end of standard input ends no recording.

            LAST
            --last TIME writes nothing until a save: it keeps the coded packets of the last seconds in memory, and each \
            save writes them into a file of its own, from the key frame before that time on (each 2 s has one), while the \
            recording continues. The end of the recording saves nothing. A save that fails is a warning, is in \
            the receipt, and gives the exit code at the end.

            FILES
            A recording has its name from its first byte on and grows by fragments of half a second: after a crash of this \
            program, or of the machine, the file plays up to that, and hwctl repair finishes it. At the end it becomes a plain \
            .mov or .mp4 in place. If the encoder's process dies, the session continues in another one, which codes again what \
            the first had not finished; frames that arrive meanwhile wait, or are dropped, as below. The daemon's death does \
            not end a recording. Where nothing can encode any more, or the disk is full, the \
            file is finished with what was coded before, and the exit code says that the recording failed.

            FRAMES
            If the encoder cannot keep up, 12 frames wait, and the next that arrives is dropped before it is coded: the frame \
            before it stays longer, so what is recorded keeps its time. If more than 5 % are dropped in 5 s, a \
            warning says so, and every other frame is left out evenly from then on.

            A source that changes its size continues in the same file, whose pictures then have several sizes. With \
            --constant-frame-rate the file has exactly --frame-rate frames a second: each picture is at the time that is \
            nearest to its own, and is repeated where none follows.

            --copy records the HEVC or H.264 that a camera codes itself, from its first key frame on. What follows a lost or \
            damaged frame is kept, since decoders conceal that.

            In software a trial of about a second first chooses the slowest of x265's presets ultrafast, superfast and \
            veryfast that is twice as fast as the recording; a line says which. --preset and --property X265Preset=NAME \
            skip it.

            SOUND
            --audio records sound as AAC, or as ALAC by --audio-codec. It keeps the time of the pictures: the drift of \
            the sound's clock is resampled away, by at most one in a thousand, and sound that is lost becomes silence in its \
            place, which the receipt lists. If a microphone goes away, the recording continues with silence.

            STILLS
            With --still each signal SIGRTMIN+1 (kill -s RTMIN+1), key c or line still takes a still of the newest recorded \
            frame, with its time as Exif; names of files that exist are skipped, unless -y replaces them. Stills are coded in software by sessions with Priority \
            background, so that hardware and processors are the recording's first. What waits is in memory, as \
            --still-buffer allows. Where that is full, one more still becomes a JPEG at once, and those that come meanwhile \
            are refused; where HEIC cannot be coded, a still is a JPEG, too. A line and the receipt say so for each. A still \
            that cannot be written ends no recording and does not change the exit code. At the end the recording is \
            finished, and stills that wait are coded; Ctrl-C twice gives them up, with status 130: a line says so.

            RECEIPT
            At the end a line has the frames that were captured, coded and dropped, with times and causes, the longest gap \
            between two frames, and the duration; --json prints the same as a document, with pauses and chapters, and \
            --receipt FILE writes that, however the recording ends, unless the program is killed. Causes:
              queue     the encoder did not keep up
              rate      left out to halve the rate, or for the constant rate
              source    the source skipped frames, or sent fewer than its rate
              damaged   the source sent less than a frame
              clock     a frame's time was not after that of the frame before
              end       captured and not written, because the recording ended early
              key-frame with --copy: before the first key frame, or up to the next one after a pause, a backlog or a reconnection

            SOURCES
              v4l2:PATH      a camera of Video4Linux2, such as v4l2:/dev/video0, in the mode that is nearest to --size and \
            --frame-rate; by default the largest up to 1920x1080 that reaches 30 frames a second
              pipewire:NODE  what a node of PipeWire sends, by its name or serial: a camera, or another program; --size and \
            --frame-rate are asked of it
              screen, window what you choose in the dialog of the desktop's portal (xdg-desktop-portal), until the \
            recording ends, or the desktop stops sharing it. The choice is kept in $XDG_STATE_HOME/hwdaemon, or \
            ~/.local/state/hwdaemon, for the next recording of the same kind: --choose asks again. Refusing ends with \
            status 77. Pictures come when something changes; the last is recorded again within each second and at the end. \
            --cursor metadata leaves the pointer out, for desktops without hidden
              test           numbered frames: blocks of 8 columns and 4 rows at the upper left are the bits of the frame's \
            number, the highest first, white for 1 and black for 0; a bar at the right flashes once a second, with a \
            click.
            A warning names what a source sends in another size or at another rate than was asked. A camera or node that goes \
            away ends the recording cleanly; with --reconnect TIME it is waited for, a node by its name, and the receipt lists the time without it. One \
            that sends nothing for 5 seconds, or a screen or window whose first picture takes 30, ends the recording with status 74.
            """)

    @OptionGroup var arguments: CaptureArguments

    /// Created by the parser.
    package init() {}

    /// Executes `hwctl-capture`.
    package func run() throws {
        try report {
            let number = SiblingProgram.execute("hwctl-capture")
            guard number == ENOENT else {
                throw CommandFailure(
                    .software, "hwctl-capture cannot be run: \(String(cString: strerror(number)))")
            }
            throw CommandFailure(
                .unavailable,
                "hwctl capture needs the program hwctl-capture beside hwctl or in ../libexec/hwdaemon: make install and the "
                    + "package hwdaemon-capture have it")
        }
    }
}
