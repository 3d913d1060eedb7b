// SPDX-License-Identifier: GPL-2.0-or-later
public import HWDHEIF
internal import HWDHEVC

/// A coded picture: how it is described in a file, and the data of its tiles.
public struct CodedStill: Sendable {
    public var picture: StillPicture
    /// In rows from the top left; of a sequence, its pictures.
    public let tiles: [[UInt8]]

    /// A picture whose tiles one session coded.
    ///
    /// - Parameters:
    ///   - record: the session's hvcC record, which is labeled as a still picture's.
    ///   - packets: a key frame for each tile, or for each picture of a sequence.
    ///   - inSequence: whether they are the pictures of a sequence.
    /// - Throws: `unsupported` for streams that cannot be still pictures.
    public init(
        width: Int, height: Int, record: [UInt8], packets: [[UInt8]], inSequence: Bool = false
    ) throws(MediaError) {
        do throws(BitstreamError) {
            let record = try DecoderConfigurationRecord(bytes: record)
            let labeled = try record.relabelledAsStill(inSequence: inSequence)
            picture = StillPicture(width: width, height: height, configuration: labeled)
            var tiles: [[UInt8]] = []
            for packet in packets { tiles.append(try Self.slices(packet)) }
            self.tiles = tiles
        } catch {
            throw MediaError(.unsupported, "the coded picture cannot be a still one: \(error.reason)")
        }
    }

    /// The slices of a packet: parameter sets are in the record, and messages belong to videos.
    private static func slices(_ packet: [UInt8]) throws(BitstreamError) -> [UInt8] {
        var (units, bytes) = (try LengthPrefixedNALUnits(packet[...]), [UInt8]())
        bytes.reserveCapacity(packet.count)
        while let unit = try units.next() {
            let type = try NALUnitHeader(nal: unit).nalUnitType
            guard type.rawValue < 32 else { continue }
            guard (16...21).contains(type.rawValue) else {
                throw BitstreamError(.unsupported, "a tile is no key frame")
            }
            let length = UInt32(unit.count)
            bytes += [
                UInt8(length >> 24), UInt8(length >> 16 & 255), UInt8(length >> 8 & 255), UInt8(length & 255),
            ]
            bytes += unit
        }
        guard !bytes.isEmpty else { throw BitstreamError(.unsupported, "a tile has no slice") }
        return bytes
    }
}

/// A HEIC file that is written in one piece.
public struct StillFileContents: Sendable {
    /// Several are a burst.
    public var pictures: [CodedStill]
    /// The picture that is shown first, by its index.
    public var primary = 0
    public var thumbnail: CodedStill?
    public var auxiliaries: [Auxiliary] = []
    /// A TIFF structure.
    public var exif: [UInt8]?
    public var xmp: [UInt8]?

    /// An auxiliary picture of one of the pictures.
    public struct Auxiliary: Sendable {
        public var kind: AuxiliaryKind
        public var still: CodedStill
        /// The picture that it belongs to, by its index.
        public var master: Int
        /// For alpha: the picture's samples are multiplied by it.
        public var isPremultiplied = false
        public var xmp: [UInt8]?

        public init(_ kind: AuxiliaryKind, _ still: CodedStill, of master: Int) {
            (self.kind, self.still, self.master) = (kind, still, master)
        }
    }

    public init(_ pictures: [CodedStill]) { self.pictures = pictures }

    /// Writes the file.
    ///
    /// - Returns: its bytes.
    /// - Throws: `unsupported` for what a HEIC file cannot hold; `cannotCreate`, `io`.
    public func write(to path: String, inputs: [String]) throws(MediaError) -> Int {
        let bytes: [UInt8]
        do throws(HEIFError) {
            let layout = try StillLayout(description())
            bytes = try layout.file(layout.parts.map { data(of: $0.content) })
        } catch { throw MediaError(error, path) }
        try WholeFile.write(bytes, to: path, inputs: inputs)
        return bytes.count
    }

    private func description() -> StillFile {
        var file = StillFile(pictures.map(\.picture))
        file.primary = primary
        file.thumbnail = thumbnail?.picture
        file.auxiliaries = auxiliaries.compactMap { auxiliary in
            guard var still = StillAuxiliary(auxiliary.kind, auxiliary.still.picture) else { return nil }
            (still.isPremultiplied, still.hasXMP) = (auxiliary.isPremultiplied, auxiliary.xmp != nil)
            still.master = auxiliary.master
            return still
        }
        (file.hasExif, file.hasXMP) = (exif != nil, xmp != nil)
        return file
    }

    private func data(of content: StillPart.Content) -> [UInt8] {
        switch content {
        case .exif: return ExifItem.bytes(tiff: exif ?? [])
        case .xmp(.auxiliary(let index)): return auxiliaries[index].xmp ?? []
        case .xmp: return xmp ?? []
        case .tile(let role, let row, let column):
            let still: CodedStill? =
                switch role {
                case .thumbnail: thumbnail
                case .picture(let index): pictures[index]
                case .auxiliary(let index): auxiliaries[index].still
                }
            guard let still else { return [] }
            let columns = (still.picture.width + still.tileWidth - 1) / still.tileWidth
            return still.tiles[row * columns + column]
        }
    }
}

extension CodedStill {
    /// Samples of a row of a tile, by the SPS.
    fileprivate var tileWidth: Int {
        let units = picture.configuration.arrays.first { $0.nalUnitType == .sps }?.nalUnits
        let sps = units?.first.flatMap { try? SequenceParameterSet(nal: $0) }
        return max(1, sps?.width ?? 1)
    }
}
