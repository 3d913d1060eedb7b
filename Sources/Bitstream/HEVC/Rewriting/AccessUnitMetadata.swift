// SPDX-License-Identifier: MIT

/// The HDR metadata to insert into an access unit.
public struct AccessUnitMetadata: Hashable, Sendable {
    /// Messages for prefix SEI NAL units of the base layer, one NAL unit each.
    public var messages: [SEIMessage] = []
    /// Dolby Vision's RPU, a whole NAL unit of type 62; its header is replaced.
    public var rpu: [UInt8]?

    public var isEmpty: Bool { messages.isEmpty && rpu == nil }

    public init() {}

    /// Inserts the messages before the first slice segment, and the RPU as the last NAL unit.
    ///
    /// Decoders look for the RPU at the end of the access unit, behind the slices of every layer. Both get the TemporalId
    /// of their picture (H.265 7.4.2.2). A message about what the access unit has a message for already is left out.
    /// - Parameter sample: the access unit, with 4-byte lengths.
    /// - Returns: the messages that are left out although the access unit's own have other contents.
    /// - Throws: `malformed` where the access unit has no slice segment, and what reading its NAL units throws.
    @discardableResult
    public func insert(into sample: inout [UInt8]) throws(BitstreamError) -> [SEIMessage] {
        let place = try Place(in: sample)
        var prefix: [UInt8] = []
        var contradicted: [SEIMessage] = []
        for message in messages {
            if let payload = place.payloads[message.subject] {
                if payload != message.payload { contradicted.append(message) }
                continue
            }
            let header = NALUnitHeader(.prefixSEI, nuhTemporalIDPlus1: place.temporalID + 1)
            try LengthPrefixedNALUnits.append(try SEI(header: header, messages: [message]).nalUnit(), to: &prefix)
        }
        sample.insert(contentsOf: prefix, at: place.offset)
        guard let rpu else { return contradicted }
        let header = NALUnitHeader(.unspec62, nuhTemporalIDPlus1: place.temporalID + 1)
        try LengthPrefixedNALUnits.append(try header.bytes() + rpu.dropFirst(2), to: &sample)
        return contradicted
    }

    /// Where messages are inserted.
    private struct Place {
        /// The offset of the first slice segment's length.
        var offset = 0
        /// TemporalId of that segment.
        var temporalID = 0
        /// The messages before it.
        var payloads: [SEIMessage.Subject: [UInt8]] = [:]

        init(in sample: [UInt8]) throws(BitstreamError) {
            var units = try LengthPrefixedNALUnits(sample[...])
            while let nal = try units.next() {
                let header = try NALUnitHeader(nal: nal)
                if header.nalUnitType.isVCL {
                    temporalID = header.temporalID
                    return
                }
                // An SEI that cannot be read is the encoder's, and stays as it is.
                if header.nalUnitType == .prefixSEI, header.nuhLayerId == 0, let sei = try? SEI(nal: nal) {
                    for message in sei.messages { payloads[message.subject] = message.payload }
                }
                offset = nal.endIndex
            }
            throw BitstreamError(.malformed, "an access unit has no slice segment")
        }
    }
}
