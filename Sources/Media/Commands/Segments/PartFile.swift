// SPDX-License-Identifier: GPL-2.0-or-later
internal import Glibc
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel
internal import HWDSystem

/// A file that `hwctl encode --segment` wrote, opened once: what is checked is what is copied, even if another file gets
/// its name.
struct PartFile {
    let path: String
    let record: PartRecord
    private let file: InputFile

    /// Opens a part.
    /// - Throws: `badInput` for a file that is none; what `MediaReader` throws.
    init(_ path: String) throws(MediaError) {
        try InputFile.requireFile(path)
        let file = try InputFile(path, holdsMovie: true)
        guard file.isSeekable else { throw PartRecord.missing(path) }
        record = try PartRecord(try Self.reader(file))
        (self.path, self.file) = (path, file)
    }

    /// A reader of its packets, from the first on.
    func reader() throws(MediaError) -> MediaReader { try Self.reader(file) }

    private static func reader(_ file: InputFile) throws(MediaError) -> MediaReader {
        var options = MediaReader.Options()
        options.decoding = .disabled
        return try MediaReader(file, options: options)
    }

    /// The frames' times on the source's time line, in decoding order.
    struct Times {
        var times: [Int64]
        /// The most pictures that precede one in decoding order and follow it in presentation order.
        var reorderDepth: Int
    }

    /// Reads all packets, whose number must be that of the record, and compares the digest.
    /// - Throws: `badInput` for a damaged part.
    func times(_ cancel: (MediaReader) -> Void = { _ in }) throws(MediaError) -> Times {
        let reader = try reader()
        cancel(reader)
        let copy = try VideoCopy(reader)
        let scale = try scale(reader)
        let digest = try PacketDigest()
        var times: [Int64] = []
        while let item = try reader.next() {
            guard case .packet(let packet) = item, packet.streamIndex == reader.video.streamIndex else { continue }
            guard let pts = packet.pts, let time = scale.exact(pts), !packet.isTorn else { throw damaged }
            times.append(record.start + time)
            packet.withBytes { digest.add($0) }
        }
        guard times.count == record.frames, try hasDigest(packets: digest) else { throw damaged }
        let sorted = times.sorted()
        let isAscending = zip(sorted, sorted.dropFirst()).allSatisfy { $0 < $1 }
        let isInside = sorted.first.map { record.segment == 1 || $0 >= record.start } ?? false
        guard isAscending, isInside, sorted.last.map({ $0 <= record.end }) ?? false else { throw damaged }
        return Times(times: times, reorderDepth: max(copy.reorderDepth, Self.reordering(times, sorted)))
    }

    /// Whether the part's digest is the recorded one, with these packets.
    func hasDigest(packets: PacketDigest) throws(MediaError) -> Bool {
        try PartDigest.digest(of: file, packets: packets, recorded: record.digest) == record.digest
    }

    /// From the part's ticks to the source's.
    func scale(_ reader: MediaReader) throws(MediaError) -> TickScale {
        guard let base = Rational(text: record.timeBase),
            let scale = TickScale(from: reader.video.timeBase, to: base)
        else { throw damaged }
        return scale
    }

    /// Whether two names are those of one file that exists.
    static func isSame(_ one: String, _ other: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(FileName.bytes(one), &first) == 0, stat(FileName.bytes(other), &second) == 0 else {
            return false
        }
        return (first.st_dev, first.st_ino) == (second.st_dev, second.st_ino)
    }

    var damaged: MediaError {
        MediaError(.badInput, "\(path) is damaged: it does not hold the frames of segment \(record.segment)")
    }

    /// The error for a part whose contents changed after the check.
    var changed: MediaError { MediaError(.badInput, "\(path) has changed while it was joined") }

    /// By how many places a picture comes later in decoding order than in presentation order, at most.
    private static func reordering(_ times: [Int64], _ sorted: [Int64]) -> Int {
        var places: [Int64: Int] = [:]
        for (place, time) in sorted.enumerated() { places[time] = place }
        return times.enumerated().map { $0.offset - (places[$0.element] ?? 0) }.max() ?? 0
    }
}

/// Converts ticks of one time base to another where they are whole numbers of both.
struct TickScale {
    private let numerator: Int64
    private let denominator: Int64

    /// Nil for time bases that are not positive.
    init?(from: Rational, to: Rational) {
        let over = Int64(from.numerator) * Int64(to.denominator)
        let under = Int64(from.denominator) * Int64(to.numerator)
        guard over > 0, under > 0 else { return nil }
        let divisor = Self.divisor(over, under)
        (numerator, denominator) = (over / divisor, under / divisor)
    }

    /// The same time in the other base; nil where it lies between two ticks.
    func exact(_ ticks: Int64) -> Int64? {
        let (product, overflows) = ticks.multipliedReportingOverflow(by: numerator)
        guard !overflows, product % denominator == 0, Ticks.isPossible(product / denominator) else { return nil }
        return product / denominator
    }

    private static func divisor(_ first: Int64, _ second: Int64) -> Int64 {
        var (first, second) = (first, second)
        while second != 0 { (first, second) = (second, first % second) }
        return first
    }
}
