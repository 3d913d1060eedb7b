// SPDX-License-Identifier: GPL-2.0-or-later

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
    /// of their picture (H.265 7.4.2.2). A message whose type the access unit has already is left out.
    /// - Parameter sample: the access unit, with 4-byte lengths.
    /// - Throws: what parsing the access unit throws; `malformed` where it has no slice segment.
    public func insert(into sample: inout [UInt8], temporalID: Int) throws(BitstreamError) {
        let (offset, types) = try Self.prefix(of: sample)
        var prefix: [UInt8] = []
        for message in messages where !types.contains(message.payloadType) {
            let header = NALUnitHeader(.prefixSEI, nuhTemporalIDPlus1: temporalID + 1)
            try LengthPrefixedNALUnits.append(try SEI(header: header, messages: [message]).nalUnit(), to: &prefix)
        }
        sample.insert(contentsOf: prefix, at: offset)
        guard let rpu else { return }
        let header = NALUnitHeader(.unspec62, nuhTemporalIDPlus1: temporalID + 1)
        try LengthPrefixedNALUnits.append(try header.bytes() + rpu.dropFirst(2), to: &sample)
    }

    /// The offset of the first slice segment's length, and the payload types of the messages before it.
    private static func prefix(of sample: [UInt8]) throws(BitstreamError) -> (offset: Int, types: Set<Int>) {
        var units = try LengthPrefixedNALUnits(sample[...])
        var (offset, types) = (0, Set<Int>())
        while let nal = try units.next() {
            let type = try NALUnitHeader(nal: nal).nalUnitType
            if type.isVCL { return (offset, types) }
            if type == .prefixSEI { types.formUnion(try SEI(nal: nal).messages.map(\.payloadType)) }
            offset = nal.endIndex
        }
        throw BitstreamError(.malformed, "an access unit has no slice segment")
    }
}
