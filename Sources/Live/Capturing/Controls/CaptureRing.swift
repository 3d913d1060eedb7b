// SPDX-License-Identifier: GPL-2.0-or-later
package import HWMovies

/// The packets of the last seconds, from a key frame on, as `--last` keeps them in memory.
package struct CaptureRing: Sendable {
    /// How packets are coded from one of a group on, and the number of that configuration.
    fileprivate struct Configured: Sendable {
        var configuration: CaptureFiles.Configuration
        var number: Int
        var index: Int
    }

    /// A key frame and the frames up to the next one.
    fileprivate struct Group: Sendable {
        /// How packets are coded, from one on.
        var configurations: [Configured]
        var packets: [CaptureFiles.Packet] = []
        var size = 0

        var begin: Int64 { packets.first?.time ?? 0 }
    }

    /// What a file gets.
    package struct Content: Sendable {
        fileprivate var groups: [Group]
        fileprivate var sound: [WrittenPacket]
        fileprivate var marks: [(title: String, time: Int64)]
        /// When it begins and ends, in ticks.
        var begin: Int64 { groups.first?.begin ?? end }
        fileprivate(set) var end: Int64
    }

    /// Ticks that are kept at least, where the bytes are not too many.
    private let duration: Int64
    /// Bytes of packets at most.
    private let maxSize: Int
    private let soundScale: Int64
    private var groups: [Group] = []
    private var sound: [WrittenPacket] = []
    private var marks: [(title: String, time: Int64)] = []
    /// The last one.
    private var configured: Configured?
    private var size = 0
    /// Whether frames of a group that is not kept follow, up to the next key frame.
    private var isSkipping = true
    /// Whether less than the duration was kept, because of the bytes.
    package private(set) var isShort = false
    package private(set) var frames = 0
    package var longestGap: Int64 { gaps.longest }
    private var gaps = CaptureGaps()

    /// Ticks that are kept beside the duration: a file is saved a moment after it is asked for.
    private static let slack = Int64(CaptureFiles.timeScale) * 2

    /// - Parameters:
    ///   - duration: in ticks.
    ///   - soundScale: ticks of sound a second.
    package init(duration: Int64, maxSize: Int, soundScale: UInt32?) {
        (self.duration, self.maxSize) = (duration, maxSize)
        self.soundScale = Int64(soundScale ?? CaptureFiles.timeScale)
    }

    package mutating func configure(_ configuration: CaptureFiles.Configuration) {
        let number = (configured?.number ?? 0) + 1
        configured = Configured(configuration: configuration, number: number, index: 0)
        // A source that is copied may change it between key frames; each time has its bytes.
        guard !isSkipping, let last = groups.indices.last else { return }
        groups[last].configurations.append(
            Configured(configuration: configuration, number: number, index: groups[last].packets.count))
        groups[last].size += configuration.size
        size += configuration.size
    }

    package mutating func append(_ packet: CaptureFiles.Packet) {
        gaps.add(packet.time, decodeTime: min(packet.decodeTime, packet.time))
        frames += 1
        if packet.isKey {
            groups.append(Group(configurations: configured.map { [$0] } ?? []))
            isSkipping = false
        }
        guard !isSkipping, let last = groups.indices.last else { return }
        groups[last].packets.append(packet)
        groups[last].size += packet.bytes.count
        size += packet.bytes.count
        trim(at: packet.time)
    }

    package mutating func append(sound packet: WrittenPacket) {
        sound.append(packet)
        size += packet.bytes.count
        guard size > maxSize else { return }
        trim(at: gaps.end ?? 0)
        if groups.isEmpty { (sound, size) = ([packet], packet.bytes.count) }
    }

    package mutating func mark(_ title: String, at time: Int64) {
        marks.append((title, time))
        // As many as a file of the recording has at most.
        if marks.count > CaptureMarks.greatestCount { marks.removeFirst() }
    }

    /// Gives up what is older than the duration, or too much.
    private mutating func trim(at time: Int64) {
        // Before frames: sound that no frame needs.
        if size > maxSize, let first = groups.first { removeSound(before: first.begin) }
        var dropped = 0
        while dropped < groups.count {
            let isLast = dropped + 1 == groups.count
            let isOld = !isLast && groups[dropped + 1].begin <= time - duration - Self.slack
            guard isOld || size > maxSize else { break }
            isShort = isShort || !isOld
            size -= groups[dropped].size
            dropped += 1
            // Sound that only this group has.
            let begin = dropped < groups.count ? groups[dropped].begin : time
            removeSound(before: begin)
        }
        guard dropped > 0 else { return }
        groups.removeFirst(dropped)
        isSkipping = groups.isEmpty
    }

    /// Removes sound before a time in ticks, but for a packet that a decoder needs first.
    private mutating func removeSound(before time: Int64) {
        let begin = samples(time)
        let count = (sound.firstIndex { $0.time + $0.duration > begin } ?? sound.count) - 1
        guard count > 0 else { return }
        size -= sound[..<count].reduce(0) { $0 + $1.bytes.count }
        sound.removeFirst(count)
    }

    /// Ticks as samples of the sound.
    private func samples(_ ticks: Int64) -> Int64 { ticks * soundScale / Int64(CaptureFiles.timeScale) }

    /// What a file that ends at a time has; nil where nothing is kept.
    package func content(until end: Int64) -> Content? {
        guard let first = groups.lastIndex(where: { $0.begin <= end - duration }) ?? groups.indices.first,
            groups[first].begin < end
        else { return nil }
        var kept = Array(groups[first...])
        while let last = kept.last, last.begin >= end { kept.removeLast() }
        if var last = kept.popLast() {
            while let packet = last.packets.last, packet.time >= end { last.packets.removeLast() }
            if let index = last.packets.indices.last {
                last.packets[index].duration = max(1, end - last.packets[index].time)
            }
            kept.append(last)
        }
        let (begin, soundEnd) = (samples(groups[first].begin), samples(end))
        let soundBegin = max(0, (sound.firstIndex { $0.time + $0.duration > begin } ?? sound.count) - 1)
        return Content(
            groups: kept, sound: Array(sound[soundBegin...].prefix { $0.time < soundEnd }), marks: marks, end: end)
    }
}

extension CaptureRing.Content {
    /// Writes it into files: as the recording would have been.
    package func write(to files: inout CaptureFiles, soundScale: UInt32?) throws(CaptureError) {
        for mark in marks where mark.time < end { files.mark(mark.title, at: mark.time) }
        let scale = Int64(soundScale ?? CaptureFiles.timeScale)
        var configurationNumber = 0
        var rest = sound[...]
        for group in groups {
            var configurations = group.configurations[...]
            for (index, packet) in group.packets.enumerated() {
                while let next = configurations.first, next.index <= index {
                    configurations.removeFirst()
                    guard next.number != configurationNumber else { continue }
                    configurationNumber = next.number
                    try files.configure(next.configuration)
                }
                while let next = rest.first, next.time * Int64(CaptureFiles.timeScale) / scale < packet.time {
                    _ = try files.append(sound: rest.removeFirst())
                }
                var packet = packet
                packet.begins = false
                _ = try files.append(packet)
            }
        }
        for packet in rest { _ = try files.append(sound: packet) }
        try files.finish(soundEnd: soundScale == nil ? nil : end * scale / Int64(CaptureFiles.timeScale))
    }
}
