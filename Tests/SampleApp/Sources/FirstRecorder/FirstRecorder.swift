// SPDX-License-Identifier: MIT

// The part between the markers is the sample of docs/clients.md, which `DocumentationTests` compares; scripts/check-sample
// builds and runs it.
// sample: first recorder
import HWMovies

@main struct FirstRecorder {
    /// Records the packets of a movie, as an app does with those of an encoder.
    static func main() throws {
        let movie = try Movie(path: CommandLine.arguments[1])
        for track in movie.tracks {
            guard let record = track.entries.first?.hevc else { continue }
            let recorder = try MovieRecorder(path: "recorded.mov")
            let settings = VideoTrackSettings(timeScale: track.timeScale, configuration: record)
            let number = try recorder.addVideo(settings)
            var packets = try movie.packets(of: track)
            while let packet = try packets.next() {
                // From the first half second on the file plays, whatever becomes of this program.
                let written = WrittenPacket(
                    bytes: packet.bytes, time: packet.time, decodeTime: packet.decodeTime, duration: packet.duration
                )
                try recorder.append(written, to: number)
            }
            recorder.chapters = [MovieChapter(seconds: 0, title: "The beginning")]
            try recorder.finish()
            print(recorder.size, "bytes were recorded")
            return
        }
    }
}
// sample: end
