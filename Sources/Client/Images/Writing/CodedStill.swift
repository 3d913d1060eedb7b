// SPDX-License-Identifier: MIT
package import HWDHEIF
internal import HWDHEVC

/// A coded picture: how it is described in a file, and the data of its tiles.
package struct CodedStill: Sendable {
    package var picture: StillPicture
    /// In rows from the top left; of a sequence, its pictures.
    package let tiles: [[UInt8]]

    /// A picture whose tiles one session coded.
    ///
    /// - Parameters:
    ///   - record: the session's hvcC record, which is labeled as a still picture's.
    ///   - packets: a key frame for each tile, or for each picture of a sequence.
    ///   - inSequence: whether they are the pictures of a sequence.
    /// - Throws: `unsupported` for streams that cannot be still pictures.
    package init(
        width: Int, height: Int, record: [UInt8], packets: [[UInt8]], inSequence: Bool = false
    ) throws(ImageError) {
        do throws(BitstreamError) {
            let record = try DecoderConfigurationRecord(bytes: record)
            let labeled = try record.relabelledAsStill(inSequence: inSequence)
            picture = StillPicture(width: width, height: height, configuration: labeled)
            var tiles: [[UInt8]] = []
            for packet in packets { tiles.append(try Self.slices(packet)) }
            self.tiles = tiles
        } catch {
            throw ImageError(.unsupported, "the coded picture cannot be a still one: \(error.reason)")
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

extension CodedStill {
    /// Samples of a row of a tile, by the SPS.
    var tileWidth: Int {
        let units = picture.configuration.arrays.first { $0.nalUnitType == .sps }?.nalUnits
        let sps = units?.first.flatMap { try? SequenceParameterSet(nal: $0) }
        return max(1, sps?.width ?? 1)
    }
}
