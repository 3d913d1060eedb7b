// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDControlCommands
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel

/// The loop of `hwctl encode --copy`: packets from the reader to the writer.
final class CopyPipeline {
    /// A picture is decoded after it is shown, as with negative composition offsets without an edit list.
    struct TimesDoNotFit: Error {}

    private let reader: MediaReader
    private var copy: VideoCopy
    private let writer: MediaWriter
    private let keepsPartial: Bool
    /// Whether decode times and durations are computed from the presentation times.
    private var restamps: Bool
    private var durations: DisplayDurations<MediaPacket>
    /// The times of a stream that stores none; nil for others.
    private var order: OutputOrder?
    /// Cuts the copy to a part in time; nil where all is copied.
    private var cut: CopyCut?
    private let edits: FileEdits
    private var lastDTS: Int64?

    /// Why the input ended early, if the packets before that are kept.
    private(set) var earlyEnd: EarlyEnd?
    private(set) var packets = 0
    private(set) var videoBytes = 0

    private var input: String { reader.path }

    /// A warning about leading pictures that were left out because no decoder can show them; nil without any.
    var undecodableWarning: String? {
        guard let count = order?.undecodable, count > 0 else { return nil }
        return
            "warning: \(count) leading pictures are left out: the stream begins after the pictures that they refer to"
    }

    init(
        _ reader: MediaReader, _ copy: VideoCopy, _ writer: MediaWriter, _ edits: FileEdits, restamps: Bool,
        keepsPartial: Bool
    ) throws(MediaError) {
        self.edits = edits
        cut = edits.range.map { CopyCut(reader, $0, isExact: edits.isExact) }
        self.reader = reader
        self.copy = copy
        self.writer = writer
        self.restamps = restamps
        self.keepsPartial = keepsPartial
        durations = DisplayDurations<MediaPacket>(reorderDepth: copy.reorderDepth)
        order = reader.isUntimed ? try OutputOrder(reader, copy) : nil
    }

    /// Copies to the end of the input.
    /// - Throws: `TimesDoNotFit` when a second attempt can do what this one cannot.
    func run(_ progress: inout Progress, _ interruption: Interruption) throws {
        do {
            while !(cut?.isEnded ?? false), let item = try reader.next() {
                if interruption.isSet { throw CommandFailure.interrupted }
                guard case .packet(let packet) = item else { continue }
                for packet in cut?.add(packet) ?? [packet] { try put(packet) }
                progress.update(done: packets)
            }
            for packet in cut?.finish() ?? [] { try put(packet) }
        } catch let error as MediaError {
            earlyEnd = EarlyEnd(error, keepsPartial: keepsPartial, frames: packets)
            guard earlyEnd != nil else { throw error }
        }
        if let end = reader.levels?.end { durations.pass(pts: end, duration: 0) }
        for timed in try order?.finish() ?? durations.finish() { try write(timed) }
        guard packets > 0 else {
            let range = edits.range.map { " from \(TimeRange.seconds($0.start)) on" } ?? ""
            throw MediaError(.badInput, "\(input) has no frames\(range)")
        }
    }

    /// A note about a copy that begins earlier than was requested; nil where it does not.
    var startNote: String? {
        guard let lead = cut?.lead, lead > 0, !edits.isExact else { return nil }
        return "the copy begins \(Progress.decimal(lead, 2)) s earlier, with a key frame; --exact hides that part"
    }

    private func put(_ packet: MediaPacket) throws {
        if packet.streamIndex == reader.video.streamIndex {
            try take(packet)
        } else {
            try writer.write(copied: packet)
        }
    }

    /// Writes a packet of the video, at once or when its duration is known.
    private func take(_ packet: MediaPacket) throws {
        if let timed = try order?.add(packet) {
            for timed in timed { try write(timed) }
            return
        }
        let pts = try checkedTime(packet)
        // Matroska stores no decode times: they are computed.
        if packets == 0, packet.dts == nil { restamps = true }
        if restamps {
            for timed in durations.add(packet, pts: pts, dts: packet.dts, duration: packet.duration) {
                try write(timed)
            }
            return
        }
        if let dts = packet.dts, dts > pts, reader.file.isSeekable { throw TimesDoNotFit() }
        try write(.init(packet: packet, pts: pts, dts: packet.dts ?? pts, duration: packet.duration))
    }

    /// The presentation time of a packet that can be copied.
    private func checkedTime(_ packet: MediaPacket) throws(MediaError) -> Int64 {
        guard let pts = packet.pts else {
            throw MediaError(.badInput, "\(input): a packet of the video has no timestamp")
        }
        guard Ticks.isPossible(pts), packet.dts.map(Ticks.isPossible) ?? true else {
            throw MediaError(.badInput, "\(input): a packet of the video has an impossible timestamp, \(pts)")
        }
        // In a byte stream decoders find the next start code; after a wrong length they find nothing.
        guard !packet.isTorn || reader.video.codecConfiguration.first != 1 else {
            throw MediaError(
                .badInput, "\(input): the file ends, or is damaged, within packet \(packets + 1) of the video")
        }
        return pts
    }

    private func write(_ timed: DisplayDurations<MediaPacket>.Timed) throws(MediaError) {
        let isSync = timed.packet.isSync
        // libavformat's muxer takes durations of 31 bits.
        guard timed.dts <= timed.pts, lastDTS.map({ $0 < timed.dts }) ?? true, timed.duration <= Int64(Int32.max)
        else {
            throw MediaError(
                .badInput, "\(input): the timestamps of packet \(packets + 1) of the video cannot be kept")
        }
        lastDTS = timed.dts
        let sample = try copy.sample(timed.packet)
        if let configuration = sample.configuration { try writer.change(to: configuration) }
        try timed.packet.withBytes { (bytes) throws(MediaError) in
            func write(_ sample: UnsafeRawBufferPointer) throws(MediaError) {
                videoBytes += sample.count
                try writer.write(
                    sample, pts: timed.pts, dts: timed.dts, duration: timed.duration, isSync: isSync,
                    isShown: !timed.packet.isDiscarded)
            }
            guard let contents = sample.bytes else { return try write(bytes) }
            var failure: MediaError?
            contents.withUnsafeBytes { bytes in
                do throws(MediaError) { try write(bytes) } catch { failure = error }
            }
            if let failure { throw failure }
        }
        packets += 1
    }
}
