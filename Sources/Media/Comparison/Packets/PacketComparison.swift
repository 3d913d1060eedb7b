// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Compares the packets of two files, which are read side by side.
struct PacketComparison {
    private(set) var pictures: CodedPictureComparison
    /// Whether each of the files stores no times: pictures are numbered then.
    let isUntimed: (input: Bool, output: Bool)
    var countsPictures: Bool { isUntimed.input || isUntimed.output }
    /// The largest difference of the times of one picture, in seconds.
    let tolerance: Double

    private let feeds: [(feed: PacketFeed, side: StreamComparison.Side)]
    private var streams: [StreamComparison] = []
    /// The place in `streams` for a stream of each file.
    private var places: (input: [Int: Int], output: [Int: Int]) = ([:], [:])
    /// The titles and flags of the streams.
    private var tracks = TrackComparison()
    /// Items of streams that only one file has.
    private var single: [ReceiptItem] = []

    /// - Parameter range: the part of the input that the output has; nil for all of it.
    init(_ input: MediaReader, _ output: MediaReader, _ range: TimeRange?) throws(MediaError) {
        // The times of Y4M and of pictures follow from a rate.
        let isCounted = [input, output].map { $0.isUntimed || $0.file.kind != .media }
        isUntimed = (isCounted[0], isCounted[1])
        // Half of a frame's time is nearer to the next one.
        let interval = min(input.video.frameInterval, output.video.frameInterval)
        tolerance = max(0.45 * interval, max(input.video.timeBase.value, output.video.timeBase.value) / 2 + 1e-6)
        let counts = isCounted[0] || isCounted[1]
        pictures = CodedPictureComparison(tolerance: counts ? 0.5 : tolerance)
        let areHEVC = input.video.codec == "hevc" && output.video.codec == "hevc"
        var feeds: [(PacketFeed, StreamComparison.Side)] = []
        for (reader, side) in [(input, StreamComparison.Side.input), (output, .output)]
        where !reader.decodesInProcess {
            let feed = try PacketFeed(reader, countsPictures: counts, digestsSlices: areHEVC)
            if let range { feed.trim(side == .input ? range : nil) }
            feeds.append((feed, side))
        }
        self.feeds = feeds
        pairStreams(input.otherStreams, output.otherStreams)
    }

    /// Pairs streams of one codec, language and order first, then those of one kind.
    private mutating func pairStreams(_ input: [OtherStream], _ output: [OtherStream]) {
        for content in [OtherStream.Content.audio, .subtitle] {
            let old = input.filter { $0.content == content }
            var new = output.filter { $0.content == content }
            var partners: [Int: OtherStream] = [:]
            let rules: [(OtherStream, OtherStream) -> Bool] = [
                { $0.codec == $1.codec && $0.language == $1.language }, { $0.codec == $1.codec }, { _, _ in true },
            ]
            for rule in rules {
                for stream in old where partners[stream.index] == nil {
                    guard let place = new.firstIndex(where: { rule(stream, $0) }) else { continue }
                    partners[stream.index] = new.remove(at: place)
                }
            }
            for (number, stream) in old.enumerated() {
                guard let partner = partners[stream.index] else {
                    var item = ReceiptItem(
                        content.rawValue, .lost, "\(stream.description): the output does not have it",
                        number: number + 1)
                    if stream.isOfOtherProgram { item.expected = OtherStream.otherProgram }
                    single.append(item)
                    continue
                }
                (places.input[stream.index], places.output[partner.index]) = (streams.count, streams.count)
                streams.append(StreamComparison(stream, partner, number: number + 1))
                tracks.add(stream, partner)
            }
            for (number, stream) in new.enumerated() {
                single.append(
                    ReceiptItem(
                        content.rawValue, .changed, "\(stream.description) was added",
                        number: old.count + number + 1))
            }
        }
    }

    /// Reads both files to their ends.
    mutating func run(isInterrupted: () -> Bool) throws(MediaError) {
        var open = feeds
        // Y4M and series of pictures have no coded pictures.
        for side in [StreamComparison.Side.input, .output] where !feeds.contains(where: { $0.side == side }) {
            pictures.end(side)
        }
        // The file that is behind is read next, so that little waits for its counterpart.
        while let place = open.indices.min(by: { open[$0].feed.position < open[$1].feed.position }) {
            if isInterrupted() { throw MediaError(.interrupted, "interrupted") }
            let (feed, side) = open[place]
            switch try feed.next() {
            case .picture(let picture)?:
                try pictures.add(picture, side)
                if !pictures.needsSlices { feed.digestsSlices = false }
            case .packet(let record, let stream)?:
                let places = side == .input ? places.input : places.output
                if let number = places[stream] { try streams[number].add(record, side) }
            case nil:
                pictures.end(side)
                open.remove(at: place)
            }
        }
        pictures.finish()
    }

    /// The items of streams and of dynamic metadata.
    mutating func items(_ asked: AskedChanges) -> [ReceiptItem] {
        let offset = countsPictures ? 0 : pictures.offset ?? 0
        let compared = streams.indices.map { streams[$0].finish(offset: offset) }
        return single + compared + [tracks.item].compactMap { $0 } + pictures.items(asked)
    }
}

extension VideoDescription {
    /// The usual seconds from a picture to the next.
    var frameInterval: Double {
        let rate = (averageFrameRate ?? baseFrameRate)?.value ?? 0
        return (1e-4...10).contains(1 / rate) ? 1 / rate : 0.04
    }
}
