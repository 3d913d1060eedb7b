// SPDX-License-Identifier: MIT

/// The NAL units of a sample (ISO/IEC 14496-15) as slices of it; a big-endian length precedes each.
public struct LengthPrefixedNALUnits: Sendable {
    private var rest: ArraySlice<UInt8>
    private let lengthSize: Int

    /// The NAL units of `sample`; throws `outOfRange` unless `lengthSize` is 1, 2 or 4.
    public init(_ sample: ArraySlice<UInt8>, lengthSize: Int = 4) throws(BitstreamError) {
        try Self.check(lengthSize)
        rest = sample
        self.lengthSize = lengthSize
    }

    /// The next NAL unit, which may be empty; nil at the end; throws `truncated` when a length exceeds the sample.
    public mutating func next() throws(BitstreamError) -> ArraySlice<UInt8>? {
        if rest.isEmpty { return nil }
        guard rest.count >= lengthSize else {
            throw BitstreamError(.truncated, "the sample ends inside a NAL unit's length")
        }
        let length = rest.prefix(lengthSize).reduce(0) { $0 << 8 | Int($1) }
        let body = rest.dropFirst(lengthSize)
        guard length <= body.count else {
            throw BitstreamError(
                .truncated, "a NAL unit of \(length) bytes exceeds the \(body.count) bytes left")
        }
        rest = body.dropFirst(length)
        return body.prefix(length)
    }

    /// Appends a NAL unit's length and the NAL unit; throws `outOfRange` when `lengthSize` bytes cannot hold the length.
    public static func append(
        _ nal: some Collection<UInt8>, lengthSize: Int = 4, to sample: inout [UInt8]
    ) throws(BitstreamError) {
        try check(lengthSize)
        guard nal.count < 1 << (8 * lengthSize) else {
            throw BitstreamError(
                .outOfRange, "a NAL unit of \(nal.count) bytes exceeds what a \(lengthSize)-byte length can express"
            )
        }
        for byte in (0..<lengthSize).reversed() {
            sample.append(UInt8(truncatingIfNeeded: nal.count >> (8 * byte)))
        }
        sample.append(contentsOf: nal)
    }

    private static func check(_ lengthSize: Int) throws(BitstreamError) {
        guard lengthSize == 1 || lengthSize == 2 || lengthSize == 4 else {
            throw BitstreamError(.outOfRange, "a NAL unit length of \(lengthSize) bytes is not 1, 2 or 4 bytes")
        }
    }
}
