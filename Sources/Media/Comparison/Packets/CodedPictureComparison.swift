// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDEdits
internal import HWDMetadata

/// Compares the coded pictures of two files by their times: their dynamic metadata, and whether they are the same.
struct CodedPictureComparison {
    /// The seconds by which the output's pictures are later; known once enough pictures were read.
    private(set) var offset: Double?
    /// Pictures that both files have.
    private(set) var pairs = 0
    private var equalSlices = 0
    private var rpu = MessageComparison(name: "rpu", title: "Dolby Vision RPU")
    private var hdr10Plus = MessageComparison(name: "hdr10+", title: "HDR10+ message")
    private var captions = MessageComparison(name: "captions", title: "caption message")
    private var waiting: (input: ArraySlice<CodedPicture>, output: ArraySlice<CodedPicture>) = ([], [])
    /// Files that have no further picture.
    private var isEnded = (input: false, output: false)
    private let tolerance: Double

    /// Pictures of the input among which the output's first one is looked for.
    private static let startWindow = 64
    /// Pictures of one file that may wait for the other's.
    private static let maxWaiting = 1 << 16
    /// Pictures after which slices are not compared any more if none was equal.
    private static let sliceWindow = 8

    /// - Parameter tolerance: the largest difference of the times of one picture.
    init(tolerance: Double) { self.tolerance = tolerance }

    /// Whether all coded pictures of the output are the input's own.
    var isCopied: Bool { pairs > 0 && equalSlices == pairs }
    /// Whether the digests of slices can still show that pictures are copied.
    var needsSlices: Bool { equalSlices > 0 || pairs < Self.sliceWindow }

    /// Adds the next picture of one of the files in output order.
    mutating func add(_ picture: CodedPicture, _ side: StreamComparison.Side) throws(MediaError) {
        switch side {
        case .input where isEnded.output && waiting.output.isEmpty: return miss(picture)
        case .output where isEnded.input && waiting.input.isEmpty: return
        case .input: waiting.input.append(picture)
        case .output: waiting.output.append(picture)
        }
        guard waiting.input.count + waiting.output.count <= Self.maxWaiting else {
            throw MediaError(.unsupported, "the files' pictures are too far apart to be compared")
        }
        if offset == nil, isEnded.input || waiting.input.count >= Self.startWindow, !waiting.output.isEmpty {
            findOffset()
        }
        if offset != nil { match(isLast: false) }
    }

    /// Ends one of the files: the pictures that only the other one has need not wait.
    mutating func end(_ side: StreamComparison.Side) {
        if side == .input { isEnded.input = true } else { isEnded.output = true }
        if offset != nil { match(isLast: false) }
        guard isEnded.output, waiting.output.isEmpty else { return }
        waiting.input.forEach { miss($0) }
        waiting.input = []
    }

    /// Compares what is left.
    mutating func finish() {
        findOffset()
        match(isLast: true)
    }

    /// The items of dynamic metadata.
    func items(_ asked: AskedChanges) -> [ReceiptItem] {
        [rpu, hdr10Plus, captions].compactMap { $0.item(isRegenerated: asked.hdr == .regenerate) }
    }

    /// An output whose first picture has the time of some picture of the input is not displaced.
    private mutating func findOffset() {
        guard offset == nil else { return }
        guard let start = waiting.output.first?.time, let from = waiting.input.first?.time else {
            return offset = 0
        }
        let isThere = waiting.input.contains { abs($0.time - start) <= tolerance }
        offset = isThere || start == from ? 0 : start - from
    }

    private mutating func match(isLast: Bool) {
        while let first = waiting.input.first, let second = waiting.output.first {
            let difference = second.time - (offset ?? 0) - first.time
            if abs(difference) <= tolerance {
                pair(first, second)
                waiting.input.removeFirst()
                waiting.output.removeFirst()
            } else if difference > 0 {
                miss(waiting.input.removeFirst())
            } else {
                waiting.output.removeFirst()
            }
        }
        guard isLast else { return }
        waiting.input.forEach { miss($0) }
        waiting = ([], [])
    }

    /// Counts the messages of a picture that the output does not have.
    private mutating func miss(_ picture: CodedPicture) {
        rpu.add(picture.time, picture.rpu, nil, isDamaged: picture.isRPUDamaged)
        hdr10Plus.add(picture.time, picture.hdr10Plus, nil)
        captions.add(picture.time, picture.captions, nil)
    }

    private mutating func pair(_ first: CodedPicture, _ second: CodedPicture) {
        pairs += 1
        if let slices = first.slices, slices == second.slices { equalSlices += 1 }
        rpu.add(first.time, first.rpu, second.rpu, isDamaged: first.isRPUDamaged)
        hdr10Plus.add(first.time, first.hdr10Plus, second.hdr10Plus)
        captions.add(first.time, first.captions, second.captions)
    }
}

/// Compares one kind of metadata, picture by picture.
struct MessageComparison {
    private let name: String
    private let title: String
    private var inInput = 0
    private var inOutput = 0
    private var missing: (count: Int, times: [Double]) = (0, [])
    private var added = 0
    /// Messages of the input that cannot be read and that the output does not have.
    private var damaged = 0
    private var others: (count: Int, list: [(time: Double, input: UInt64, output: UInt64)]) = (0, [])

    init(name: String, title: String) { (self.name, self.title) = (name, title) }

    /// - Parameter isDamaged: whether the input's cannot be read.
    mutating func add(_ time: Double, _ input: UInt64?, _ output: UInt64?, isDamaged: Bool = false) {
        if isDamaged, output == nil { return damaged += 1 }
        if input != nil { inInput += 1 }
        if output != nil { inOutput += 1 }
        switch (input, output) {
        case (nil, nil): break
        case (nil, _?): added += 1
        case (_?, nil):
            missing.count += 1
            if missing.times.count < ReceiptItem.maxDetails { missing.times.append(time) }
        case (let old?, let new?) where old != new:
            others.count += 1
            if others.list.count < ReceiptItem.maxDetails { others.list.append((time, old, new)) }
        default: break
        }
    }

    /// The line; nil where neither file has any.
    func item(isRegenerated: Bool) -> ReceiptItem? {
        guard inInput > 0 || inOutput > 0 else {
            return damaged > 0 ? ReceiptItem(name, .changed, "none of the input's can be read") : nil
        }
        let all = ReceiptText.count(inInput, title)
        if inInput == 0 { return ReceiptItem(name, .changed, "\(ReceiptText.count(inOutput, title)) added") }
        if inOutput == 0 { return ReceiptItem(name, .lost, "none of \(all) is there") }
        if missing.count > 0 {
            let places = ReceiptText.places(missing.times, count: missing.count)
            return ReceiptItem(
                name, .lost, "\(missing.count) of \(all) \(missing.count == 1 ? "is" : "are") missing, \(places)",
                details: missing.times.map { "missing at \(ReceiptText.time($0))" })
        }
        if isRegenerated, others.count + added > 0 {
            return ReceiptItem(name, .changed, "\(ReceiptText.count(inOutput, title)), regenerated")
        }
        if others.count > 0 { return displaced(all) }
        if added > 0 { return ReceiptItem(name, .changed, "\(all) kept, \(added) added") }
        if damaged > 0 {
            return ReceiptItem(
                name, .changed, "\(all) kept; \(damaged) of the input cannot be read and are left out")
        }
        return ReceiptItem(name, .kept, "\(all), byte for byte at \(inInput == 1 ? "its time" : "their times")")
    }

    private func displaced(_ all: String) -> ReceiptItem {
        let details = others.list.map { entry in
            let owner = others.list.first { $0.input == entry.output && $0.time != entry.time }
            let place = "at \(ReceiptText.time(entry.time))"
            return owner.map { "\(place) is the one of \(ReceiptText.time($0.time))" } ?? "\(place) differs"
        }
        let isExchange = others.list.allSatisfy { entry in others.list.contains { $0.input == entry.output } }
        let what = isExchange ? "are exchanged" : others.count == 1 ? "differs" : "differ"
        let places = ReceiptText.places(others.list.map(\.time), count: others.count)
        return ReceiptItem(name, .lost, "\(others.count) of \(all) \(what), \(places)", details: details)
    }
}
