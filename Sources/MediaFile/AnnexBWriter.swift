// SPDX-License-Identifier: GPL-2.0-or-later

/// Writes length-prefixed access units as a byte stream (H.265 Annex B).
struct AnnexBWriter: Sendable {
    private let sink: ByteSink
    private let parameterSets: [UInt8]
    private var buffer: [UInt8] = []

    private static let startCode: [UInt8] = [0, 0, 0, 1]
    /// `nal_unit_type` of an access unit delimiter and of a VPS (H.265 table 7-1).
    private static let delimiterType: UInt8 = 35
    private static let vpsType: UInt8 = 32
    private static let lengthSize = 4

    init(sink: ByteSink, parameterSets: ParameterSets) {
        self.sink = sink
        self.parameterSets = parameterSets.units.flatMap { Self.startCode + $0 }
    }

    /// Writes one access unit, parameter sets before a sync one that does not bring its own.
    /// - Throws: `usage` for lengths that do not add up to the access unit; `io`.
    mutating func write(_ accessUnit: UnsafeRawBufferPointer, isSync: Bool) throws(MediaError) {
        buffer.removeAll(keepingCapacity: true)
        var needsSets = isSync
        var position = 0
        while position < accessUnit.count {
            guard accessUnit.count - position >= Self.lengthSize else { throw Self.damaged }
            let length = (0..<Self.lengthSize).reduce(0) { $0 << 8 | Int(accessUnit[position + $1]) }
            position += Self.lengthSize
            guard length > 0, length <= accessUnit.count - position else { throw Self.damaged }
            let type = accessUnit[position] >> 1 & 0x3F
            // H.265 7.4.2.4.4: a delimiter comes first in its access unit, before the parameter sets.
            if needsSets, type != Self.delimiterType {
                if type != Self.vpsType { buffer += parameterSets }
                needsSets = false
            }
            buffer += Self.startCode
            buffer += accessUnit[position..<position + length]
            position += length
        }
        try sink.write(buffer)
    }

    func finish(sync: Bool) throws(MediaError) { try sink.finish(sync: sync) }

    func discard() { sink.discard() }

    private static let damaged = MediaError(.usage, "an access unit's NAL unit lengths do not add up to its size")
}
