// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDCoding
internal import HWDLibAVReading
internal import HWDLibAVWriting
internal import HWDMetadata
internal import HWDModel

/// The packets of all parts, one after another, at the times that one encoder would give them.
final class JoinedPackets {
    /// The number of packets.
    let count: Int
    private(set) var written = 0
    private(set) var byteCount = 0

    private let parts: [PartFile]
    /// Presentation times in decoding order and in presentation order.
    private let times: [Int64]
    private let sorted: [Int64]
    /// By presentation time, as the source has them.
    private let durations: [Int64: Int64]
    private let end: Int64
    private var decodeTimes: DecodeTimes
    private var next = 0
    /// The part that is being read.
    private var present: Open?

    private struct Open {
        let part: PartFile
        let reader: MediaReader
        var copy: VideoCopy
        /// Of the packets that were copied.
        let digest: PacketDigest
        /// Whether none of its packets was returned.
        var isFresh = true
        var left: Int
    }

    /// Reads and checks all parts.
    ///
    /// - Parameters:
    ///   - parts: in the order of their segments.
    ///   - cancel: called for each reader, which an interruption must cancel.
    /// - Throws: `badInput` for a damaged part, and for pictures that are there twice.
    init(
        _ parts: [PartFile], _ source: SegmentScan, _ cancel: (MediaReader) -> Void
    ) throws(MediaError) {
        self.parts = parts
        durations = Dictionary(zip(source.times, source.durations)) { first, _ in first }
        var (times, depth) = ([Int64](), 0)
        for part in parts {
            let found = try part.times(cancel)
            times += found.times
            depth = max(depth, found.reorderDepth)
        }
        (self.times, count, sorted) = (times, times.count, times.sorted())
        for (one, other) in zip(sorted, sorted.dropFirst()) where one >= other {
            throw MediaError(.badInput, "two segments have a picture of the same time")
        }
        end = parts.last?.record.end ?? 0
        decodeTimes = DecodeTimes(reorderDepth: depth, nominalDuration: end - (sorted.first ?? 0))
        for time in sorted { decodeTimes.frameIn(pts: time) }
    }

    /// The video track of the first part, as `hwctl encode` described it.
    func track() throws -> VideoTrack {
        let first = try current()
        return VideoTrack(first.reader.video, hvcC: first.copy.hvcC)
    }

    /// Writes the next packet; false where there is none.
    ///
    /// - Throws: `badInput`, at the last packet of a part whose contents are not those that were checked; the output must
    ///   not be finished then.
    @discardableResult
    func write(to writer: MediaWriter) throws -> Bool {
        guard written < count else { return false }
        var now = try current()
        guard let packet = try Self.nextPacket(now.reader) else { throw now.part.changed }
        packet.withBytes { now.digest.add($0) }
        if now.isFresh { try writer.change(to: TrackConfiguration(hvcC: now.copy.hvcC)) }
        let sample = try now.copy.sample(packet)
        if let configuration = sample.configuration { try writer.change(to: configuration) }
        now.isFresh = false
        now.left -= 1
        let pts = times[written]
        guard let dts = decodeTimes.next() else { throw now.part.damaged }
        func write(_ bytes: UnsafeRawBufferPointer) throws(MediaError) {
            byteCount += bytes.count
            try writer.write(bytes, pts: pts, dts: dts, duration: duration(pts), isSync: packet.isSync)
        }
        if let bytes = sample.bytes {
            try bytes.withUnsafeBytes { try write($0) }
        } else {
            try packet.withBytes { (bytes) throws(MediaError) in try write(bytes) }
        }
        written += 1
        present = now.left > 0 ? now : nil
        if present == nil, try !now.part.hasDigest(packets: now.digest) { throw now.part.changed }
        return true
    }

    /// The duration of the source's picture; for a time that the source does not have, until the next picture.
    private func duration(_ pts: Int64) -> Int64 {
        if let duration = durations[pts] { return duration }
        var (low, high) = (0, sorted.count)
        while low < high {
            let middle = (low + high) / 2
            if sorted[middle] <= pts { low = middle + 1 } else { high = middle }
        }
        return max(0, (low < sorted.count ? sorted[low] : end) - pts)
    }

    /// The part of the next packet.
    private func current() throws(MediaError) -> Open {
        if let present { return present }
        let part = parts[next]
        let reader = try part.reader()
        let opened = Open(
            part: part, reader: reader, copy: try VideoCopy(reader), digest: try PacketDigest(),
            left: part.record.frames)
        next += 1
        present = opened
        return opened
    }

    private static func nextPacket(_ reader: MediaReader) throws(MediaError) -> MediaPacket? {
        while let item = try reader.next() {
            if case .packet(let packet) = item, packet.streamIndex == reader.video.streamIndex { return packet }
        }
        return nil
    }
}
