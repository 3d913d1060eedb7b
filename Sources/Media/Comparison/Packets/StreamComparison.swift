// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDMetadata

/// Compares the packets of a stream of audio or subtitles, as both files are read.
struct StreamComparison {
    enum Side { case input, output }

    private let name: String
    private let number: Int
    private let description: String
    private let isSameCodec: Bool
    private let isPCM: Bool
    private let isSubtitle: Bool
    private let codecs: String
    /// What the streams' descriptions say that the output has lost, in a sentence; nil where nothing is.
    private let lostForm: String?
    private let lostLanguage: String?
    private var waiting: (input: ArraySlice<PacketRecord>, output: ArraySlice<PacketRecord>) = ([], [])
    private var equal = 0
    private var differing = 0
    private var missing: (count: Int, times: [Double]) = (0, [])
    private var added = 0
    /// The extremes of the output's times less the input's.
    private var delays: ClosedRange<Double>?
    private var input = Extent()
    private var output = Extent()

    /// The first and last time of a stream.
    private struct Extent {
        var count = 0
        var start: Double?
        var end: Double?
        /// The sum of the packets' durations.
        var duration = 0.0

        mutating func add(_ record: PacketRecord) {
            count += 1
            duration += record.duration
            guard let time = record.time else { return }
            start = min(start ?? time, time)
            end = max(end ?? time, time + record.duration)
        }
    }

    /// Packets that are searched for the counterpart of one that has none at its place.
    private static let window = 256
    /// The most packets that wait for the other file's.
    private static let maxWaiting = 1 << 20
    /// The largest delay that is the same to a listener, and the one up to which it is only a rounding.
    private static let tolerance = 0.010
    private static let rounding = 0.002
    /// The largest difference of the ends of a re-encoded stream: encoders add a frame at each, of 128 ms at 8 kHz.
    private static let codedTolerance = 0.15

    init(_ input: OtherStream, _ output: OtherStream, number: Int) {
        name = input.content == .audio ? "audio" : "subtitle"
        self.number = number
        description = input.description
        isSameCodec = input.codec == output.codec
        isPCM = input.codec.hasPrefix("pcm_")
        isSubtitle = input.content == .subtitle
        codecs = isSameCodec ? input.codec : "\(input.codec) became \(output.codec)"
        lostForm = Self.lostForm(input, output)
        let language = input.language.flatMap { $0 == "und" ? nil : $0 }
        lostLanguage = language.flatMap { language in
            output.language == language ? nil : "its language is \(output.language ?? "none"), not \(language)"
        }
    }

    /// Fewer channels or samples per second.
    private static func lostForm(_ input: OtherStream, _ output: OtherStream) -> String? {
        if let old = input.channels, let new = output.channels, new < old {
            return "\(ReceiptText.count(old, "channel")) became \(new)"
        }
        if let old = input.sampleRate, let new = output.sampleRate, new < old {
            return "\(old) samples per second became \(new)"
        }
        return nil
    }

    /// Adds the next packet of one of the files.
    mutating func add(_ record: PacketRecord, _ side: Side) throws(MediaError) {
        switch side {
        case .input:
            waiting.input.append(record)
            input.add(record)
        case .output:
            waiting.output.append(record)
            output.add(record)
        }
        guard waiting.input.count + waiting.output.count <= Self.maxWaiting else {
            throw MediaError(.unsupported, "\(description): the files' streams are too far apart to be compared")
        }
        match(isLast: false)
    }

    private mutating func match(isLast: Bool) {
        var (old, new) = waiting
        while let first = old.first, let second = new.first {
            if first.digest == second.digest {
                pair(first, second)
            } else {
                guard isLast || min(old.count, new.count) >= Self.window || !isSameCodec else { break }
                let window = isLast ? Int.max : Self.window
                let inOutput = new.prefix(window).firstIndex { $0.digest == first.digest }
                let inInput = old.prefix(window).firstIndex { $0.digest == second.digest }
                if let index = inInput, inOutput.map({ $0 - new.startIndex >= index - old.startIndex }) ?? true {
                    old[..<index].forEach { miss($0) }
                    old = old[index...]
                    continue
                } else if let index = inOutput {
                    added += index - new.startIndex
                    new = new[index...]
                    continue
                }
                differing += 1
            }
            old.removeFirst()
            new.removeFirst()
        }
        if isLast {
            old.forEach { miss($0) }
            added += new.count
            (old, new) = ([], [])
        }
        waiting = (old, new)
    }

    private mutating func pair(_ first: PacketRecord, _ second: PacketRecord) {
        equal += 1
        guard let from = first.time, let to = second.time else { return }
        let delay = to - from
        delays = delays.map { min($0.lowerBound, delay)...max($0.upperBound, delay) } ?? delay...delay
    }

    private mutating func miss(_ record: PacketRecord) {
        missing.count += 1
        if missing.times.count < ReceiptItem.maxDetails, let time = record.time { missing.times.append(time) }
    }

    /// The stream's line.
    ///
    /// - Parameter offset: the seconds by which the output's pictures are later than the input's.
    mutating func finish(offset: Double) -> ReceiptItem {
        match(isLast: true)
        // PCM that begins a few samples later has no equal record.
        let isCopy = isSameCodec && (equal > 0 || !isPCM)
        var (verdict, sentence) = isCopy || input.count == 0 ? identical(offset) : transcoded(offset)
        if let lostLanguage { (verdict, sentence) = (.lost, "\(sentence); \(lostLanguage)") }
        return ReceiptItem(
            name, verdict, "\(description): \(sentence)",
            details: missing.times.map { "missing: the packet at \(ReceiptText.time($0))" }, number: number)
    }

    private func identical(_ offset: Double) -> (ReceiptVerdict, String) {
        let of = "of \(ReceiptText.count(input.count, "packet"))"
        if equal == 0, input.count > 0, output.count > 0 { return (.lost, "none \(of) is the input's") }
        if missing.count > 0 || differing > 0 {
            var sentence = "\(missing.count + differing) \(of) are missing or differ"
            if let old = input.end, let new = output.end, new - offset < old - Self.codedTolerance {
                sentence += ", it ends at \(ReceiptText.time(new)) instead of \(ReceiptText.time(old + offset))"
            }
            return (.lost, sentence)
        }
        let shift = delays.map { max(abs($0.lowerBound - offset), abs($0.upperBound - offset)) } ?? 0
        if shift > Self.tolerance {
            let delay =
                delays.map {
                    abs($0.lowerBound - offset) > abs($0.upperBound - offset) ? $0.lowerBound : $0.upperBound
                } ?? 0
            let direction = delay - offset > 0 ? "late" : "early"
            return (
                .lost,
                "\(input.count) packets are identical and up to \(ReceiptText.milliseconds(shift)) \(direction)"
            )
        }
        let sentence = "\(ReceiptText.count(input.count, "packet")), identical"
        if added > 0 { return (.changed, "\(sentence); \(added) were added") }
        if shift > Self.rounding {
            return (.changed, "\(sentence), times moved by up to \(ReceiptText.milliseconds(shift))")
        }
        return (.kept, sentence)
    }

    private func transcoded(_ offset: Double) -> (ReceiptVerdict, String) {
        guard let from = input.start, let end = input.end, let newStart = output.start, let newEnd = output.end
        else {
            return (.lost, "\(codecs): it has no packets with times in both files")
        }
        let (atStart, atEnd) = (newStart - offset - from, newEnd - offset - end)
        guard abs(atStart) <= Self.codedTolerance, abs(atEnd) <= Self.codedTolerance else {
            return (
                .lost,
                "re-encoded (\(codecs)), from \(ReceiptText.time(newStart)) to \(ReceiptText.time(newEnd)) instead of "
                    + "\(ReceiptText.time(from + offset)) to \(ReceiptText.time(end + offset))"
            )
        }
        if let lostForm { return (.lost, "re-encoded (\(codecs)): \(lostForm)") }
        // Cues of subtitles may have other durations; the middle of sound may not be missing.
        // Matroska stores no durations of some codecs' packets.
        if !isSubtitle, output.duration > 0, output.duration < input.duration - Self.codedTolerance {
            return (
                .lost,
                "re-encoded (\(codecs)): \(ReceiptText.time(output.duration)) of "
                    + "\(ReceiptText.time(input.duration)) are there"
            )
        }
        return (.changed, "re-encoded (\(codecs)), \(ReceiptText.time(end - from)) as before")
    }
}
