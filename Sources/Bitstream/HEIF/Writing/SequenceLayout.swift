// SPDX-License-Identifier: MIT
internal import HWDBoxes

/// The layout of a HEIC file that is an image sequence: `ftyp`, `meta`, `moov`, then the data in `mdat`.
///
/// The cover is an item whose bytes are those of a picture of the track. In `mdat` each picture is followed by its alpha.
public struct SequenceLayout: Sendable {
    private let file: SequenceFile
    private let fileType: Box
    private let meta: MetaWriter
    /// The items of the cover and of its alpha.
    private let parts: [StillPart]
    private let duration: UInt64

    /// Lays out a file.
    ///
    /// - Throws: `malformed` for a sequence without pictures, without time, or with a turned picture; what `StillLayout`
    ///   throws.
    public init(_ file: SequenceFile) throws(HEIFError) {
        guard file.durations.indices.contains(file.cover), file.timeScale > 0,
            file.picture.orientation == .upright, file.durations.count <= HEIFLimits.sequencePictures
        else {
            throw HEIFError(
                .malformed,
                "a sequence needs 1 to \(HEIFLimits.sequencePictures) upright pictures, one of them its cover")
        }
        duration = file.durations.reduce(0) { $0 + UInt64($1) }
        guard !file.durations.contains(0), duration <= UInt64(UInt32.max) else {
            throw HEIFError(.malformed, "a sequence's pictures last from 1 to \(UInt32.max) ticks together")
        }
        self.file = file
        var still = StillFile([file.picture])
        if let alpha = file.alpha.flatMap({ StillAuxiliary(.alpha, $0) }) { still.auxiliaries = [alpha] }
        var builder = LayoutBuilder()
        try builder.add(still)
        (meta, parts) = (builder.meta, builder.parts)
        guard parts.count == (file.alpha == nil ? 1 : 2) else {
            throw HEIFError(.malformed, "a sequence's pictures have one tile each")
        }
        fileType = try Brands.sequence(of: still).box
    }

    /// The whole file.
    ///
    /// - Parameters:
    ///   - pictures: the coded pictures, as of `StillPart.Content.tile`.
    ///   - alpha: as many of alpha; none without.
    /// - Throws: `malformed` for other numbers of them; `limit` for a file of more than 4 GiB.
    public func file(_ pictures: [[UInt8]], alpha: [[UInt8]] = []) throws(HEIFError) -> [UInt8] {
        let count = file.durations.count
        guard pictures.count == count, alpha.count == (file.alpha == nil ? 0 : count),
            !pictures.contains([]), !alpha.contains([])
        else { throw HEIFError(.malformed, "\(count) coded pictures are needed for the sequence") }
        let tracks = alpha.isEmpty ? [pictures] : [pictures, alpha]
        // Offsets have fixed widths, so that the size of what precedes the data does not depend on them.
        let empty = try head(
            [[UInt32]](repeating: [UInt32](repeating: 0, count: count), count: tracks.count), tracks)
        var (position, offsets) = (
            UInt64(empty.count + Box.headerSize), [[UInt32]](repeating: [], count: tracks.count)
        )
        for number in 0..<count {
            for (track, samples) in tracks.enumerated() {
                offsets[track].append(UInt32(truncatingIfNeeded: position))
                position += UInt64(samples[number].count)
            }
        }
        guard position <= UInt64(UInt32.max) else { throw HEIFError(.limit, "the sequence has more than 4 GiB") }
        var bytes = try head(offsets, tracks)
        bytes.reserveCapacity(Int(position))
        bytes.appendBigEndian(UInt32(position - UInt64(empty.count)))
        bytes.appendBigEndian(("mdat" as FourCC).rawValue)
        for number in 0..<count {
            for samples in tracks { bytes += samples[number] }
        }
        return bytes
    }

    /// What precedes the data.
    private func head(_ offsets: [[UInt32]], _ tracks: [[[UInt8]]]) throws(HEIFError) -> [UInt8] {
        var locations: [UInt32: (offset: UInt64, length: UInt64)] = [:]
        // The parts are the cover, then its alpha.
        for (track, part) in parts.enumerated() {
            locations[part.item] = (UInt64(offsets[track][file.cover]), UInt64(tracks[track][file.cover].count))
        }
        var boxes = [movieHeader(tracks.count)]
        for (track, samples) in tracks.enumerated() {
            let writer = TrackWriter(
                file: file, isAlpha: track == 1, sizes: samples.map { UInt32(truncatingIfNeeded: $0.count) },
                offsets: offsets[track], duration: UInt32(truncatingIfNeeded: duration))
            boxes.append(try writer.box())
        }
        return fileType.bytes + meta.box(locations: locations).bytes + Box("moov", children: boxes).bytes
    }

    private func movieHeader(_ tracks: Int) -> Box {
        var bytes: [UInt8] = [0, 0, 0, 0]
        let times = [0, 0, file.timeScale, UInt32(truncatingIfNeeded: duration), 0x0001_0000]
        for number in times { bytes.appendBigEndian(number) }
        // Volume 1, then reserved fields.
        bytes += [1, 0] + [UInt8](repeating: 0, count: 10)
        bytes += [UInt8](bigEndian: Box.identityMatrix)
        bytes += [UInt8](repeating: 0, count: 24)
        bytes.appendBigEndian(UInt32(tracks + 1))
        return Box("mvhd", bytes)
    }
}
