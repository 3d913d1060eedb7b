// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC
public import HWDMetadata

/// Derives the times of an elementary stream's pictures, which it does not store, from its picture order counts.
///
/// One tick is one picture. Pictures are counted in output order, by the bumping process of H.265 C.5.2, and decoded
/// `reorderDepth` ticks early.
public struct OutputOrder {
    /// A packet with its times.
    public typealias Timed = DisplayDurations<MediaPacket>.Timed

    private struct Picture {
        var packet: MediaPacket
        var orderCount: Int
        /// Its number in output order, once that is certain.
        var position: Int64?
    }

    /// Leading pictures that no decoder shows, because the stream begins behind their references; they are left out.
    public private(set) var undecodable = 0

    private let path: String
    private let reorderDepth: Int
    private var sets: ParameterSets
    private var counter = PictureOrderCount()
    /// Whether RASL pictures belong to a key frame at which decoding starts (NoRaslOutputFlag, 8.1.3).
    private var skipsRASL = false
    private var startsSequence = true
    /// The first packet of an access unit, which another may complete.
    private var held: MediaPacket?
    private var queue: [Picture] = []
    private var decodeCount: Int64 = 0
    private var outputCount: Int64 = 0

    /// Pictures that wait because one before them in decoding order is not output yet: far more than any decoder stores.
    private static let maxQueued = 1024
    /// Bytes of an access unit of several layers, whether they are separate packets or one.
    private static let maxAccessUnit = 64 << 20

    /// The order of a reader's video, with the reordering depth of its copy.
    /// - Throws: `badInput` for damaged parameter sets.
    public init(_ reader: MediaReader, _ copy: VideoCopy) throws(MediaError) {
        path = reader.path
        reorderDepth = min(16, copy.reorderDepth)
        do throws(BitstreamError) {
            sets = try ParameterSets(
                nalUnits: HEVCConfiguration(reader.video.codecConfiguration).nalUnits.filter {
                    (try? NALUnitHeader(nal: $0))?.nalUnitType.isParameterSet ?? false
                })
        } catch {
            throw MediaError(.badInput, "\(path): the parameter sets are damaged: \(error.reason)")
        }
    }

    /// Adds a packet in decoding order; returns the packets whose times are now certain.
    /// - Throws: `badInput` for a slice header that cannot be parsed, an order that never becomes certain and an access
    ///   unit of more than 64 MiB; `io` when memory runs out.
    public mutating func add(_ packet: MediaPacket) throws(MediaError) -> [Timed] {
        guard packet.byteCount <= Self.maxAccessUnit || !packet.hasUpperLayers else { throw tooLarge }
        guard let first = held else {
            held = packet
            return []
        }
        if packet.beginsInUpperLayer {
            // Demuxers without support for layers split access units there.
            guard first.byteCount + packet.byteCount <= Self.maxAccessUnit else { throw tooLarge }
            guard let joined = MediaPacket(joining: first, packet) else {
                throw MediaError(.io, "\(path): out of memory")
            }
            held = joined
            return []
        }
        held = packet
        return try take(first)
    }

    private var tooLarge: MediaError {
        MediaError(.badInput, "\(path): the layers of a picture have more than \(Self.maxAccessUnit) bytes")
    }

    /// The packets that are left at the end.
    public mutating func finish() throws(MediaError) -> [Timed] {
        var timed: [Timed] = []
        if let last = held { timed = try take(last) }
        held = nil
        output(downTo: 0)
        return timed + ready()
    }

    private mutating func take(_ packet: MediaPacket) throws(MediaError) -> [Timed] {
        do throws(BitstreamError) {
            let units = packet.withBytes { AnnexB.NALUnits(Array($0)).map { Array($0) } }
            guard let (slice, sps) = try slice(units) else { return [] }
            let type = slice.header.nalUnitType
            if type.isIRAP {
                skipsRASL = startsSequence || type.isIDR || type.isBLA
                // Pictures before it precede it in output order.
                if skipsRASL { output(downTo: 0) }
                startsSequence = false
            }
            let orderCount = counter.next(slice, sps: sps)
            if units.contains(where: { (try? NALUnitHeader(nal: $0))?.nalUnitType == .eos }) { endSequence() }
            if type.isRASL, skipsRASL {
                undecodable += 1
                return []
            }
            guard queue.count < Self.maxQueued else {
                throw BitstreamError(
                    .malformed, "a picture precedes \(Self.maxQueued) others that follow it in decoding order")
            }
            queue.append(Picture(packet: packet, orderCount: orderCount))
            output(downTo: min(16, sps.orderingInfo.highest.maxNumReorderPics))
        } catch {
            throw MediaError(.badInput, "\(path): the order of its pictures cannot be read: \(error.reason)")
        }
        return ready()
    }

    private mutating func endSequence() {
        counter.endOfSequence()
        startsSequence = true
    }

    /// The header of the base layer's first slice, after the parameter sets before it; nil without a slice.
    private mutating func slice(
        _ units: [[UInt8]]
    ) throws(BitstreamError) -> (SliceSegmentHeader, SequenceParameterSet)? {
        for unit in units {
            let header = try NALUnitHeader(nal: unit)
            if header.nalUnitType.isParameterSet, header.nuhLayerId == 0 { try sets.add(nal: unit[...]) }
            guard header.nalUnitType.isSlice, header.nuhLayerId == 0 else { continue }
            let slice = try SliceSegment(nal: unit, parameterSets: sets).sliceHeader
            return (slice, try sets.active(ppsId: slice.slicePicParameterSetId).sps)
        }
        return nil
    }

    /// Outputs pictures in the order of their counts until at most `limit` wait.
    private mutating func output(downTo limit: Int) {
        while true {
            let waiting = queue.indices.filter { queue[$0].position == nil }
            guard waiting.count > limit, let next = waiting.min(by: { queue[$0].orderCount < queue[$1].orderCount })
            else { return }
            queue[next].position = outputCount
            outputCount += 1
        }
    }

    /// Removes the packets at the front whose positions are known.
    private mutating func ready() -> [Timed] {
        let count = queue.firstIndex { $0.position == nil } ?? queue.count
        defer { queue.removeFirst(count) }
        return queue.prefix(count).map { picture in
            defer { decodeCount += 1 }
            return Timed(
                packet: picture.packet, pts: picture.position ?? 0, dts: decodeCount - Int64(reorderDepth),
                duration: 1)
        }
    }
}
