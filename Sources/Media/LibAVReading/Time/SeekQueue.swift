// SPDX-License-Identifier: GPL-2.0-or-later
internal import CHWDLibAV
internal import HWDLibAV
internal import HWDMetadata
internal import HWDModel

/// What a demuxer returns first after it has moved within its file.
package struct SeekQueue {
    /// Packets that were read in search of the key frame.
    private var packets: [MediaPacket] = []
    /// The time of the key frame; nil once a picture behind it was returned.
    private var keyTime: Int64?
    private var isPastKey = false

    /// Moves the next of the packets into `packet`; false where there is none.
    mutating func take(into packet: UnsafeMutablePointer<AVPacket>) -> Bool {
        guard !packets.isEmpty else { return false }
        let next = packets.removeFirst()
        withExtendedLifetime(next) { av_packet_move_ref(packet, next.packet) }
        return true
    }

    /// Whether a packet of the video is a picture before the key frame in presentation order: it refers to pictures that
    /// were not decoded.
    mutating func drops(_ packet: AVPacket) -> Bool {
        guard let keyTime else { return false }
        guard isPastKey else {
            isPastKey = true
            return false
        }
        let isLeading = packet.pts != clibav_no_pts() && packet.pts < keyTime
        if !isLeading { self.keyTime = nil }
        return isLeading
    }

    /// Adds a packet; returns whether it is the key frame that is looked for, and nil for a packet of another stream.
    mutating func add(_ packet: MediaPacket, of video: Int, notAfter time: Int64) -> Bool? {
        packets.append(packet)
        guard packet.streamIndex == video else { return nil }
        guard packet.isSync, let pts = packet.pts, Ticks.isPossible(pts), pts <= time else { return false }
        keyTime = pts
        return true
    }
}

extension Demuxer {
    /// Distances in microseconds before the wanted time at which a key frame is looked for.
    ///
    /// In files with reordered pictures the key frame at an earlier decoding time may be shown later. The first distance is
    /// also enough for the decoders of sound to begin.
    private static let margins: [Int64] = [500_000, 3_000_000, 15_000_000]
    /// The most packets that are read in search of one of the video.
    private static let maxPackets = 4096

    /// Moves to a key frame, such that each picture at `time` or later can be decoded.
    ///
    /// - Parameter time: microseconds of the file's own times.
    /// - Returns: false where none was found; the position is then unknown, and the file must be opened again.
    func seek(to time: Int64) throws(MediaError) -> Bool {
        guard let video, let base = Rational(positive: video.time_base) else { return false }
        func ticks(_ microseconds: Int64) -> Int64 { av_rescale_q(microseconds, clibav_time_base(), base.libAV) }
        for margin in Self.margins {
            let code = av_seek_frame(context, Int32(videoIndex), ticks(time - margin), AVSEEK_FLAG_BACKWARD)
            guard code >= 0 else { return false }
            var queue = SeekQueue()
            if try find(&queue, notAfter: ticks(time)) {
                moved = queue
                tally.beginWithin()
                return true
            }
        }
        return false
    }

    /// Reads up to the first packet of the video; returns whether it is a key frame that is not after `time`.
    private func find(_ queue: inout SeekQueue, notAfter time: Int64) throws(MediaError) -> Bool {
        var packet = av_packet_alloc()
        defer { av_packet_free(&packet) }
        guard let packet else { throw MediaError(.io, "\(path): out of memory") }
        for _ in 0..<Self.maxPackets {
            guard try readAny(into: packet),
                let base = stream(Int(packet.pointee.stream_index)).flatMap({
                    Rational(positive: $0.pointee.time_base)
                }),
                let read = MediaPacket(moving: packet, timeBase: base)
            else { return false }
            if let isFound = queue.add(read, of: videoIndex, notAfter: time) { return isFound }
        }
        return false
    }
}

extension LibAVSource.Opening {
    /// Opens a file, at a key frame before `Options.start` where the format allows that, else at its beginning.
    static func positioned(
        _ file: InputFile, _ options: MediaReader.Options, _ cancelFlag: CancelFlag
    ) throws(MediaError) -> LibAVSource.Opening {
        let opening = try LibAVSource.Opening(file, options, cancelFlag)
        guard let start = options.start, start > 0, file.isSeekable, opening.canSeek, options.maxLevel == nil,
            let microsecond = Rational(1, 1_000_000)
        else { return opening }
        let offset = opening.demuxer.timeline(opening.streamsRead).initialOffset(in: microsecond)
        return try opening.demuxer.seek(to: start - offset)
            ? opening : try LibAVSource.Opening(file, options, cancelFlag)
    }

    /// Whether the format has an index of key frames, and nothing depends on the packets before: several sample entries
    /// are distinguished by the order of the samples.
    private var canSeek: Bool {
        guard let name = demuxer.context.pointee.iformat?.pointee.name, sampleEntries.count < 2 else {
            return false
        }
        return demuxer.isMovie || String(cString: name).hasPrefix("matroska")
    }
}
