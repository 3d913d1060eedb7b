// SPDX-License-Identifier: GPL-2.0-or-later
import HWClient
import Testing

@testable import HWOutput

@Suite struct PlayabilityTests {
    @Test(
        "A group of 60 is decoded again for each part of the buffer",
        arguments: [(60, 1.0), (30, 1.5), (15, 2.5), (8, 256.0 / 60), (4, 8.0)])
    func decodes(buffer: Int, expected: Double) {
        #expect(abs(Playability.decodesPerFrame(group: 60, buffer: buffer) - expected) < 1e-9)
    }

    @Test("Decodes of a group are those of the plan that play in reverse makes")
    func agreesWithThePlan() {
        let packets = (0..<60).map { PacketFacts(time: $0, decodeTime: $0, duration: 1, isKey: $0 == 0) }
        for buffer in 1...70 {
            let plan = ReversePlan(packets, before: 60, capacity: buffer, cost: 0, available: 1, highest: 0)
            let decoded = plan.parts.reduce(0) { $0 + $1.packetCount }
            let expected = Playability.decodesPerFrame(group: 60, buffer: buffer) * 60
            #expect(abs(expected - Double(decoded)) < 1e-6, "\(buffer): \(decoded)")
        }
    }

    private func video(_ levels: [Double] = [], rate: Double = 60, group: Int = 60) -> Playability.Video {
        Playability.Video(
            width: 3840, height: 2160, bitDepth: 10, frameRate: rate, groupLength: group, levelRates: levels)
    }

    private func answers(_ video: Playability.Video, _ speed: Double) throws -> [Playability.Answer] {
        let found = try #require(
            Playability(video, .init(framesPerSecond: speed, width: 3840, height: 2160)))
        return [found.forward, found.fastForward, found.reverse, found.fastReverse, found.scrubbing].map(\.answer)
    }

    @Test("Figures of 4K P010: 24.9 MB a picture, two parts of 10")
    func figures() throws {
        let found = try #require(
            Playability(video(), .init(framesPerSecond: 300, width: 3840, height: 2160)))
        #expect(video().pictureBytes == 24_883_200)
        #expect(found.reversePictures == 20 && !found.isScaled)
        // (60 + 50 + 40 + 30 + 20 + 10) / 60.
        #expect(found.reverse.decodesPerFrame == 3.5 && found.reverse.needed == 210)
        #expect(found.fastReverse.needed == 420 && found.fastForward.needed == 120)
        #expect(found.scrubbing.needed == 600)
    }

    @Test("Answers change where the speed is just enough")
    func answersBySpeed() throws {
        #expect(try answers(video(), 600) == [.everyFrame, .everyFrame, .everyFrame, .everyFrame, .everyFrame])
        #expect(try answers(video(), 599) == [.everyFrame, .everyFrame, .everyFrame, .everyFrame, .keyFrames])
        #expect(try answers(video(), 419) == [.everyFrame, .everyFrame, .everyFrame, .keyFrames, .keyFrames])
        #expect(try answers(video(), 209) == [.everyFrame, .everyFrame, .keyFrames, .keyFrames, .keyFrames])
        // One key frame a second is less than play shows at least.
        #expect(try answers(video(), 119) == [.everyFrame, .no, .keyFrames, .keyFrames, .keyFrames])
        #expect(try answers(video(), 59) == [.no, .no, .keyFrames, .keyFrames, .keyFrames])
        #expect(try answers(video(), 9) == [.no, .no, .keyFrames, .keyFrames, .no])
        #expect(try answers(video(), 0.5) == [.no, .no, .no, .no, .no])
    }

    @Test("Levels are left out first, from the highest on")
    func levels() throws {
        let layered = video([15, 30, 60])
        #expect(
            try answers(layered, 100)
                == [.everyFrame, .levels(upTo: 1), .levels(upTo: 1), .levels(upTo: 0), .keyFrames])
        #expect(
            try answers(layered, 19)
                == [.levels(upTo: 0), .no, .keyFrames, .keyFrames, .keyFrames])
        // Group of 15 pictures of level 0, ten times a second.
        #expect(try answers(layered, 150).last == .levels(upTo: 0))
    }

    @Test("Key frames suffice for play where there are ten a second")
    func keyFrames() throws {
        #expect(
            try answers(video(group: 4), 30) == [.keyFrames, .keyFrames, .keyFrames, .keyFrames, .keyFrames])
        #expect(try answers(video(group: 4), 20) == [.keyFrames, .no, .keyFrames, .no, .keyFrames])
        // A video of fewer pictures a second than that is played whole or not at all.
        #expect(try answers(video(rate: 5, group: 5), 5).first == .everyFrame)
        #expect(try answers(video(rate: 5, group: 5), 4).first == .no)
    }

    @Test("The speed of another size is scaled by the samples, and says so")
    func scaled() throws {
        let found = try #require(Playability(video(), .init(framesPerSecond: 240, width: 1920, height: 1080)))
        #expect(found.isScaled && found.framesPerSecond == 60 && found.forward.answer == .everyFrame)
    }

    @Test("Impossible figures have no answer")
    func impossible() {
        let good = Playability.Speed(framesPerSecond: 60, width: 3840, height: 2160)
        for rate in [0, -1, Double.nan, .infinity] {
            #expect(Playability(video(rate: rate), good) == nil)
            #expect(Playability(video([rate, 60]), good) == nil)
            #expect(Playability(video(), .init(framesPerSecond: rate, width: 64, height: 64)) == nil)
        }
        #expect(Playability(video(group: 0), good) == nil)
        #expect(Playability(video([120, 60]), good) == nil)
        #expect(Playability(video(), .init(framesPerSecond: 60, width: 0, height: 64)) == nil)
        let huge = Playability.Video(width: .max, height: .max, frameRate: 1, groupLength: .max)
        #expect(Playability(huge, good)?.forward.answer == .no)
    }
}
