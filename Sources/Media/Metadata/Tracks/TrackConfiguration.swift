// SPDX-License-Identifier: GPL-2.0-or-later
package import HWDBoxes
package import HWDHEVC

/// The parameter sets of a track's packets from some packet on.
public struct TrackConfiguration: Hashable, Sendable {
    /// The HEVCDecoderConfigurationRecord, for NAL unit lengths of 4 bytes.
    public var hvcC: [UInt8]
    /// Whether the record adds parameter sets to the one before, without changing any.
    package var isExtension = false
    /// The boxes of the source's sample entry; nil where the parameter sets change within its samples.
    package var boxes: [Box]?

    /// A configuration that is described by its record alone.
    public init(hvcC: [UInt8]) { self.hvcC = hvcC }

    /// The parsed record.
    /// - Throws: `usage` for a record that is damaged or not for lengths of 4 bytes.
    package func record() throws(MediaError) -> DecoderConfigurationRecord {
        let record: DecoderConfigurationRecord
        do throws(BitstreamError) {
            record = try DecoderConfigurationRecord(bytes: hvcC)
        } catch {
            throw MediaError(.usage, "the hvcC record is damaged: \(error.reason)")
        }
        guard record.lengthSize == 4 else {
            throw MediaError(.usage, "the hvcC record is for NAL unit lengths of \(record.lengthSize) bytes, not 4")
        }
        return record
    }
}
