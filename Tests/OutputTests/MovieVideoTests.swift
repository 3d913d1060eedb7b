// SPDX-License-Identifier: GPL-2.0-or-later
import Foundation
import HWMovies
import HWOutput
import Testing

struct MovieVideoTests {
    @Test("A picture that an edit cuts lasts until the edit's end")
    func cutPicture() throws {
        let clip = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Media/bframes.mp4")
        var bytes = [UInt8](try Data(contentsOf: clip))
        // The duration of the only edit: 30 pictures of 40 ms, of which half of the last is cut.
        let place = try #require(bytes.indices.last { bytes[$0...].starts(with: "elst".utf8) }) + 12
        #expect(bytes[place..<place + 4].elementsEqual([0, 0, 0x04, 0xB0]))
        bytes.replaceSubrange(place..<place + 4, with: [0, 0, 0x04, 0x9C])
        var video = try MovieVideo(Movie(MovieMemory(bytes)))
        var shown: [VideoPacket] = []
        while let packet = try video.next() { if packet.isShown { shown.append(packet) } }
        shown.sort { $0.time < $1.time }
        #expect(shown.count == 30 && shown.dropLast().allSatisfy { $0.duration == 512 })
        #expect(shown.last?.time == 29 * 512 && shown.last?.duration == 256)
    }
}
