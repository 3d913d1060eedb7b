// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDBoxes
internal import HWDEdits
internal import HWDLibAVReading
internal import HWDMetadata
internal import HWDModel

/// Reads the packets of a file for their comparison.
final class PacketFeed {
    /// What was read.
    enum Item {
        case picture(CodedPicture)
        case packet(PacketRecord, stream: Int)
    }

    let reader: MediaReader
    /// The time up to which the file was read, in seconds.
    private(set) var position = -Double.infinity
    /// Whether slices are digested.
    var digestsSlices: Bool

    /// Whether pictures are numbered instead of timed.
    private let countsPictures: Bool
    private let tick: Double
    private var coding: CodedPicture.Coding
    private var order: OutputOrder?
    private var queue = OutputQueue()
    private var last: CodedPicture?
    private var reductions: [Int: PacketReduction] = [:]
    private var ready: [Item] = []
    private var number = 0
    private var emitted = 0
    private var isEnded = false
    /// Leaves out what is not in a part of the file.
    private var trimmer: PacketTrimmer?

    /// - Parameter countsPictures: whether pictures are numbered, because one of the files stores no times.
    init(_ reader: MediaReader, countsPictures: Bool, digestsSlices: Bool) throws(MediaError) {
        self.reader = reader
        self.countsPictures = countsPictures
        self.digestsSlices = digestsSlices
        tick = reader.video.timeBase.value
        coding = CodedPicture.Coding(reader.video.codec, reader.video.codecConfiguration)
        if case .hevc = coding, reader.isUntimed { order = try OutputOrder(reader, try VideoCopy(reader)) }
        for stream in reader.otherStreams where [.audio, .subtitle].contains(stream.content) {
            reductions[stream.index] = PacketReduction(stream)
        }
    }

    /// Leaves out what is not in `range`, and packets that end before time 0, which are not heard; call it first.
    func trim(_ range: TimeRange?) { trimmer = PacketTrimmer(reader, range) }

    /// The next picture in output order, or packet of another stream; nil at the end.
    func next() throws(MediaError) -> Item? {
        while ready.isEmpty, !isEnded {
            switch try reader.next() {
            case .packet(let packet)? where packet.streamIndex == reader.video.streamIndex:
                try take(picture: packet)
            case .packet(let packet)?: take(other: packet)
            case .frame?: break
            case nil: try end()
            }
        }
        return ready.isEmpty ? nil : ready.removeFirst()
    }

    private func take(other packet: MediaPacket) {
        if let time = packet.dts ?? packet.pts { advance(to: Double(time) * packet.timeBase.value) }
        guard trimmer != nil else { return reduce(packet) }
        trimmer?.add(packet).forEach(reduce)
    }

    private func reduce(_ packet: MediaPacket) {
        let index = packet.streamIndex
        ready += (reductions[index]?.add(packet) ?? []).map { .packet($0, stream: index) }
    }

    private func advance(to time: Double) { position = max(position, time - (trimmer?.start ?? 0)) }

    private func take(picture packet: MediaPacket) throws(MediaError) {
        if let configuration = packet.newConfiguration {
            coding = CodedPicture.Coding(reader.video.codec, configuration)
        }
        let time =
            (packet.dts ?? packet.pts).map { Double($0) * tick } ?? Double(number) * reader.video.frameInterval
        advance(to: time)
        guard var order else {
            guard !packet.isDiscarded else { return }
            if case .hevc(.startCodes) = coding, packet.beginsInUpperLayer, last != nil {
                last?.add(packet, coding, digestsSlices: digestsSlices)
            } else {
                begin(packet, time: packet.pts.map { Double($0) * tick } ?? Double(number))
            }
            return
        }
        for timed in try order.add(packet) { begin(timed.packet, time: Double(timed.pts)) }
        self.order = order
    }

    /// Begins a picture, which ends the one before it.
    private func begin(_ packet: MediaPacket, time: Double) {
        flush()
        var picture = CodedPicture(time: time)
        // Pictures of H.264 without times are not in output order.
        let isOrdered = if case .h264 = coding { packet.pts != nil } else { true }
        if isOrdered { picture.add(packet, coding, digestsSlices: digestsSlices) }
        last = picture
        number += 1
    }

    private func flush() {
        guard let picture = last else { return }
        last = nil
        if let next = queue.add(picture) { emit(next) }
    }

    private func emit(_ picture: CodedPicture) {
        var picture = picture
        if var trimmer {
            // Pictures of a stream without times are numbered.
            let unit = order == nil ? tick : 1
            let time = trimmer.place(Int64((picture.time / unit).rounded()))
            let released = trimmer.release()
            self.trimmer = trimmer
            released.forEach(reduce)
            guard let time else { return }
            picture.time = Double(time) * unit
        }
        if countsPictures { picture.time = Double(emitted) }
        emitted += 1
        ready.append(.picture(picture))
    }

    private func end() throws(MediaError) {
        isEnded = true
        position = .infinity
        for timed in try order?.finish() ?? [] { begin(timed.packet, time: Double(timed.pts)) }
        flush()
        for picture in queue.finish() { emit(picture) }
        for (index, var reduction) in reductions.sorted(by: { $0.key < $1.key }) {
            ready += reduction.finish().map { .packet($0, stream: index) }
        }
    }
}
