// SPDX-License-Identifier: GPL-2.0-or-later
internal import HWDHEVC

/// Writes length-prefixed access units as a byte stream (H.265 Annex B).
struct AnnexBWriter: Sendable {
    private let sink: ByteSink
    private var parameterSets: [UInt8]
    /// Whether the parameter sets precede the next access unit, even if decoding cannot start with it.
    private var isChanged = false
    private var buffer: [UInt8] = []

    init(sink: ByteSink, record: DecoderConfigurationRecord) {
        self.sink = sink
        parameterSets = Self.bytes(record)
    }

    /// Changes the parameter sets from the next access unit on.
    mutating func change(to record: DecoderConfigurationRecord) {
        parameterSets = Self.bytes(record)
        isChanged = true
    }

    private static func bytes(_ record: DecoderConfigurationRecord) -> [UInt8] {
        var bytes: [UInt8] = []
        for unit in record.nalUnits { AnnexB.append(unit, to: &bytes) }
        return bytes
    }

    /// Writes one access unit, with parameter sets before a sync one that has none.
    /// - Throws: `usage` for lengths that do not match the access unit; `io`.
    mutating func write(_ accessUnit: UnsafeRawBufferPointer, isSync: Bool) throws(MediaError) {
        buffer.removeAll(keepingCapacity: true)
        do throws(BitstreamError) {
            var needsSets = isSync || isChanged
            isChanged = false
            var units = try LengthPrefixedNALUnits(Array(accessUnit)[...])
            while let unit = try units.next() {
                let type = try NALUnitHeader(nal: unit).nalUnitType
                // H.265 7.4.2.4.4: a delimiter precedes the parameter sets.
                if needsSets, type != .aud {
                    if type != .vps { buffer += parameterSets }
                    needsSets = false
                }
                AnnexB.append(unit, to: &buffer)
            }
        } catch {
            throw MediaError(.usage, "an access unit is damaged: \(error.reason)")
        }
        try sink.write(buffer)
    }

    func finish(sync: Bool) throws(MediaError) { try sink.finish(sync: sync) }

    func discard() { sink.discard() }
}
