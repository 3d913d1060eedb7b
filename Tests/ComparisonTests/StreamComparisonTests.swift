// SPDX-License-Identifier: GPL-2.0-or-later
import Testing

@testable import HWDComparison
@testable import HWDMetadata

/// Packets of audio and dynamic metadata of pictures, compared without files.
@Suite struct StreamComparisonTests {
    private func stream(
        _ codec: String, channels: Int = 6, rate: Int = 48_000, language: String? = nil
    ) -> OtherStream {
        OtherStream(
            index: 1, content: .audio, codec: codec, language: language, isPicture: false, isChapterTitles: false,
            isTimecode: false, sampleRate: rate, channels: channels)
    }

    private func records(_ digests: [UInt64], delay: Double = 0) -> [PacketRecord] {
        digests.enumerated().map { PacketRecord(time: 0.02 * Double($0) + delay, duration: 0.02, digest: $1) }
    }

    private func compare(
        _ input: [PacketRecord], _ output: [PacketRecord], codec: String = "aac", offset: Double = 0
    ) throws -> ReceiptItem {
        try compare(input, output, stream("aac"), stream(codec), offset: offset)
    }

    private func compare(
        _ input: [PacketRecord], _ output: [PacketRecord], _ old: OtherStream, _ new: OtherStream,
        offset: Double = 0
    ) throws -> ReceiptItem {
        var comparison = StreamComparison(old, new, number: 1)
        for record in input { try comparison.add(record, .input) }
        for record in output { try comparison.add(record, .output) }
        return comparison.finish(offset: offset)
    }

    @Test func identicalPackets() throws {
        let all = (0..<600).map { UInt64($0 + 1) }
        #expect(try compare(records(all), records(all)).verdict == .kept)
        #expect(try compare(records(all), records(all, delay: 0.005)).verdict == .changed)
        #expect(try compare(records(all), records(all, delay: 0.3)).verdict == .lost)
        #expect(try compare(records(all), records(all, delay: -0.3)).sentence.contains("early"))
        // The pictures are as late.
        #expect(try compare(records(all), records(all, delay: 0.3), offset: 0.3).verdict == .kept)
        #expect(try compare(records(all), records(all + [9999])).verdict == .changed)
    }

    @Test func missingPackets() throws {
        let all = (0..<600).map { UInt64($0 + 1) }
        for gap in [0..<1, 300..<302, 599..<600, 100..<599] {
            var rest = records(all)
            rest.removeSubrange(gap)
            let item = try compare(records(all), rest)
            #expect(item.verdict == .lost)
            #expect(item.sentence.contains("\(gap.count) of 600 packets are missing"), "\(item.sentence)")
        }
        var other = all
        other[7] = 5000
        #expect(try compare(records(all), records(other)).verdict == .lost)
        #expect(try compare(records(all), []).verdict == .lost)
    }

    @Test func reencodedPackets() throws {
        let (old, new) = ((0..<100).map { UInt64($0 + 1) }, (0..<101).map { UInt64($0 + 1000) })
        #expect(try compare(records(old), records(new), codec: "alac").verdict == .changed)
        // Streams are copied: with the same codec, other packets are another stream.
        #expect(try compare(records(old), records(new)).sentence.contains("none of 100 packets is the input's"))
        #expect(try compare(records(old), records(new)).verdict == .lost)
        #expect(try compare(records(old), records(Array(new.prefix(50))), codec: "alac").verdict == .lost)
        #expect(try compare(records(old), records(new, delay: 0.3), codec: "alac").verdict == .lost)
    }

    /// Fewer channels, fewer samples per second and a gap are losses of sound that was re-encoded.
    @Test func formOfReencodedSound() throws {
        let (old, new) = (records((0..<100).map { UInt64($0 + 1) }), records((0..<100).map { UInt64($0 + 1000) }))
        let input = stream("aac")
        #expect(try compare(old, new, input, stream("alac", channels: 2)).sentence.contains("6 channels became 2"))
        #expect(try compare(old, new, input, stream("alac", channels: 2)).verdict == .lost)
        #expect(try compare(old, new, input, stream("alac", rate: 44_100)).verdict == .lost)
        #expect(try compare(old, new, input, stream("alac", channels: 8, rate: 96_000)).verdict == .changed)
        let gap = Array(new[..<40] + new[60...])
        let item = try compare(old, gap, input, stream("alac"))
        #expect(item.verdict == .lost && item.sentence.contains("1.600 s of 2.000 s"), "\(item.sentence)")
    }

    @Test func languages() throws {
        let all = records((0..<10).map { UInt64($0 + 1) })
        let (german, english) = (stream("aac", language: "ger"), stream("aac", language: "eng"))
        #expect(try compare(all, all, german, german).verdict == .kept)
        #expect(try compare(all, all, german, english).verdict == .lost)
        let item = try compare(all, all, german, stream("aac"))
        #expect(
            item.verdict == .lost && item.sentence.hasSuffix("its language is none, not ger"), "\(item.sentence)")
        #expect(try compare(all, all, stream("aac"), english).verdict == .kept)
        #expect(try compare(all, all, stream("aac", language: "und"), english).verdict == .kept)
    }

    /// The messages of a picture that the output lacks are missing too.
    @Test func messagesOfDroppedPictures() throws {
        for dropped in [0, 5, 9] {
            var comparison = CodedPictureComparison(tolerance: 0.4)
            for number in 0..<10 {
                var picture = CodedPicture(time: Double(number))
                (picture.rpu, picture.captions) = (UInt64(number), number == 5 ? 7 : nil)
                try comparison.add(picture, .input)
                if number != dropped { try comparison.add(picture, .output) }
            }
            comparison.finish()
            let items = comparison.items(AskedChanges())
            #expect(items.first?.sentence == "1 of 10 Dolby Vision RPUs is missing, at \(dropped).000 s")
            #expect(items.last?.verdict == (dropped == 5 ? .lost : .kept))
        }
    }

    /// A long input may have a short output, or one without coded pictures.
    @Test func picturesWithoutPartnersDoNotWait() throws {
        for length in [0, 10, 100] {
            var comparison = CodedPictureComparison(tolerance: 0.4)
            for number in 0..<70_000 {
                var picture = CodedPicture(time: Double(number))
                picture.rpu = UInt64(number)
                if number < length { try comparison.add(picture, .output) }
                if number == length { comparison.end(.output) }
                try comparison.add(picture, .input)
            }
            comparison.end(.input)
            comparison.finish()
            #expect(comparison.pairs == length && comparison.offset == 0)
            let item = try #require(comparison.items(AskedChanges()).first)
            let sentence =
                length == 0 ? "none of 70000 Dolby" : "\(70_000 - length) of 70000 Dolby Vision RPUs are missing"
            #expect(item.verdict == .lost && item.sentence.hasPrefix(sentence), "\(item.sentence)")
        }
    }

    @Test func metadataOfPictures() {
        func item(_ input: [UInt64?], _ output: [UInt64?], isRegenerated: Bool = false) -> ReceiptItem? {
            var comparison = MessageComparison(name: "rpu", title: "RPU")
            for (number, pair) in zip(input, output).enumerated() { comparison.add(Double(number), pair.0, pair.1) }
            return comparison.item(isRegenerated: isRegenerated)
        }
        #expect(item([nil, nil], [nil, nil]) == nil)
        #expect(item([1, 2, nil], [1, 2, nil])?.verdict == .kept)
        #expect(item([1, 2, 3], [1, 3, 2])?.sentence == "2 of 3 RPUs are exchanged, the first at 1.000 s")
        #expect(item([1, 2, 3], [1, nil, 3])?.sentence == "1 of 3 RPUs is missing, at 1.000 s")
        #expect(item([1, 2, 3], [1, 9, 3])?.sentence == "1 of 3 RPUs differs, at 1.000 s")
        #expect(item([1, 2, 3], [nil, nil, nil])?.verdict == .lost)
        #expect(item([nil, nil], [1, 2])?.verdict == .changed)
        #expect(item([1, 2], [8, 9], isRegenerated: true)?.verdict == .changed)
        #expect(item([1, 2], [8, nil], isRegenerated: true)?.verdict == .lost)
        // One that cannot be read is left out by an encode; one that was damaged on the way is lost.
        for (output, verdict) in [(nil, ReceiptVerdict.changed), (2, .kept), (9, .lost)]
            as [(UInt64?, ReceiptVerdict)]
        {
            var comparison = MessageComparison(name: "rpu", title: "RPU")
            comparison.add(0, 1, 1)
            comparison.add(1, 2, output, isDamaged: true)
            #expect(comparison.item(isRegenerated: false)?.verdict == verdict)
        }
    }
}
