// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWOutput

@Suite struct ReversePlanTests {
    /// The packets of a group in which pictures are reordered, with levels.
    private func group(_ count: Int, _ random: inout SeededGenerator) -> [PacketFacts] {
        var packets = [PacketFacts(time: 0, decodeTime: 0, isKey: true)]
        var time = Int64(1)
        while packets.count < count {
            let depth = Int.random(in: 0...3, using: &random)
            packets.append(PacketFacts(time: time + Int64(depth), decodeTime: 0))
            for between in 0..<depth {
                packets.append(
                    PacketFacts(time: time + Int64(between), decodeTime: 0, level: 1, isReference: false))
            }
            time += Int64(depth) + 1
        }
        return packets
    }

    @Test func partsHoldEachPictureOnceAndEndWithTheLastPacketTheyNeed() {
        var random = SeededGenerator(5)
        for _ in 0..<200 {
            let packets = group(Int.random(in: 1...40, using: &random), &random)
            let capacity = Int.random(in: 1...12, using: &random)
            let end = Int64.random(in: 1...50, using: &random)
            let available = Double.random(in: 0...200, using: &random)
            let plan = ReversePlan(
                packets, before: end, capacity: capacity, cost: 1, available: available, highest: 1)
            let wanted = packets.filter { $0.time < end }
            let kept = wanted.filter { plan.thinning.keeps($0, highest: 1) }
            #expect(plan.skipped == wanted.count - kept.count)
            var found: [Int64] = []
            for part in plan.parts {
                let chosen = packets.indices.filter {
                    part.times.contains(packets[$0].time) && plan.thinning.keeps(packets[$0], highest: 1)
                }
                #expect(chosen.count == part.pictureCount && part.pictureCount <= capacity)
                #expect(chosen.last.map { $0 + 1 } == part.packetCount)
                found += chosen.map { packets[$0].time }.sorted().reversed()
            }
            #expect(found == kept.map(\.time).sorted().reversed())
            let decoded = plan.parts.reduce(0) { count, part in
                count + packets.prefix(part.packetCount).count { plan.thinning.keeps($0, highest: 1) }
            }
            #expect(Double(decoded) <= available * 0.95 || plan.thinning == .keyFrames)
        }
    }

    /// A group of a quarter of a million pictures that are decoded one by one.
    @Test func aLongGroupIsPlannedToo() {
        var random = SeededGenerator(6)
        let packets = group(250_000, &random)
        let plan = ReversePlan(packets, before: .max, capacity: 1, cost: 0, available: 0, highest: 1)
        #expect(plan.parts.count == packets.count && plan.parts.allSatisfy { $0.pictureCount == 1 })
        #expect(plan.parts.first?.times.lowerBound == packets.map(\.time).max())
    }

    @Test func onlyTheGroupsThatAreShownAreRead() {
        // Each picture is a key frame.
        let stream = NumberedStream(
            (0..<3000).map { $0 }, end: 3000, scale: TickScale(numerator: 1, denominator: 30), group: 1)
        var player = SimulatedPlayer(stream)
        player.playback.seek(to: 50_000_000_000, .exact)
        player.playback.setRate(-TimeMap.one, at: 0)
        let frames = (Int64(0)..<30).compactMap { player.ask(at: $0 * 1_000_000_000 / 30)?.time }
        #expect(frames == (1470...1499).reversed().map { $0 })
        // A group is its picture, and the two packets that show where it ends.
        #expect(player.readCount <= 6 * player.decodedCount, "\(player.readCount) of \(player.decodedCount)")
    }

    /// The last group is small, and the one before it does not fit.
    @Test func groupsOfAnotherSizeStayWithinTheBound() {
        let large = 3840 * 2160 * 3
        var stream = NumberedStream(
            (0..<120).map { $0 }, end: 120, scale: TickScale(numerator: 1, denominator: 60), group: 60, reordered: 3
        )
        for index in stream.packets.indices {
            stream.packets[index].pictureBytes = stream.packets[index].time < 60 ? large : 6144
        }
        var player = SimulatedPlayer(stream, pictureBytes: 6144)
        player.depth = 2
        player.playback.seek(to: 1_999_000_000, .exact)
        player.playback.setRate(-TimeMap.one, at: 0)
        let frames = (Int64(0)..<120).compactMap { player.ask(at: $0 * 1_000_000_000 / 60)?.time }
        #expect(frames == (0..<120).reversed().map { $0 }, "\(frames)")
        let counts = player.playback.allCounts
        #expect(counts.peakBytes > 6144 * 60 && counts.peakBytes <= 512 << 20 && counts.late == 0, "\(counts)")
    }

    @Test func durationsAreTrustedUnlessTheyVaryAmongReorderedPictures() {
        func trusts(_ packets: [(time: Int64, decode: Int64, duration: Int64)]) -> Bool {
            var trust = DurationTrust()
            for packet in packets {
                trust.read(PacketFacts(time: packet.time, decodeTime: packet.decode, duration: packet.duration))
            }
            return trust.isTrusted
        }
        #expect(trusts([(0, 0, 1), (1, 1, 5), (6, 6, 1)]))
        #expect(trusts([(0, -1, 1), (2, 0, 1), (1, 1, 1)]))
        #expect(!trusts([(0, -1, 1), (2, 0, 1), (1, 1, 5)]))
    }
}
