// SPDX-License-Identifier: MIT

// The part between the markers is the sample of docs/clients.md, which `DocumentationTests` compares; scripts/check-sample
// builds and runs it.
// sample: first movie
import HWMovies

@main struct FirstMovie {
    static func main() throws {
        let movie = try Movie(path: CommandLine.arguments[1])
        let writer = try MovieWriter(path: "copy.mov")
        for track in movie.tracks {
            guard let entry = track.entries.first, let record = entry.hevc else { continue }
            var settings = VideoTrackSettings(timeScale: track.timeScale, configuration: record)
            (settings.color, settings.rotation) = (entry.color, track.rotation ?? 0)
            let number = try writer.addVideo(settings)
            var (packets, count) = (try movie.packets(of: track), 0)
            while let packet = try packets.next() {
                let written = WrittenPacket(
                    bytes: packet.bytes, time: packet.time, decodeTime: packet.decodeTime, duration: packet.duration
                )
                try writer.append(written, to: number)
                count += 1
            }
            let middle = packets.seekPoint(atOrBefore: track.duration / 2)
            print(count, "packets of", entry.type, "and a seek point at", middle?.time ?? 0)
        }
        try writer.finish()
    }
}
// sample: end
