// SPDX-License-Identifier: GPL-2.0-or-later

/// The parameter sets of an HEVCDecoderConfigurationRecord (`hvcC`, ISO/IEC 14496-15 8.3.2.1).
struct ParameterSets {
    /// The NAL units of all arrays, in the record's order, without start codes or lengths.
    let units: [ArraySlice<UInt8>]

    /// Bytes before the first array.
    private static let headerSize = 23

    /// Reads a record; nil when it is cut off, of another version, or not for 4-byte lengths.
    init?(_ record: [UInt8]) {
        guard record.count >= Self.headerSize, record[0] == 1, record[21] & 3 == 3 else { return nil }
        var rest = record.dropFirst(Self.headerSize)
        func take(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }
        func number() -> Int? { take(2)?.reduce(0) { $0 << 8 | Int($1) } }
        var units: [ArraySlice<UInt8>] = []
        for _ in 0..<record[22] {
            guard take(1) != nil, let count = number() else { return nil }
            for _ in 0..<count {
                guard let length = number(), let unit = take(length) else { return nil }
                units.append(unit)
            }
        }
        self.units = units
    }
}
