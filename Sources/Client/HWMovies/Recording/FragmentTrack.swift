// SPDX-License-Identifier: MIT
internal import HWDBoxes
internal import HWDHEVC

/// The packets of a track that are not written yet, and the boxes of the fragment that they become (ISO/IEC 14496-12 8.8).
struct FragmentTrack {
    let id: UInt32
    private(set) var packets: [WrittenPacket] = []
    /// The decode time at which the media's time line begins, and the first time that is shown.
    ///
    /// A track without packets in the first fragment has the movie's time line.
    private(set) var begin: (decode: Int64, shown: Int64) = (0, 0)
    /// How the packets' times say what a fragment's do.
    private let isVideo: Bool
    private let isHEVC: Bool
    private let rollDistance: Int16?

    init(_ id: UInt32, isVideo: Bool, isHEVC: Bool = true, rollDistance: Int16? = nil) {
        (self.id, self.isVideo, self.isHEVC, self.rollDistance) = (id, isVideo, isHEVC, rollDistance)
    }

    var isEmpty: Bool { packets.isEmpty }
    /// Bytes of the packets.
    var size: Int { packets.reduce(0) { $0 + $1.bytes.count } }
    /// The decode time of the last packet.
    var lastTime: Int64? { packets.last?.decodeTime }

    /// Fixes where the track begins, before the movie box is written.
    mutating func setBegin() {
        begin = (packets.first?.decodeTime ?? 0, packets.map(\.time).min() ?? 0)
    }

    mutating func append(_ packet: WrittenPacket) { packets.append(packet) }
    mutating func removeAll() { packets.removeAll(keepingCapacity: true) }

    /// `trex` of a track whose samples have no defaults (8.8.3).
    var defaults: Box { Box("trex", [UInt8](bigEndian: [0, id, 1, 0, 0, 0])) }

    /// The `traf` box.
    ///
    /// - Parameters:
    ///   - entry: the number of the sample entry.
    ///   - next: the decode time of the packet behind the last; nil where it is not known.
    ///   - offset: where the data begins, from the first byte of the `moof`.
    ///   - annotations: without pictures, for those of this fragment.
    func box(
        entry: Int, next: Int64?, offset: Int, _ annotations: PictureAnnotations?
    ) throws(MovieError) -> Box {
        let groups = try self.groups(annotations)
        // default-base-is-moof, sample-description-index.
        let header = Box("tfhd", [UInt8](bigEndian: [0x02_0002, id, UInt32(entry)]))
        var time: [UInt8] = [1, 0, 0, 0]
        time.appendBigEndian(UInt64(max(0, (packets.first?.decodeTime ?? 0) - begin.decode)))
        let isShifted = packets.contains { $0.time != $0.decodeTime }
        // Offset, durations, sizes, flags, and composition times where they differ.
        var run = [UInt8](bigEndian: [isShifted ? 0xF01 : 0x701, UInt32(packets.count), UInt32(offset)])
        run.reserveCapacity(run.count + 16 * packets.count)
        for (number, packet) in packets.enumerated() {
            let following = number + 1 < packets.count ? packets[number + 1].decodeTime : next
            run.appendBigEndian(UInt32(following.map { $0 - packet.decodeTime } ?? packet.duration))
            run.appendBigEndian(UInt32(packet.bytes.count))
            run.appendBigEndian(flags(packet, number, groups.dependencies))
            if isShifted { run.appendBigEndian(UInt32(packet.time - packet.decodeTime)) }
        }
        return Box("traf", children: [header, Box("tfdt", time), Box("trun", run)] + groups.boxes)
    }

    /// `sample_flags` (8.8.3.1): the dependencies, and whether decoding can begin with the sample.
    private func flags(_ packet: WrittenPacket, _ number: Int, _ dependencies: ArraySlice<UInt8>) -> UInt32 {
        // Sound depends on nothing.
        guard isVideo else { return 0x0200_0000 }
        let isKey =
            isHEVC
            ? packet.bytes.withUnsafeBytes { SampleKind($0, .lengths(4)) }?.isIRAP ?? false : packet.isKeyFrame
        let known: UInt8 = isKey ? 0x20 : 0x10
        let byte = dependencies.count > number ? dependencies[dependencies.startIndex + number] : known
        return UInt32(byte) << 20 | (isKey ? 0 : 0x1_0000)
    }

    /// The sample groups of a table, with the numbers of a fragment's own descriptions, and the dependencies.
    private func groups(
        _ annotations: PictureAnnotations?
    ) throws(MovieError) -> (boxes: [Box], dependencies: ArraySlice<UInt8>) {
        var table = Box("stbl", children: [Box("stsz", [UInt8](bigEndian: [0, 0, UInt32(packets.count)]))])
        if var annotations {
            for packet in packets { packet.bytes.withUnsafeBytes { annotations.note($0) } }
            try checkingBoxes { () throws(BoxError) in try annotations.write(into: &table) }
        } else if let rollDistance {
            var group = SampleGroup(roll: rollDistance)
            for _ in packets { group.append(1) }
            table.children += group.boxes
        }
        var boxes: [Box] = []
        for description in table.children where description.type == "sgpd" {
            guard let type = description.fields.fourCC(at: 4),
                var group = try checkingBoxes({ () throws(BoxError) in try SampleGroup(type, in: table) })
            else { continue }
            // 8.9.4: a fragment numbers its own descriptions from 65537.
            for index in group.runs.indices where group.runs[index].index > 0 {
                group.runs[index].index += 0x1_0000
            }
            boxes += group.boxes
        }
        return (boxes, table.first("sdtp")?.fields.dropFirst(4) ?? [])
    }
}

extension SampleGroup {
    /// `roll` (10.1): how many packets a decoder needs before the one it begins with.
    init(roll distance: Int16) {
        self.init(
            "roll", entries: [[UInt8(truncatingIfNeeded: distance >> 8), UInt8(truncatingIfNeeded: distance)]])
    }
}
