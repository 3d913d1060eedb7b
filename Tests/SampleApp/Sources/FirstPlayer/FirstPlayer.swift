// SPDX-License-Identifier: MIT

// The part between the markers is the sample of docs/clients.md and of HWOutput's documentation, which
// `DocumentationTests` compares; scripts/check-sample builds and runs it.
// sample: first player
import HWClient
import HWMovies
import HWOutput

@main struct FirstPlayer {
    static func main() throws {
        var options = VideoOutput.Options()
        // Half floats of Display P3 in linear light, whatever the movie has.
        options.target = .init(pixelFormat: "AB4H", primaries: "p3")
        // An app with a display leaves the clock out, and passes the time at which a refresh is seen.
        let clock = ManualClock()
        let source = try MovieVideo(path: CommandLine.arguments[1])
        let output = try VideoOutput(try Daemon.find(), source, options: options, clock: clock)
        output.play(rate: 1)
        for refresh in Int64(0)..<600 {
            clock.set(refresh * 1_000_000_000 / 60)
            switch output.copyFrame(waiting: .seconds(10)) {
            case .frame(let frame):
                let red = frame.buffer.withPlanes { planes in
                    Float16(bitPattern: planes[0][0].loadUnaligned(as: UInt16.self))
                }
                print("refresh \(refresh): \(frame.displayTime) ns, \(frame.buffer.width) wide, red \(red)")
            case .none(.same): continue
            case .none(let reason):
                print("refresh \(refresh): nothing, \(reason)")
                if reason == .afterEnd { return summary(output) }
            }
        }
        summary(output)
    }

    static func summary(_ output: VideoOutput) {
        for event in output.takeEvents() { print(event) }
        print(output.counts.shown, "shown,", output.counts.late, "late,", output.counts.dropped, "dropped")
    }
}
// sample: end
